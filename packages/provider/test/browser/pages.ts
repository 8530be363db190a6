import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import { sql } from 'kysely'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAmbientAssets } from '../../src/console/assets.ts'
import { type Agent, content, send } from '../place.ts'
import { ownPort } from '../ports.ts'
import { ASSETS, BrowserPlace, type Person, WAITS_MS } from './browser.ts'

const POLICY = `permit (principal, action == Action::"/filesystem/file/read", resource);
permit (principal, action == Action::"/filesystem/file/delete", resource) when { context has cosigner && context.cosigner };`

export function testPages(browser: Browser): void {
  let at: BrowserPlace
  let agent: Agent
  let person: Person
  let file: string
  beforeAll(async () => {
    at = await BrowserPlace.start(browser, { port: await ownPort() }) // it is restarted there
    agent = await at.place.agent('careful', POLICY)
    person = await at.person()
    file = join(at.place.files, 'notes.md')
    writeFileSync(file, 'hello')
  })
  afterAll(() => at.close())

  const remove = (path = file): ReturnType<typeof send> => send(agent, '/filesystem/file/delete', { path })

  test('with no passkey, no request and no app there is something to read, too', async () => {
    await person.open('/console/')
    await person.page.getByText('Nobody can sign in yet.').waitFor()
    await person.register('Ada’s laptop')
    await person.page.getByText('Nothing waits').waitFor()
    await person.page.getByText('Healthy').waitFor()
    await person.open('/console/approvals')
    await person.page.getByText('Nothing waits for you').waitFor()
    await person.open('/console/nowhere')
    await person.page.getByText('There is no such page').waitFor()
    await person.open('/approvals/nothing')
    await person.page.getByText('there is no such request; it may be of another provider').waitFor()
  })

  test('live: a new request is in the badge, the title and the list without a reload, and leaves them', async () => {
    await person.open('/console/approvals')
    await person.page.getByText('Nothing waits for you').waitFor()
    await remove()
    await person.page.getByText('careful wants to delete a file').waitFor()
    await expect.poll(() => person.page.locator('.badge').innerText()).toBe('1')
    await expect.poll(() => person.page.title()).toBe('(1) Approvals · Cordon')
    const { id } = (await at.admin.approvals())[0]!
    await at.admin.decide(id, 'deny') // at the terminal
    await person.page.getByText('Nothing waits for you').waitFor()
    await expect.poll(() => person.page.title()).toBe('Approvals · Cordon')
  })

  test('eight tabs have one stream: the last one works as the first, and goes on when that is gone', async () => {
    await person.open('/console/approvals')
    await person.page.getByText('Nothing waits for you').waitFor()
    const tabs = [person.page]
    for (let i = 0; i < 7; i++) {
      const tab = await person.context.newPage()
      await tab.goto(`${at.origin}/console/approvals`)
      await tab.getByText('Nothing waits for you').waitFor()
      tabs.push(tab)
    }
    const path = join(at.place.files, 'tabs')
    writeFileSync(path, 'x')
    const id = String((await remove(path)).error['approval'])
    for (const tab of tabs) await tab.getByText('careful wants to delete a file').waitFor()
    await person.page.goto('about:blank') // the first of them asked for all
    await at.admin.decide(id, 'deny')
    for (const tab of tabs.slice(1)) await tab.getByText('Nothing waits for you').waitFor()
    for (const tab of tabs.slice(1)) await tab.close()
    await person.open('/console/approvals')
  })

  test('an open record fits where it is, also on a narrow screen', async () => {
    await person.page.setViewportSize({ width: 320, height: 640 })
    await person.open('/console/audit')
    const given = person.page.locator('.trail li', { hasText: 'passkey added' }).first()
    await given.locator('summary').click()
    await given.locator('pre').waitFor()
    expect(await person.page.locator('.trail').evaluate((list) => list.scrollWidth - list.clientWidth)).toBe(
      0,
    )
    await person.page.setViewportSize({ width: 1280, height: 720 })
  })

  async function serveAgain(): Promise<void> {
    const port = Number(new URL(at.origin).port)
    const serving = await at.place.serve({ port, assets: readAmbientAssets(ASSETS), approvalMs: WAITS_MS })
    Object.assign(at.place, { serving })
  }

  test('the provider restarts with a page open: it says so, and recovers', async () => {
    await person.open('/console/approvals')
    await person.page.getByText('Before').waitFor()
    await at.place.serving.stop()
    await person.page.getByText('The provider does not answer. Trying again…').waitFor()
    await serveAgain()
    await person.page.getByText('The provider does not answer').waitFor({ state: 'detached' })
    const other = join(at.place.files, 'other.md')
    writeFileSync(other, 'x')
    await remove(other)
    await person.page.getByText('careful wants to delete a file').waitFor() // still signed in, still live
  })

  test('keyboard alone: an app is switched off and on, a request is approved', async () => {
    await person.open('/console/apps')
    await person.page.getByRole('switch').waitFor()
    const press = async (isThere: () => Promise<boolean>): Promise<void> => {
      for (let i = 0; i < 40 && !(await isThere()); i++) await person.page.keyboard.press('Tab')
      expect(await isThere()).toBe(true)
    }
    const focused = (text: string) => (): Promise<boolean> =>
      person.page.evaluate((wanted) => {
        const button = document.activeElement?.closest('button')
        return `${button?.textContent} ${button?.getAttribute('aria-label')}`.includes(wanted)
      }, text)
    await press(focused('careful may use this provider'))
    await person.page.keyboard.press('Space')
    await person.page.getByRole('switch', { checked: false }).waitFor()
    expect((await send(agent, '/filesystem/file/read', { path: file })).code).toBe('app_disabled')
    await person.page.keyboard.press('Space')
    await person.page.getByRole('switch', { checked: true }).waitFor()
    expect((await send(agent, '/filesystem/file/read', { path: file })).code).toBe('ok')

    const path = join(at.place.files, 'by-keyboard')
    writeFileSync(path, 'x')
    await person.open(String((await remove(path)).error['url']))
    await person.page.getByRole('button', { name: 'Approve' }).waitFor()
    await press(focused('Approve with passkey'))
    await person.page.keyboard.press('Enter')
    await person.page.getByText('Approved by passkey Ada’s laptop').waitFor()
    expect((await remove(path)).status).toBe(200)
  })

  test('narrow, with large letters: the logo, the name and the way out are one line; policies break between words', async () => {
    const { page } = person
    await page.setViewportSize({ width: 320, height: 640 })
    await person.open('/console/policies')
    await page.locator('.stack .code').first().waitFor()
    await page.evaluate(() => (document.documentElement.style.fontSize = '20px'))
    const middles = await Promise.all(
      [page.locator('.brand'), page.getByRole('button', { name: 'Sign out' })].map(async (each) => {
        const { y, height } = (await each.boundingBox())!
        return Math.round(y + height / 2)
      }),
    )
    expect(Math.abs(middles[0]! - middles[1]!)).toBeLessThan(4)
    await page.evaluate(() => (document.documentElement.style.fontSize = ''))
    // Where lines end, by the letters on both sides of each break.
    const ends = await page
      .locator('.stack .code')
      .first()
      .evaluate((code) => {
        const found: string[] = []
        const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT)
        let last: { letter: string; top: number } | undefined
        while (walker.nextNode()) {
          const text = walker.currentNode as Text
          for (let i = 0; i < text.length; i++) {
            const range = document.createRange()
            range.setStart(text, i)
            range.setEnd(text, i + 1)
            const { top, width } = range.getBoundingClientRect()
            const letter = text.data.charAt(i)
            if (width === 0) continue
            if (last && top > last.top + 4) found.push(last.letter + letter)
            last = { letter, top }
          }
        }
        return found
      })
    expect(ends.length).toBeGreaterThan(2)
    expect(ends.filter((each) => /^\w\w$/.test(each))).toEqual([])
    await page.setViewportSize({ width: 1280, height: 720 })
  })

  test('forced colours: the switch, the dot, the chart and the badge are seen, light and dark', async () => {
    const { page } = person
    await send(agent, '/filesystem/file/write', { path: file, ...content('x') }, { body: 'x' }) // denied: a bar of the chart
    const path = join(at.place.files, 'forced')
    writeFileSync(path, 'x')
    const id = String((await remove(path)).error['approval'])
    /** WCAG's contrast of what is drawn with what is behind it. */
    const contrast = (selector: string, property: string, pseudo?: string): Promise<number> =>
      page
        .locator(selector)
        .first()
        .evaluate(
          (element, [name, part]) => {
            const light = (colour: string): number => {
              const [r = 0, g = 0, b = 0] = (colour.match(/[\d.]+/g) ?? []).map((each) => {
                const value = Number(each) / 255
                return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
              })
              return 0.2126 * r + 0.7152 * g + 0.0722 * b
            }
            const canvas = document.createElement('div')
            canvas.style.backgroundColor = 'Canvas'
            document.body.append(canvas)
            const behind = light(getComputedStyle(canvas).backgroundColor)
            canvas.remove()
            const front = light(getComputedStyle(element, part).getPropertyValue(name))
            return (Math.max(front, behind) + 0.05) / (Math.min(front, behind) + 0.05)
          },
          [property, pseudo] as const,
        )
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ forcedColors: 'active', colorScheme })
      await person.open('/console/')
      await page.locator('.chart .some').first().waitFor()
      await page.locator('.badge').waitFor()
      const seen = {
        dot: await contrast('.dot', 'background-color'),
        bar: await contrast('.chart .some', 'fill'),
        none: await contrast('.chart .none', 'fill'),
        badge: await contrast('.badge', 'outline-color'),
        current: await contrast('nav a[aria-current]', 'outline-color'),
      }
      expect(await page.locator('.badge').evaluate((each) => getComputedStyle(each).outlineStyle)).toBe(
        'solid',
      )
      await person.open('/console/apps')
      await page.getByRole('switch', { checked: true }).waitFor()
      const on = await contrast('.switch', 'background-color', '::before')
      await at.admin.setEnabled('careful', false)
      await page.getByRole('switch', { checked: false }).waitFor()
      const off = await contrast('.switch', 'background-color', '::before')
      await at.admin.setEnabled('careful', true)
      const faint = Object.entries({ ...seen, on, off }).filter(([, ratio]) => ratio < 3)
      expect([colorScheme, faint]).toEqual([colorScheme, []])
    }
    await page.emulateMedia({ forcedColors: 'none', colorScheme: 'light' })
    await at.admin.decide(id, 'deny')
  })

  test('policies: who, what, where gives the decision and the statement that decided', async () => {
    const { page } = person
    await person.open('/console/policies')
    const decide = async (command: string, path: string): Promise<string> => {
      await page.getByLabel('What').selectOption(command)
      await page.getByLabel('Where').fill(path)
      await person.click('Decide')
      return page.locator('.try .notice').innerText()
    }
    expect(await decide('/filesystem/file/write', file)).toBe('Denied\n\nNo statement permits it.')
    expect(await decide('/filesystem/file/read', file)).toContain(
      'Allowed\npermit (principal, action == Action::"/filesystem/file/read", resource);',
    )
    expect(await decide('/filesystem/file/delete', file)).toContain(
      'A person must approve it\n\nOnce somebody has signed, this permits it:',
    )
  })

  test('policies: what the provider refuses before it asks the policy is not said to be allowed', async () => {
    const { page } = person
    const notice = page.locator('.try .notice')
    await person.open('/console/policies')
    const decide = async (path: string): Promise<string> => {
      await page.getByLabel('What').selectOption('/filesystem/file/read')
      await page.getByLabel('Where').fill(path)
      await person.click('Decide')
      return (await notice.innerText()).split('\n', 3).join(' ').trim()
    }
    const { files } = at.place
    expect(await decide(`${files}/../secret`)).toBe(
      `Denied  resource_out_of_scope: ${files}/../secret is out of scope: it has an empty, \`.\` or \`..\` component, or ends in \`/\``,
    )
    expect(await decide('/etc/passwd')).toContain('Denied  resource_out_of_scope: /etc/passwd')
    expect(await decide(`${files}/$HOME`)).toContain('Denied  path_metacharacter:')
    expect((await send(agent, '/filesystem/file/read', { path: `${files}/../secret` })).code).toBe(
      'resource_out_of_scope',
    )
    await at.admin.setEnabled('careful', false)
    expect(await decide(file)).toBe('Denied  app_disabled: the app careful is disabled')
    await page.getByText('The policy alone says: allowed.').waitFor()
    await at.admin.setEnabled('careful', true)
    expect(await decide(file)).toContain('Allowed')
    // The answer goes with its question, also when the new one is refused by the form itself.
    for (const change of [
      () => page.getByLabel('it exists').uncheck(),
      () => page.getByLabel('What').selectOption('/filesystem/file/write'),
      () => page.getByLabel('Where').fill('notes.md'),
    ]) {
      await decide(file)
      await change()
      expect(await notice.count()).toBe(0)
    }
    await page.getByLabel('Where').fill(file)
    await person.click('Decide')
    await notice.waitFor()
    await page.getByLabel('Where').evaluate((field) => ((field as HTMLInputElement).value = 'no')) // by no key
    await person.click('Decide')
    expect(await notice.count()).toBe(0)
  })

  test('audit: filters, search and older pages; verify shows the first broken record', async () => {
    const { page } = person
    for (let i = 0; i < 40; i++) await send(agent, '/filesystem/file/read', { path: file })
    await person.open('/console/audit')
    await expect.poll(() => page.locator('.trail > li').count()).toBe(50)
    await person.click('Older records')
    await expect.poll(() => page.locator('.trail > li').count()).toBeGreaterThan(80)
    await page.getByLabel('Show').selectOption('event')
    await page.getByLabel('Search').fill('app disabled","by":"passkey')
    await expect.poll(() => page.locator('.trail > li').count()).toBe(1)
    expect(await page.locator('.trail .what').innerText()).toBe(
      'app disabled, by passkey Ada’s laptop\napp careful',
    )
    await page.getByLabel('Search').fill('no such thing')
    await page.getByText('No record fits').waitFor()
    await person.click('Verify')
    await page.getByText('The trail is whole').waitFor()
    await at.place.database.queries
      .updateTable('audit_records')
      .set((row) => ({ body: row.fn('replace', ['body', row.val('careful'), row.val('harmless')]) }))
      .where('seq', '=', 12)
      .execute()
    const { body } = await at.place.database.queries
      .selectFrom('audit_records')
      .select('body')
      .where('seq', '=', 12)
      .executeTakeFirstOrThrow()
    await at.place.database.queries
      .updateTable('audit_records')
      .set({ body: `${body} ` })
      .where('seq', '=', 12)
      .execute()
    await person.click('Verify')
    await page.getByText('The trail is broken at record 12').waitFor()
    await page.getByText('edited: its content is not what was hashed').waitFor()
    expect(await page.locator('.notice .trail .seq').innerText()).toBe('12')
  })

  test('live: an app that is switched at the terminal, new records of the trail, and what came of a question', async () => {
    const { page } = person
    await person.open('/console/apps')
    await page.getByRole('switch', { checked: true }).waitFor()
    await at.admin.setEnabled('careful', false)
    await page.getByRole('switch', { checked: false }).waitFor()
    await at.admin.setEnabled('careful', true)
    await page.getByRole('switch', { checked: true }).waitFor()
    const { delegation } = await at.admin.mint('careful', { prefix: at.place.files })
    await page.getByText(delegation.cid.slice(0, 16)).waitFor()
    await at.admin.revoke(delegation.cid)
    await page.getByText('revoked').waitFor()

    await person.open('/console/audit')
    await page.locator('.trail > li').first().waitFor()
    const path = join(at.place.files, 'live')
    writeFileSync(path, 'x')
    const id = String((await remove(path)).error['approval'])
    await page.getByRole('button', { name: '1 new record: show' }).click()
    const row = page.locator('.trail > li', { hasText: path }).last()
    await expect.poll(() => row.locator('.tag').innerText()).toBe('waits')
    await at.admin.decide(id, 'deny')
    await expect.poll(() => row.locator('.tag').innerText()).toBe('answered')
    await page.getByRole('button', { name: '1 new record: show' }).click()
    await expect.poll(() => row.locator('.tag').innerText()).toBe('denied')
    expect((await remove(path)).code).toBe('step_up_denied')
    await page.getByRole('button', { name: '1 new record: show' }).click()
    await expect
      .poll(() => page.locator('.trail > li').first().locator('.what').innerText())
      .toBe(`careful: delete a file step_up_denied\n${path}`)
    // The policies of an app are its own, too; and what was filtered is in the address.
    await at.admin.setPolicy({ scope: 'careful', name: 'main', text: POLICY })
    await page.getByLabel('App').fill('careful')
    await page.getByLabel('Search').fill('policy set')
    await expect.poll(() => page.locator('.trail > li').count()).toBe(1)
    await page.reload()
    await expect
      .poll(() => page.locator('.trail .what').allInnerTexts())
      .toEqual(['policy set, by the test\nof app careful, name main'])
    expect(await page.title()).toMatch(/^(\(\d+\) )?Audit · Cordon$/)
  })

  test('live: the overview says how it is now, not how it was', async () => {
    const port = await ownPort()
    const own = await BrowserPlace.start(browser, { port })
    const bot = await own.place.agent('bot', POLICY)
    const eve = await own.person()
    await eve.register('Eve')
    const says = (words: string): Promise<void> => eve.page.locator('.health', { hasText: words }).waitFor()
    const isGood = (): Promise<void> => says('It decides, and it records.')
    await isGood()
    await eve.page.getByText('No agent has asked for anything').waitFor()
    const path = join(own.place.files, 'a')
    expect((await send(bot, '/filesystem/file/stat', { path })).code).toBe('policy_denied')
    await eve.page.getByText('1 request, 1 denied').waitFor()

    const rename = (from: string, to: string): Promise<unknown> =>
      sql`alter table ${sql.table(from)} rename to ${sql.table(to)}`.execute(own.place.database.queries)
    await rename('meta', 'gone')
    await says('Not ready')
    await says('The database does not answer. Everything is refused.')
    await rename('sessions', 'gone_too')
    await eve.page.getByText('The database does not answer. Trying again…').waitFor()
    await says('The database does not answer. Everything is refused.')
    await rename('gone', 'meta')
    await rename('gone_too', 'sessions')
    await isGood()

    await own.place.serving.stop()
    await says('Unknown')
    await says('The provider does not answer.')
    Object.assign(own.place, { serving: await own.place.serve({ port, assets: readAmbientAssets(ASSETS) }) })
    await isGood()

    expect((await send(bot, '/filesystem/file/stat', { path })).code).toBe('policy_denied')
    const { queries } = own.place.database
    const [last, before] = await queries
      .selectFrom('audit_records')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(2)
      .execute()
    await queries.deleteFrom('audit_records').where('seq', '=', last!.seq).execute()
    await queries.updateTable('audit_head').set({ seq: before!.seq, hash: before!.hash }).execute()
    await says('Stopped')
    await says(`The audit chain ends at record ${before!.seq}, but record ${last!.seq} was written before`)
    await own.close()
  })

  test('audit: a quote is found; what arrives is counted by the filter, and comes above what was loaded', async () => {
    const { page } = person
    const quoted = join(at.place.files, 'quote"x')
    writeFileSync(quoted, 'x')
    expect((await send(agent, '/filesystem/file/stat', { path: quoted })).code).toBe('policy_denied')
    await person.open('/console/audit')
    const rows = page.locator('.trail > li')
    await rows.first().waitFor()
    await page.getByLabel('Search').fill('a'.repeat(300))
    await page.getByText('No record fits').waitFor()
    await page.getByLabel('Search').fill('quote"x')
    await expect.poll(() => rows.count()).toBe(1)
    const loaded = page.waitForResponse((response) => response.url().includes('kind=refused'))
    await page.getByLabel('Show').selectOption('refused')
    await (await loaded).finished()
    await page.evaluate(() => new Promise((done) => setTimeout(done))) // it is taken
    await send(agent, '/filesystem/file/read', { path: file }) // which does not fit
    await send(agent, '/filesystem/file/stat', { path: quoted })
    await page.getByRole('button', { name: '1 new record: show' }).click()
    await expect.poll(() => rows.count()).toBe(2)
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('trail')

    for (let i = 0; i < 40; i++) await send(agent, '/filesystem/file/read', { path: file })
    await person.open('/console/audit')
    await rows.first().waitFor()
    await person.click('Older records')
    await expect.poll(() => rows.count()).toBeGreaterThan(50)
    const before = await rows.count()
    await send(agent, '/filesystem/file/stat', { path: quoted })
    await page.getByRole('button', { name: '1 new record: show' }).click()
    await expect.poll(() => rows.count()).toBe(before + 1)
  })

  test('that nobody answered is said until somebody does; the focus is never lost', async () => {
    const { page } = person
    const focused = (): Promise<string | undefined> => page.evaluate(() => document.activeElement?.tagName)
    await person.open('/console/apps')
    await page.getByRole('switch').waitFor()
    await at.place.serving.stop()
    await page.getByText('The provider does not answer. Trying again…').waitFor()
    await page.getByRole('switch').click()
    await page.getByRole('alert').getByText('The provider does not answer').waitFor()
    await serveAgain()
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await person.open('/console/audit')
    await page.locator('.trail li').first().waitFor()
    await at.place.serving.stop()
    await page.getByText('The provider does not answer. Trying again…').waitFor()
    await person.click('Verify')
    await page.getByRole('alert').getByText('The provider does not answer').waitFor()
    await serveAgain()
    await page.getByRole('alert').waitFor({ state: 'detached' })

    const path = join(at.place.files, 'focus')
    writeFileSync(path, 'x')
    await person.open(String((await remove(path)).error['url']))
    await person.click('Deny')
    await person.click('Ask me again')
    await page.getByText('This no counts no more').waitFor()
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('outcome')
    await person.click('Sign out')
    await person.click('Sign in')
    await page.getByText('This no counts no more').waitFor()
    await expect.poll(focused).toBe('MAIN')
  })

  test('screen readers get it: axe finds nothing, on any page, light and dark, narrow and wide', async () => {
    const waits = join(at.place.files, 'waits')
    writeFileSync(waits, 'x')
    const url = String((await remove(waits)).error['url'])
    const pages = [
      '/console/',
      '/console/approvals',
      '/console/apps',
      '/console/policies',
      '/console/audit',
      url,
      '/console/link#x',
    ]
    const found: unknown[] = []
    for (const path of pages)
      for (const [width, colorScheme] of [
        [320, 'dark'],
        [1280, 'light'],
      ] as const) {
        await person.page.setViewportSize({ width, height: 720 })
        await person.page.emulateMedia({ colorScheme })
        await person.open(path)
        await person.page.locator('h1').waitFor()
        await person.page.waitForTimeout(150)
        const { violations } = await new AxeBuilder({ page: person.page }).setLegacyMode().analyze()
        found.push(...violations.map(({ id, nodes }) => [path, width, id, nodes[0]?.html]))
        const fits = await person.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
        if (!fits) found.push([path, width, 'scrolls sideways'])
      }
    expect(found).toEqual([])
    await person.page.setViewportSize({ width: 1280, height: 720 })
  })

  test('the first load is under 60 KB, has nothing from elsewhere, and the right colours from its first frame', async () => {
    const fresh = await at.person({ colorScheme: 'dark' })
    let bytes = 0
    const hosts = new Set<string>()
    fresh.cdp.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength))
    await fresh.cdp.send('Network.enable')
    fresh.page.on('request', (each) => hosts.add(new URL(each.url()).host))
    await fresh.open('/console/')
    await fresh.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await expect.poll(() => bytes).toBeGreaterThan(10_000)
    expect(bytes).toBeLessThan(60_000)
    expect([...hosts]).toEqual([new URL(at.origin).host])
    // The style is there before anything is drawn, and follows the system without a script.
    const first = await fresh.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)
    expect(first).toBe('rgb(15, 17, 21)')
    await fresh.page.route('**/console.js', (route) => route.abort())
    await fresh.open('/console/')
    expect(await fresh.page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
      first,
    )
    await fresh.context.close()
  })

  test('approvals: each is listed with what came of it, also when nobody used a yes in time', async () => {
    const ask = async (name: string): Promise<{ path: string; id: string; url: string }> => {
      const path = join(at.place.files, name)
      writeFileSync(path, 'x')
      const { error } = await remove(path)
      return { path, id: String(error['approval']), url: String(error['url']) }
    }
    const [unused, late] = [await ask('state-unused'), await ask('state-late')]
    await at.admin.decide(unused.id, 'approve')
    at.place.shift += 2 * WAITS_MS + 1000 // until both are too late; a provider's clock never goes back
    const [done, yes, no, open] = [
      await ask('state-done'),
      await ask('state-yes'),
      await ask('state-no'),
      await ask('state-open'),
    ]
    await at.admin.decide(done.id, 'approve')
    expect((await remove(done.path)).status).toBe(200)
    await at.admin.decide(yes.id, 'approve')
    await at.admin.decide(no.id, 'deny')
    await person.open('/console/approvals')
    await person.page.locator('.waiting li', { hasText: open.path }).waitFor()
    const tag = (path: string): Promise<string> =>
      person.page.locator('.rows:not(.waiting) li', { hasText: path }).locator('.tag').innerText()
    const shown = [unused, late, done, yes, no].map(({ path }) => tag(path))
    expect(await Promise.all(shown)).toEqual([
      'approved, not used',
      'expired',
      'approved, done',
      'approved',
      'denied',
    ])
    const told = async (url: string): Promise<string> => {
      await person.open(url)
      return person.page.locator('.outcome .notice').innerText()
    }
    expect(await told(unused.url)).toBe(
      'Approved by the test, and not used\n\nThe agent did not ask again in time, so nothing was done. The agent can ask again.',
    )
    expect(await told(late.url)).toBe(
      'Too late\n\nNobody answered in time, so nothing was done. The agent can ask again.',
    )
    expect(await told(done.url)).toBe(
      'Approved by the test, and used\n\nThe agent asked again and it was let through. The audit trail has what came of it.',
    )
    expect(await told(yes.url)).toMatch(/^Approved by the test\n\nIf nothing has changed by then/)
    expect(await told(no.url)).toMatch(/^Denied by the test\n\nThe same request is refused/)
    await at.admin.decide(open.id, 'deny')
  })
}
