import { isIP } from 'node:net'
import type { Context } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { eventOf } from '../audit/record.ts'
import { isSignedBy } from '../sessions/request-signature.ts'
import {
  endReused,
  findSession,
  noteArrival,
  renewSession,
  type Session,
  type SessionHalves,
} from '../sessions/sessions.ts'
import type { ConsoleContext } from './context.ts'
import { ConsoleRefusal } from './errors.ts'
import { readBytes } from './read-body.ts'
import type { Site } from './site.ts'

/** On every answer but those of the commands, which no browser can ask for: nothing here is framed, or taken for something else. */
export const EVERY_HEADERS = { 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' } as const

/**
 * No inline script or style, nothing from elsewhere, no frame around it, nothing of it in a frame, and no text becomes
 * a script by being assigned to the page.
 */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  ...EVERY_HEADERS,
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=()',
} as const

/** A name that somebody else points here (DNS rebinding) is not ours. */
export const isOurHost = (c: Context, { host }: Site): boolean => c.req.header('host') === host

export function requireHost(c: Context, site: Site): void {
  if (isOurHost(c, site)) return
  const { origin } = site
  throw new ConsoleRefusal('wrong_host', `the console is at ${origin} and nowhere else`)
}

/** For what programs ask, too: they may use an address. A browser that was led here by a name sends that name. */
export function requireNoOtherName(c: Context, site: Site): void {
  const name = (c.req.header('host') ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  if (isIP(name) === 0 && name !== 'localhost') requireHost(c, site)
}

/**
 * Only our own pages may ask. Another port of localhost is the same *site* to a browser, so that `SameSite` alone would
 * let it: the origin must be ours, exactly. Nothing but our own script sends it.
 */
export function requireOwnPage(c: Context, { origin }: Site): void {
  const from = c.req.header('origin')
  const site = c.req.header('sec-fetch-site')
  const reads = c.req.method === 'GET'
  const isOurs = (reads && from === undefined) || from === origin
  if (isOurs && (site === undefined || site === 'same-origin')) return
  throw new ConsoleRefusal('cross_site', 'this request does not come from the console’s own page')
}

/** With the port: a cookie is sent to every port of its host, and two providers must not take each other's away. */
const cookieName = ({ secure, host }: Site): string => {
  const port = host.split(':')[1]
  return `${secure ? '__Secure-' : ''}cordon${port === undefined ? '' : `-${port}`}`
}

/**
 * Sent to the API alone. Another port of the same host can plant one of the same name, also with `__Secure-`, which keeps
 * out only who has no TLS for this name: so all that come are tried (decision 0348).
 */
export const giveCookie = (c: Context, site: Site, secret: string): void =>
  setCookie(c, cookieName(site), secret, {
    httpOnly: true,
    sameSite: 'Strict',
    secure: site.secure,
    path: '/console/api',
    maxAge: 12 * 3600,
  })

export const takeCookie = (c: Context, site: Site): void => {
  deleteCookie(c, cookieName(site), { path: '/console/api', secure: site.secure })
}

/**
 * The key that has signed this request, for this process of the provider: what was signed for another one was recorded by
 * somebody who had its port, or is of a page that has not heard of us yet and signs again (decision 0342).
 */
export async function signerOf(c: Context, context: ConsoleContext): Promise<string | undefined> {
  const { key, processes, nonce, signature, present } = signedHeaders(c)
  if (key === '' || signature === '' || !/^[\w-]{16,64}$/.test(nonce)) return undefined
  requireThisProcess(c, context)
  const { pathname, search } = new URL(c.req.url)
  const { origin } = context.site()
  const { method } = c.req
  const body = method === 'GET' ? new Uint8Array() : await readBytes(c)
  const request = { processes, origin, nonce, present, method, target: pathname + search, body }
  return isSignedBy(key, request, signature) ? key : undefined
}

const SIGNED = ['key', 'processes', 'nonce', 'signature', 'present'] as const

const signedHeaders = (c: Context): Record<(typeof SIGNED)[number], string> =>
  Object.fromEntries(SIGNED.map((name) => [name, c.req.header(`x-cordon-${name}`) ?? ''])) as never

function requireThisProcess(c: Context, { process }: ConsoleContext): void {
  if (signedHeaders(c).processes.split(' ').includes(process.id)) return
  throw new ConsoleRefusal('other_process', 'the provider has been started again; load the page again')
}

/** Every one of that name: a browser sends the one with the longest path first, whoever set it. */
const cookiesOf = (c: Context, name: string): string[] =>
  (c.req.header('cookie') ?? '')
    .split(';')
    .map((each) => each.trim())
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1))

/** The cookies, and the key that has signed this request. */
export async function halvesOf(c: Context, context: ConsoleContext): Promise<SessionHalves | undefined> {
  const cookies = cookiesOf(c, cookieName(context.site()))
  const key = await signerOf(c, context)
  return cookies.length === 0 || key === undefined ? undefined : { cookies, key }
}

/** A request counts once, and whoever handles it may ask again whose it is. */
const FOUND = new WeakMap<Context, Promise<Session | undefined>>()

export function sessionOf(c: Context, context: ConsoleContext): Promise<Session | undefined> {
  const found = FOUND.get(c) ?? lookUpSession(c, context)
  FOUND.set(c, found)
  return found
}

/**
 * When somebody does something here, the session lasts longer, with a new cookie when it was time for one. A page that
 * asks by itself, because an agent did something, is nobody; and who sends once more what a page sent neither renews its
 * session nor ends it (decision 0343).
 */
async function lookUpSession(c: Context, context: ConsoleContext): Promise<Session | undefined> {
  const { database, clock } = context.provider
  const now = clock()
  const halves = await halvesOf(c, context)
  if (!halves) return undefined
  const session = await findSession(database, halves, now)
  const { nonce, present } = signedHeaders(c)
  const request = `${halves.key} ${nonce}`
  const isReplayed = context.process.hasAnswered(request)
  if (!session) {
    const reused = isReplayed ? undefined : await endReused(database, halves, now)
    if (reused)
      await context.provider.audit.append(eventOf('reused session ended', 'the provider', { ...reused }))
    return undefined
  }
  if (isReplayed) throw new ConsoleRefusal('request_replayed', 'this was asked before, and is answered once')
  requireThisProcess(c, context) // it may have taken another id since, and forgotten what it answered
  context.process.remember(request)
  await noteArrival(database, session)
  const isPerson = (c.req.method !== 'GET' || present !== '') && !SLOW.has(c.req.path)
  const cookie = isPerson ? await renewSession(database, session, now) : undefined
  if (cookie !== undefined) giveCookie(c, context.site(), cookie)
  return session
}

/** A new cookie that comes with a late answer would replace one that was given since. */
const SLOW: ReadonlySet<string> = new Set(['/console/api/audit/verify'])

export async function requireSession(c: Context, context: ConsoleContext): Promise<Session> {
  const session = await sessionOf(c, context)
  if (session) return session
  throw new ConsoleRefusal('signed_out', 'you are not signed in, or not any more')
}
