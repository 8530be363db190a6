import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { Admin } from '../../src/admin.ts'
import { readAmbientAssets } from '../../src/console/assets.ts'
import type { ServeOptions } from '../../src/http/serve.ts'
import { TestPlace } from '../place.ts'
import { chromiumPath } from './chromium.ts'

export const ASSETS: string = join(import.meta.dirname, '../../../cli/dist/console')

/** A real Chromium out of the registry's package; the web's own protections stay on. Undefined, and said, where it cannot start. */
export async function startBrowser(): Promise<Browser | undefined> {
  try {
    const executablePath = await chromiumPath()
    return await chromium.launch({
      executablePath,
      timeout: 120_000,
      args: [
        '--headless=shell',
        '--no-sandbox',
        '--disable-setuid-sandbox',
        '--no-zygote',
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--font-render-hinting=none',
        '--hide-scrollbars',
      ],
    })
  } catch (error) {
    console.warn(`skipped: Chromium cannot start here: ${(error as Error).message.split('\n', 1)[0]}`)
    return undefined
  }
}

/** The longest that a request can wait: on a busy machine a click may take longer than the minute that is usual. */
export const WAITS_MS = 300_000

/** A deletion needs a person. */
export const STEP_UP = `permit (principal, action == Action::"/filesystem/file/delete", resource)
when { context has cosigner && context.cosigner };`

/** The page as it is built; a provider in this process; an administrator at its terminal. */
export class BrowserPlace {
  readonly place: TestPlace
  readonly admin: Admin
  readonly browser: Browser

  private constructor(browser: Browser, place: TestPlace, admin: Admin) {
    this.browser = browser
    this.place = place
    this.admin = admin
  }

  static async start(browser: Browser, options: Partial<ServeOptions> = {}): Promise<BrowserPlace> {
    if (!existsSync(join(ASSETS, 'index.html'))) throw new Error('the page is not built: npm run build')
    const place = await TestPlace.start(undefined, {
      assets: readAmbientAssets(ASSETS),
      approvalMs: WAITS_MS,
      ...options,
    })
    const admin = await Admin.open({
      choice: place.choice,
      dir: place.dataDir,
      by: 'the test',
      clock: place.clock,
    })
    return new BrowserPlace(browser, place, admin)
  }

  get origin(): string {
    return this.place.serving.origin
  }

  /** A person with a browser of his own and a device that can make passkeys. */
  async person(options: Parameters<Browser['newContext']>[0] = {}): Promise<Person> {
    const context = await this.browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...options })
    context.setDefaultTimeout(WAITS_MS)
    const page = await context.newPage()
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    return new Person(this, context, page, cdp, authenticatorId)
  }

  async close(): Promise<void> {
    await this.admin.close()
    await this.place.close()
  }
}

export class Person {
  readonly at: BrowserPlace
  readonly context: BrowserContext
  readonly page: Page
  readonly cdp: CDPSession
  readonly authenticator: string

  constructor(at: BrowserPlace, context: BrowserContext, page: Page, cdp: CDPSession, authenticator: string) {
    this.at = at
    this.context = context
    this.page = page
    this.cdp = cdp
    this.authenticator = authenticator
  }

  /** By the one-time link, as the command line prints it. */
  async register(name: string): Promise<void> {
    await this.page.goto(await this.at.admin.addPasskey(this.at.origin))
    await this.page.getByLabel('Name it').fill(name)
    await this.page.getByRole('button', { name: 'Make a passkey' }).click()
    await this.page.getByRole('heading', { name: 'Overview' }).waitFor()
  }

  open(path: string): Promise<unknown> {
    return this.page.goto(new URL(path, this.at.origin).href)
  }

  click(name: string): Promise<void> {
    return this.page.getByRole('button', { name }).click()
  }

  /** As the page itself would ask. */
  async ask(path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const headers = await this.signed(`/console/api/${path}`, sent)
    return this.page.evaluate(
      async ([url, text, signed]) => {
        const response = await fetch(`/console/api/${url}`, {
          headers: { ...signed, ...(text === undefined ? {} : { 'content-type': 'application/json' }) },
          ...(text === undefined ? {} : { method: 'POST', body: text }),
        })
        return { status: response.status, body: await response.json() }
      },
      [path, sent, headers] as const,
    )
  }

  /** What a script in the page can have signed: the headers of one request. Without a session, none. */
  signed(target: string, body?: string): Promise<Record<string, string>> {
    return this.page.evaluate(
      async ([path, text]) => {
        const open = indexedDB.open('cordon')
        await new Promise((done) => (open.onsuccess = done))
        const got = open.result.transaction('keys').objectStore('keys').get('session')
        await new Promise((done) => (got.onsuccess = done))
        open.result.close()
        const key = got.result as { signing: CryptoKey; shown: string } | undefined
        if (!key) return {}
        const processes = localStorage.getItem('cordon-processes') ?? ''
        const encode = (what: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(what)
        const base64 = (bytes: ArrayBuffer): string =>
          btoa(String.fromCodePoint(...new Uint8Array(bytes)))
            .replaceAll('+', '-')
            .replaceAll('/', '_')
            .replaceAll('=', '')
        const hash = base64(await crypto.subtle.digest('SHA-256', encode(text ?? '')))
        const method = text === undefined ? 'GET' : 'POST'
        const { origin, pathname, search } = new URL(path, location.origin)
        const nonce = crypto.randomUUID()
        const all = ['cordon console 2', processes, origin, nonce, '', method, pathname + search, hash]
        const signature = await crypto.subtle.sign(
          { name: 'ECDSA', hash: 'SHA-256' },
          key.signing,
          encode(all.join('\n')),
        )
        return {
          'x-cordon-key': key.shown,
          'x-cordon-processes': processes,
          'x-cordon-nonce': nonce,
          'x-cordon-signature': base64(signature),
        }
      },
      [target, body] as const,
    )
  }
}

/** A page of somebody else, on another port of this machine: the same site to a browser, another origin. */
export async function startSite(html: string): Promise<{ server: Server; url: string }> {
  const server = createServer((_, answer) => answer.writeHead(200, { 'content-type': 'text/html' }).end(html))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://localhost:${(server.address() as AddressInfo).port}/` }
}
