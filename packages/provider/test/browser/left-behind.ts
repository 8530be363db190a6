import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAmbientAssets } from '../../src/console/assets.ts'
import { type Agent, send } from '../place.ts'
import { ownPort } from '../ports.ts'
import { ASSETS, BrowserPlace, type Person, WAITS_MS, STEP_UP } from './browser.ts'
import { takePort } from './port.ts'

const FOREVER = 'max-age=31536000, immutable'
const HIS_PAGE = '<!doctype html><title>his</title><main>his page</main><script src="/his.js"></script>'

/** What was answered by somebody else while the provider was away is over when it is back (decision 0347). */
export function testLeftBehind(browser: Browser): void {
  let at: BrowserPlace
  let agent: Agent
  let port: number
  beforeAll(async () => {
    port = await ownPort()
    at = await BrowserPlace.start(browser, { port })
    agent = await at.place.agent('careful', STEP_UP)
  })
  afterAll(() => at.close())

  /** `answer` has the port for as long as `meanwhile` takes. */
  const away = async (answer: Answer, meanwhile: () => Promise<unknown>): Promise<void> => {
    await at.place.serving.stop()
    const giveUp = await takePort(port, (incoming, outgoing) =>
      answer(incoming.url ?? '', outgoing, incoming),
    )
    await meanwhile()
    await giveUp()
    const options = { port, assets: readAmbientAssets(ASSETS), approvalMs: WAITS_MS }
    Object.assign(at.place, { serving: await at.place.serve(options) })
  }
  const signedIn = async (name: string): Promise<Person> => {
    const who = await at.person()
    await who.register(name)
    return who
  }
  const workers = ({ page }: Person): Promise<number> =>
    page.evaluate(async () => (await navigator.serviceWorker.getRegistrations()).length)

  test('the attack: what he answered to an open page is not what the page shows afterwards', async () => {
    const ada = await signedIn('Ada')
    const path = join(at.place.files, 'precious')
    writeFileSync(path, 'x')
    const { error } = await send(agent, '/filesystem/file/delete', { path })
    const [id, url] = [String(error['approval']), String(error['url'])]
    await ada.page.goto(url)
    await ada.page.getByRole('button', { name: 'Approve' }).waitFor()
    const now = { waiting: [id, 'more'], approved: [], trouble: null, last_record: 9999, generation: 9999 }
    const approval = (await ada.ask(`approvals/${id}`)).body as { request: object }
    const junk = { ...approval, request: { ...approval.request, path: '/tmp/junk', paths: ['/tmp/junk'] } }
    await away(
      (asked, answer) => {
        const says = { 'x-cordon-process': 'impostor', 'cache-control': FOREVER, connection: 'close' }
        if (asked === '/console/api/events')
          answer
            .writeHead(200, { ...says, 'content-type': 'text/event-stream' })
            .write(`event: now\ndata: ${JSON.stringify(now)}\n\n`)
        else answer.writeHead(200, { ...says, 'content-type': 'application/json' }).end(JSON.stringify(junk))
      },
      () => ada.page.getByText('This page was told two different things about one request').waitFor(),
    )
    await ada.page.goto('about:blank')
    await ada.page.goto(url)
    await ada.page.getByRole('button', { name: 'Approve' }).waitFor()
    expect(await ada.page.locator('p.target').innerText()).toBe(path)
    await ada.context.close()
  })

  test('the attack: his service worker is gone after one load, and his page with it', async () => {
    const bob = await signedIn('Bob')
    const script = `document.querySelector('main').textContent = 'he is here';
      navigator.serviceWorker.register('/deep/sw.js', { scope: '/' }).then(() => navigator.serviceWorker.ready)
        .then(() => { document.querySelector('main').textContent = 'he stays' })`
    const worker = `addEventListener('install', () => skipWaiting());
      addEventListener('activate', (event) => event.waitUntil(clients.claim()));
      addEventListener('fetch', (event) => {
        const script = new URL(event.request.url).pathname === '/his.js'
        if (script) event.respondWith(new Response(${JSON.stringify(script)}, { headers: { 'content-type': 'text/javascript' } }))
        else if (event.request.mode === 'navigate')
          event.respondWith(new Response(${JSON.stringify(HIS_PAGE)}, { headers: { 'content-type': 'text/html' } }))
      })`
    await away(
      (asked, answer) =>
        asked.endsWith('.js')
          ? answer
              .writeHead(200, {
                'content-type': 'text/javascript',
                'service-worker-allowed': '/',
                connection: 'close',
              })
              .end(asked === '/his.js' ? script : worker)
          : answer.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end(HIS_PAGE),
      async () => {
        await bob.open('/console/')
        await bob.page.getByText('he stays').waitFor()
        expect(await workers(bob)).toBe(1)
        await bob.page.goto('about:blank')
      },
    )
    await bob.open('/console/') // his, once more; and the browser looks for a newer worker
    await bob.page.getByRole('heading', { name: 'Overview' }).waitFor({ timeout: 60_000 })
    expect(await workers(bob)).toBe(0)
    await bob.context.close()
  })

  test('the attack: nor does one stay that shows our own page, and answers for the provider', async () => {
    const carl = await signedIn('Carl')
    const worker = `addEventListener('install', () => skipWaiting());
      addEventListener('activate', (event) => event.waitUntil(clients.claim()));
      addEventListener('fetch', (event) => {
        if (new URL(event.request.url).pathname === '/console/api/session')
          event.respondWith(new Response('{"name":"Mallory"}', { headers: { 'content-type': 'application/json' } }))
      })`
    await away(
      (asked, answer) =>
        answer
          .writeHead(200, {
            'content-type': asked === '/sw.js' ? 'text/javascript' : 'text/html',
            'cache-control': asked === '/sw.js' ? FOREVER : 'no-store',
            connection: 'close',
          })
          .end(asked === '/sw.js' ? worker : '<!doctype html><title>his</title>'),
      async () => {
        await carl.open('/console/')
        await carl.page.evaluate(async () => {
          await navigator.serviceWorker.register('/sw.js', { updateViaCache: 'all' }) // nobody is asked for a newer one
          await navigator.serviceWorker.ready
        })
        await carl.page.goto('about:blank')
      },
    )
    await carl.open('/console/')
    await carl.page.locator('.who', { hasText: 'Carl' }).waitFor({ timeout: 60_000 })
    expect(await workers(carl)).toBe(0)
    await carl.context.close()
  })

  test('the attack: what he said to keep for a year is gone with the first page of ours', async () => {
    const dora = await signedIn('Dora')
    const says = { 'cache-control': FOREVER, connection: 'close' }
    await away(
      (asked, answer) =>
        asked.split('?')[0]!.endsWith('.js')
          ? answer
              .writeHead(200, { ...says, 'content-type': 'text/javascript' })
              .end(`document.title = 'his script'`)
          : answer
              .writeHead(200, { ...says, 'content-type': 'text/html' })
              .end('<!doctype html><script src="/console/assets/console.js"></script><main>his page</main>'),
      async () => {
        await dora.open('/console/')
        await dora.page.getByText('his page').waitFor()
        await dora.page.goto('about:blank')
      },
    )
    await dora.open('/console/apps') // an address that he was not asked for; our page, with a script that he was
    await dora.page.getByRole('heading', { name: 'Apps' }).waitFor({ timeout: 60_000 })
    await dora.open('/console/')
    await dora.page.getByRole('heading', { name: 'Overview' }).waitFor({ timeout: 60_000 })
    await dora.context.close()
  })

  test('the attack: cookies that another port plants, with longer paths, sign nobody out and keep nobody out', async () => {
    const emil = await signedIn('Emil')
    const planted = ['session', 'overview', 'events', 'approvals', 'sign-in', 'sign-out'].map(
      (path) =>
        `cordon-${port}=planted; Path=/console/api/${path}; Max-Age=31536000; HttpOnly; SameSite=Strict`,
    )
    const his = await ownPort()
    const giveUp = await takePort(his, (_, answer) => answer.writeHead(200, { 'set-cookie': planted }).end())
    await emil.page.goto(`http://localhost:${his}/`)
    await giveUp()
    const sent = await emil.context.cookies(`${at.origin}/console/api/session`)
    expect(sent.map(({ path, value }) => [path, value === 'planted']).toSorted()).toEqual([
      ['/console/api', false],
      ['/console/api/session', true],
    ])
    await emil.open('/console/')
    await emil.page.getByRole('heading', { name: 'Overview' }).waitFor({ timeout: 60_000 })
    await emil.click('Sign out')
    await emil.click('Sign in')
    await emil.page.getByRole('heading', { name: 'Overview' }).waitFor({ timeout: 60_000 })
    await emil.open('/console/')
    await emil.page.getByRole('heading', { name: 'Overview' }).waitFor({ timeout: 60_000 })
    await emil.context.close()
  })

  test('the attack: what he put into the page’s own storage keeps nobody out', async () => {
    const frida = await signedIn('Frida')
    const spoil = [
      // a later version than ours, an id that no header takes
      `localStorage.setItem('cordon-processes', 'x'.repeat(200_000)); open(9)`,
      // ours, without what is in it; and no room for anything
      `try { for (let i = 0; ; i++) localStorage.setItem(i, 'x'.repeat(100_000)) } catch {}; open(1)`,
    ]
    for (const each of spoil) {
      const script = `const open = (version) => { const asked = indexedDB.open('cordon', version)
          asked.onsuccess = () => { asked.result.close(); document.title = 'spoilt' } }
        indexedDB.deleteDatabase('cordon').onsuccess = () => { ${each} }`
      await away(
        (_, answer) =>
          answer
            .writeHead(200, { 'content-type': 'text/html', connection: 'close' })
            .end(`<!doctype html><title>his</title><script>${script}</script>`),
        async () => {
          await frida.page.goto('about:blank')
          await frida.page.goto(`${at.origin}/his`)
          await frida.page.waitForFunction(() => document.title === 'spoilt')
        },
      )
      await frida.open('/console/')
      await frida.click('Sign in')
      await frida.page.getByRole('heading', { name: 'Overview' }).waitFor()
      await frida.open('/console/') // it was kept
      await frida.page.getByRole('heading', { name: 'Overview' }).waitFor()
    }
    await frida.context.close()
  })
}

type Answer = (path: string, answer: ServerResponse, incoming: IncomingMessage) => unknown
