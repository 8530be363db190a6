import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAmbientAssets } from '../../src/console/assets.ts'
import { ConsoleUser } from '../passkey.ts'
import { type Agent, send } from '../place.ts'
import { ownPort } from '../ports.ts'
import { ASSETS, BrowserPlace, type Person, WAITS_MS, STEP_UP } from './browser.ts'
import { takePort } from './port.ts'

/** Who listens at the provider's port while the provider is not there (decision 0342). */
export function testImpostor(browser: Browser): void {
  let at: BrowserPlace
  let agent: Agent
  let port: number
  let ada: Person
  let bob: Person
  beforeAll(async () => {
    port = await ownPort()
    at = await BrowserPlace.start(browser, { port })
    agent = await at.place.agent('careful', STEP_UP)
    ada = await at.person()
    await ada.register('Ada')
    bob = await at.person()
    await bob.register('Bob')
  })
  afterAll(() => at.close())

  const ask = async (name = 'precious'): Promise<{ id: string; url: string }> => {
    const path = join(at.place.files, name)
    writeFileSync(path, 'x')
    const { error } = await send(agent, '/filesystem/file/delete', { path })
    return { id: String(error['approval']), url: String(error['url']) }
  }
  const startAgain = async (): Promise<void> => {
    const options = { port, assets: readAmbientAssets(ASSETS), approvalMs: WAITS_MS }
    Object.assign(at.place, { serving: await at.place.serve(options) })
  }
  const sessions = (): Promise<unknown[]> =>
    at.place.database.queries.selectFrom('sessions').selectAll().orderBy('hash').execute()

  test('the attack: all that open pages sent to him is worth nothing once the provider is back, and they recover', async () => {
    const { id, url } = await ask()
    await ada.page.goto(url)
    await ada.page.getByRole('button', { name: 'Deny' }).waitFor()
    await bob.open('/console/apps')
    await bob.page.getByRole('switch', { checked: true }).waitFor()
    const before = await sessions()
    await at.place.serving.stop()
    const impostor = await Impostor.at(port)
    await ada.page.getByText('The provider does not answer. Trying again…').waitFor()
    await ada.click('Deny')
    await bob.page.getByRole('switch').click()
    const paths = (): string[] => impostor.recorded.map(({ method, path }) => `${method} ${path}`)
    const wanted = [
      'GET /console/api/events',
      `POST /console/api/approvals/${id}/deny`,
      'POST /console/api/apps/careful',
    ]
    await expect.poll(() => wanted.filter((each) => !paths().includes(each))).toEqual([])
    await bob.click('Sign out')
    await expect.poll(paths).toContain('POST /console/api/sign-out')
    await impostor.stop()
    await startAgain()

    // Each was signed for whatever process he said he was; and with it came the cookie.
    const signedFor = new Set(impostor.recorded.map(({ headers }) => headers['x-cordon-processes']))
    expect([...signedFor].some((each) => String(each).startsWith('impostor-'))).toBe(true)
    expect(impostor.recorded.every(({ headers }) => headers['cookie'] !== undefined)).toBe(true)
    for (const each of impostor.recorded)
      expect([each.path, await replay(port, each)]).toEqual([each.path, 'other_process'])
    expect((await at.admin.approval(id))!.state).toBe('open')
    expect((await at.admin.app('careful')).enabled).toBe(true)
    expect(await sessions()).toEqual(before)

    await ada.page.getByText('The provider does not answer').waitFor({ state: 'detached' })
    await ada.click('Deny')
    await ada.page.getByText('Denied by passkey Ada').waitFor()
    expect((await at.admin.approval(id))!.state).toBe('denied')
  })

  test('the attack: a question of the provider’s for his own key is not handed to the passkey', async () => {
    await bob.open('/console/')
    const his = await new ConsoleUser(at.place.serving).ask('sign-in/options', {})
    await bob.page.route('**/sign-in/options', (route) => route.fulfill({ json: his.body }))
    const sent: string[] = []
    bob.page.on('request', (each) => {
      const { pathname } = new URL(each.url())
      // A picture, and the page's first question, whether somebody is signed in, may come late.
      if (pathname.startsWith('/console/api/') && pathname !== '/console/api/session') sent.push(pathname)
    })
    await bob.click('Sign in')
    await bob.page.getByText('What answered would sign somebody else in; nothing was signed').waitFor()
    expect(sent).toEqual(['/console/api/sign-in/options'])
    await bob.page.unroute('**/sign-in/options')
    await bob.click('Sign in')
    await bob.page.getByRole('heading', { name: 'Overview' }).waitFor()
  })

  test('the attack: an open approval page hands the passkey no question but its own, for what it shows', async () => {
    const [shown, other] = [await ask('shown'), await ask('other')]
    await ada.page.goto(shown.url)
    await ada.page.getByRole('button', { name: 'Approve' }).waitFor()
    await bob.open('/console/')
    const mallory = new ConsoleUser(at.place.serving)
    const questions = [
      (await mallory.ask('sign-in/options', {})).body, // would sign him in
      (await bob.ask(`approvals/${other.id}/question`, {})).body, // would approve another request
      (await bob.ask(`approvals/${shown.id}/question`, {})).body, // would approve this one, in another page
      (await ada.ask(`approvals/${other.id}/question`, {})).body,
    ]
    const notice = ada.page.getByText('asks you to sign something else than this; nothing was signed')
    await at.place.serving.stop()
    const impostor = await Impostor.at(port)
    const asked = (end: string): number => impostor.recorded.filter(({ path }) => path.endsWith(end)).length
    for (const [i, question] of questions.entries()) {
      impostor.question = question
      await ada.click('Approve')
      await expect.poll(() => asked('/question')).toBeGreaterThan(i)
      await expect.poll(async () => [asked('/approve'), await notice.count()]).toEqual([0, 1])
    }
    await impostor.stop()
    await startAgain()

    // He shows something else, and passes on the provider's own question.
    const detail = `**/console/api/approvals/${shown.id}`
    await ada.page.route(detail, async (route) => {
      const response = await route.fetch()
      const body = (await response.json()) as { request: object }
      await route.fulfill({ response, json: { ...body, request: { ...body.request, path: '/harmless' } } })
    })
    await ada.page.goto(shown.url)
    await ada.page.locator('p.target', { hasText: '/harmless' }).waitFor()
    await ada.click('Approve')
    await notice.waitFor()
    await ada.page.unrouteAll({ behavior: 'wait' })
    for (const { id } of [shown, other]) expect((await at.admin.approval(id))!.state).toBe('open')

    await ada.page.goto(shown.url)
    await ada.click('Approve')
    await ada.page.getByText('Approved by passkey Ada').waitFor()
  })

  test('signing out while the provider is away forgets the key, and says what is left on the other side', async () => {
    const silent = createServer(() => undefined) // takes everything, and never answers
    for (const somebody of [false, true]) {
      await bob.open('/console/')
      await bob.page.getByRole('heading', { name: 'Overview' }).waitFor()
      const before = await sessions()
      await at.place.serving.stop()
      if (somebody) await once(silent.listen(port, '127.0.0.1'), 'listening')
      await bob.click('Sign out')
      await bob.page.getByText('You are signed out in this browser').waitFor()
      await bob.page.getByText('Until then nobody can use it.').waitFor()
      expect(await bob.signed('/console/api/apps')).toEqual({}) // the key is gone
      silent.closeAllConnections()
      silent.close()
      await startAgain()
      expect(await sessions()).toEqual(before) // it was told nothing
      expect((await bob.ask('apps')).status).toBe(401)
      await bob.click('Sign in')
      await bob.page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    await bob.click('Sign out')
    await bob.page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(await bob.page.getByText('You are signed out in this browser').count()).toBe(0)
  })
}

interface Recorded {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Answers as the provider would after a start, so that the page signs again for him, and keeps all that it sends. */
class Impostor {
  readonly recorded: Recorded[] = []
  /** What he answers to a page that wants a passkey to sign. */
  question: unknown
  stop: () => Promise<void> = () => Promise.resolve()

  static async at(port: number): Promise<Impostor> {
    const impostor = new Impostor()
    impostor.stop = await takePort(port, (incoming, outgoing) => {
      let body = ''
      incoming.setEncoding('utf8').on('data', (piece: string) => (body += piece))
      incoming.on('end', () => {
        const { method = '', url: path = '', headers } = incoming
        impostor.recorded.push({ method, path, headers, body })
        const process = `impostor-${impostor.recorded.length}`
        if (impostor.question !== undefined && path.endsWith('/question')) {
          outgoing.writeHead(200, { 'content-type': 'application/json' })
          outgoing.end(JSON.stringify(impostor.question))
          return
        }
        outgoing
          .writeHead(409, { 'x-cordon-process': process, 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { code: 'other_process', message: 'sign for me' } }))
      })
    })
    return impostor
  }
}

/** Byte for byte what was sent to him. Returns the code of the refusal, or what was answered. */
function replay(port: number, { method, path, headers, body }: Recorded): Promise<string> {
  return new Promise((done, failed) => {
    const sending = request({ host: '127.0.0.1', port, method, path, headers }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        if (path.endsWith('/events')) answer.destroy() // it has no end
      })
      answer.on('close', () => {
        const refused =
          answer.statusCode! >= 400 ? (JSON.parse(text) as { error: { code: string } }) : undefined
        done(refused?.error.code ?? text)
      })
    })
    sending.on('error', failed)
    sending.end(body)
  })
}
