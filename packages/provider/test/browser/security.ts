import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Agent, send } from '../place.ts'
import { BrowserPlace, type Person, startSite, STEP_UP } from './browser.ts'

export function testSecurity(browser: Browser): void {
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

  const ask = async (): Promise<string> => {
    const path = join(at.place.files, `s${made++}`)
    writeFileSync(path, 'x')
    return String((await send(agent, '/filesystem/file/delete', { path })).error['approval'])
  }
  const stateOf = async (id: string): Promise<string> => (await at.admin.approval(id))!.state
  const cookieName = (): string => `cordon-${new URL(at.origin).port}`
  const cookieOf = async (who: Person): Promise<string> =>
    (await who.context.cookies(`${at.origin}/console/api`)).find(({ name }) => name === cookieName())!.value

  /** As any program of this machine can ask: with whatever headers it likes. */
  const raw = (
    path: string,
    headers: Record<string, string>,
    method = 'GET',
  ): Promise<{ status: number; text: string; location: string | undefined }> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(at.origin)
      const body = method === 'POST' ? { 'content-type': 'application/json', 'content-length': '2' } : {}
      const sent = { host: `localhost:${port}`, ...body, ...headers }
      const asked = request({ host: '127.0.0.1', port, path, method, headers: sent }, (answer) => {
        let text = ''
        answer.on('data', (piece) => (text += String(piece)))
        answer.on('end', () =>
          resolve({ status: answer.statusCode!, text, location: answer.headers.location }),
        )
      })
      asked.on('error', reject)
      asked.end(method === 'GET' ? undefined : '{}')
    })
  const codeOf = (text: string): string => (JSON.parse(text) as { error: { code: string } }).error.code

  test('XSS: what is put into the page as markup or script does not run; without the policy it would', async () => {
    const attack = async (who: Person): Promise<unknown> => {
      await who.open('/console/')
      await who.page.locator('h1').waitFor()
      return who.page.evaluate(async () => {
        const tries = [
          () => (document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="window.hacked=1">'), 0),
          () =>
            document.body.append(
              Object.assign(document.createElement('script'), { text: 'window.hacked=1' }),
            ),
        ]
        for (const each of tries)
          try {
            each()
          } catch {
            // refused: as it should be
          }
        await new Promise((done) => setTimeout(done, 100))
        return (window as { hacked?: number }).hacked
      })
    }
    expect(await attack(person)).toBe(undefined)
    const bare = await at.person()
    await withoutHeaders(bare, ['content-security-policy'])
    expect(await attack(bare)).toBe(1)
    await bare.context.close()
  })

  test('CSRF: another port of localhost is the same site, and still cannot do anything', async () => {
    const id = await ask()
    const elsewhere = await startSite('<h1>innocent</h1>')
    const page = await person.context.newPage()
    await page.goto(elsewhere.url)
    const answers = await page.evaluate(
      async ([origin, approval]) => {
        const paths = [`approvals/${approval}/deny`, 'apps/careful', 'sign-out']
        const types = ['text/plain', 'application/json']
        return Promise.all(
          paths.flatMap((path) =>
            types.map((type) =>
              fetch(`${origin}/console/api/${path}`, {
                method: 'POST',
                credentials: 'include',
                mode: type === 'text/plain' ? 'no-cors' : 'cors',
                headers: { 'content-type': type },
                body: '{"enabled":false}',
              }).then(
                ({ type: kind }) => kind,
                () => 'failed',
              ),
            ),
          ),
        )
      },
      [at.origin, id] as const,
    )
    expect(new Set(answers)).toEqual(new Set(['failed'])) // nothing of an answer is seen there, either
    await page.close()
    elsewhere.server.close()
    expect(await stateOf(id)).toBe('open')
    expect((await at.admin.app('careful')).enabled).toBe(true)
    expect((await person.ask('apps')).status).toBe(200) // not signed out

    // With everything stolen but the origin.
    const deny = `/console/api/approvals/${id}/deny`
    const stolen = {
      cookie: `${cookieName()}=${await cookieOf(person)}`,
      ...(await person.signed(deny, '{}')),
    }
    for (const more of [
      { origin: 'http://localhost:1' },
      { origin: 'null' },
      {},
      { origin: at.origin, 'sec-fetch-site': 'same-site' },
      { origin: at.origin, 'sec-fetch-site': 'cross-site' },
    ] as Record<string, string>[]) {
      const { status, text } = await raw(deny, { ...stolen, ...more }, 'POST')
      expect([status, codeOf(text)]).toEqual([403, 'cross_site'])
    }
    expect(await stateOf(id)).toBe('open')
  })

  test('a cookie goes to every port of localhost; alone it is worth nothing', async () => {
    const cookie = `${cookieName()}=${await cookieOf(person)}`
    const own = { origin: at.origin }
    const signed = await person.signed('/console/api/apps')
    const other = await at.person()
    await other.register('Mallory')
    const another = await other.signed('/console/api/apps')
    await other.context.close()
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await raw('/console/api/apps', { ...own, ...headers })).status
    expect(await statusOf({ cookie })).toBe(401)
    expect(await statusOf({ cookie, ...another })).toBe(401)
    expect(await statusOf({ ...signed })).toBe(401)
    expect(await statusOf({ cookie, ...signed })).toBe(200)
  })

  test('the key of the session is in no storage that a script can read it from', async () => {
    const told = await person.page.evaluate(async () => {
      const open = indexedDB.open('cordon')
      await new Promise((done) => (open.onsuccess = done))
      const got = open.result.transaction('keys').objectStore('keys').get('session')
      await new Promise((done) => (got.onsuccess = done))
      open.result.close()
      const { signing } = got.result as { signing: CryptoKey }
      const formats = ['jwk', 'pkcs8'] as const
      const tried = formats.map((format) =>
        crypto.subtle.exportKey(format, signing).then(
          () => 'exported',
          (error: Error) => error.name,
        ),
      )
      return [signing.type, signing.extractable, signing.usages, ...(await Promise.all(tried))]
    })
    expect(told).toEqual(['private', false, ['sign'], 'InvalidAccessError', 'InvalidAccessError'])
  })

  test('clickjacking: no page shows it in a frame; without the headers one would', async () => {
    const framed = async (who: Person): Promise<string> => {
      const site = await startSite(`<iframe src="${at.origin}/console/"></iframe>`)
      await who.page.goto(site.url) // with what is in its frame
      site.server.close()
      return who.page.frames()[1]!.url()
    }
    expect(await framed(person)).toBe('chrome-error://chromewebdata/')
    const bare = await at.person()
    await withoutHeaders(bare, ['content-security-policy', 'x-frame-options'])
    expect(await framed(bare)).toBe(`${at.origin}/console/`)
    await bare.page.frameLocator('iframe').locator('h1').waitFor()
    await bare.context.close()
    await person.open('/console/')
  })

  test('session fixation: a cookie planted before the sign-in is not the session after it, and no answer signs in twice', async () => {
    const victim = await at.person()
    await victim.register('Carol')
    await victim.click('Sign out')
    await victim.page.getByRole('button', { name: 'Sign in' }).waitFor()
    const planted = 'A'.repeat(43)
    await victim.context.addCookies([
      {
        name: cookieName(),
        value: planted,
        domain: 'localhost',
        path: '/console/api',
        httpOnly: true,
        sameSite: 'Strict',
      },
    ])
    const sent = victim.page.waitForRequest((each) => each.url().endsWith('/sign-in'))
    await victim.click('Sign in')
    const signed: unknown = (await sent).postDataJSON()
    await victim.page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await cookieOf(victim)).not.toBe(planted)
    const headers = {
      origin: at.origin,
      cookie: `${cookieName()}=${planted}`,
      ...(await victim.signed('/console/api/apps')),
    }
    expect((await raw('/console/api/apps', headers)).status).toBe(401)
    // What the passkey signed counts once, and for the key that asked.
    const { status, body } = await victim.ask('sign-in', signed)
    expect([status, (body as { error?: { code: string } }).error?.code]).toEqual([410, 'too_late'])
    await victim.context.close()
  })

  test('open redirect: nothing in an address leads elsewhere', async () => {
    for (const path of [
      '/?next=https://evil.example/',
      '/console?next=//evil.example',
      '//evil.example/',
      '//evil.example/console',
      '/console//evil.example/',
      '/console/%2f%2fevil.example',
      '/\\evil.example',
      '/approvals/..%2f..%2f/evil.example',
    ]) {
      const { location } = await raw(path, { accept: 'text/html', origin: at.origin })
      expect([path, location === undefined || location === '/console/']).toEqual([path, true])
    }
    for (const path of [
      '/console//evil.example/',
      '/console/?next=https://evil.example',
      '/console/link?to=//evil.example#x',
    ]) {
      await person.open(path)
      await person.page.locator('h1').waitFor()
      expect(new URL(person.page.url()).origin).toBe(at.origin)
    }
  })

  test('another name that leads here (DNS rebinding) gets nothing', async () => {
    const { port } = new URL(at.origin)
    for (const host of [
      `evil.example:${port}`,
      `127.0.0.1:${port}`,
      'localhost',
      `localhost.evil.example:${port}`,
    ])
      for (const path of ['/console/', '/console/api/session', '/console/api/apps'])
        expect([host, path, (await raw(path, { host })).status]).toEqual([host, path, 421])
    const headers = { host: `evil.example:${port}`, accept: 'text/html' }
    const linkIn = async (path: string): Promise<unknown[]> => {
      const { status, text } = await raw(path, headers)
      return [status, /<a href="([^"]*)">/.exec(text)?.[1]]
    }
    expect(await linkIn('/approvals/x')).toEqual([421, `${at.origin}/approvals/x`])
    for (const path of ['/console/"><script>', '/console/%22%3E%3Cscript%3E', '/console//evil.example/@'])
      expect(await linkIn(path)).toEqual([421, `${at.origin}/console/`])
  })

  test('the cookie is for the API alone, and no script sees it', async () => {
    const [cookie] = await person.context.cookies(`${at.origin}/console/api`)
    expect(cookie).toMatchObject({
      name: cookieName(),
      httpOnly: true,
      sameSite: 'Strict',
      path: '/console/api',
    })
    await person.open('/console/')
    expect(await person.page.evaluate(() => document.cookie)).toBe('')
  })

  test('signed out is signed out on both sides; so is who lost the passkey, or stayed away', async () => {
    const other = await at.person()
    await other.register('Dora')
    const headers = {
      origin: at.origin,
      cookie: `${cookieName()}=${await cookieOf(other)}`,
      ...(await other.signed('/console/api/apps')),
    }
    expect((await raw('/console/api/apps', headers)).status).toBe(200)
    await other.click('Sign out')
    await other.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect((await raw('/console/api/apps', headers)).status).toBe(401)
    expect(await other.context.cookies(`${at.origin}/console/api`)).toEqual([])
    expect(await other.signed('/console/api/apps')).toEqual({}) // the key is gone
    await other.click('Sign in')
    await other.page.getByRole('heading', { name: 'Overview' }).waitFor()
    await at.admin.removePasskey('Dora')
    await other.open('/console/apps')
    await other.page.getByRole('button', { name: 'Sign in' }).waitFor()
    await other.click('Sign in')
    await other.page
      .getByText(
        'or this device has no passkey that this provider knows: it may have been removed on the host',
      )
      .waitFor()
    await other.context.close()

    at.place.shift = 31 * 60_000
    await person.open('/console/apps')
    await person.page.getByRole('button', { name: 'Sign in' }).waitFor()
    at.place.shift = 0
  })

  test('a link makes one passkey, within ten minutes, and does not stay in the address', async () => {
    const link = await at.admin.addPasskey(at.origin)
    const first = await at.person()
    await first.page.goto(link)
    expect(first.page.url()).toBe(`${at.origin}/console/link`)
    await first.page.getByLabel('Name it').fill('Eve')
    await first.click('Make a passkey')
    await first.page.getByRole('heading', { name: 'Overview' }).waitFor()
    await first.context.close()
    const late = await at.admin.addPasskey(at.origin)
    const second = await at.person()
    const refused =
      'This link was used already, or is older than ten minutes; cordon provider passkey add on the host prints a new one'
    at.place.shift = 0
    for (const [each, shift] of [
      [link, 0],
      [late, 601_000],
      [`${at.origin}/console/link#${'A'.repeat(43)}`, 0],
    ] as const) {
      at.place.shift = shift
      await second.page.goto('about:blank')
      await second.page.goto(each)
      await second.page.getByText(refused).waitFor() // at once, and without a form that could only fail
      expect(await second.page.getByRole('button', { name: 'Make a passkey' }).count()).toBe(0)
    }
    // Used between the look at it and the click.
    const shared = await at.admin.addPasskey(at.origin)
    at.place.shift = 0
    await second.page.goto('about:blank')
    await second.page.goto(shared)
    await second.page.getByRole('button', { name: 'Make a passkey' }).waitFor()
    await second.page.reload() // the secret is in no address, and the tab has it still
    await second.page.getByLabel('Name it').fill('Frank')
    at.place.shift = 601_000
    await second.click('Make a passkey')
    await second.page.getByText(refused).waitFor()
    at.place.shift = 0
    await second.context.close()
  })

  test('nothing of the API answers who is not signed in', async () => {
    const own = { origin: at.origin }
    for (const path of [
      'overview',
      'approvals',
      'approvals/x',
      'apps',
      'policies',
      'audit',
      'audit/1',
      'events',
      'nothing',
    ])
      expect([path, (await raw(`/console/api/${path}`, own)).status]).toEqual([path, 401])
    for (const path of [
      'sign-out',
      'approvals/x/question',
      'approvals/x/approve',
      'approvals/x/deny',
      'approvals/x/ask-again',
      'apps/careful',
      'policies/try',
      'audit/verify',
    ])
      expect([path, (await raw(`/console/api/${path}`, own, 'POST')).status]).toEqual([path, 401])
  })
}

/** The same page as it would be without a defence: what proves that the test would notice. */
async function withoutHeaders(who: Person, names: readonly string[]): Promise<void> {
  await who.page.route('**/console/', async (route) => {
    const response = await route.fetch()
    const headers = Object.fromEntries(
      Object.entries(response.headers()).filter(([name]) => !names.includes(name)),
    )
    await route.fulfill({ response, headers })
  })
}
