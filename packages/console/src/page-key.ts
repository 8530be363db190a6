import { bufferToBase64URLString } from '@simplewebauthn/browser'
import type { ApprovalDetail } from '../../provider/src/console/answers.ts'

/**
 * Half of the session; the cookie is the other. The browser signs with it and lets nobody have it, neither a script nor who
 * listens at the provider's port while the provider is away (decision 0342).
 */
export interface PageKey {
  readonly signing: CryptoKey
  /** Its public half, which the provider knows it by. */
  readonly shown: string
}

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

export async function makeKey(): Promise<PageKey> {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(ALGORITHM, false, ['sign', 'verify'])
  const shown = bufferToBase64URLString(await crypto.subtle.exportKey('raw', publicKey))
  return { signing: privateKey, shown }
}

/** Kept for our origin alone, so that the page can be loaded again, and for all its tabs. */
export const keepKey = (key: PageKey): Promise<void> => change((kept) => kept.put(key, 'session'))
export const forgetKey = (): Promise<void> => change((kept) => kept.delete('session'))

/** Asked for with every request: another tab may have signed in or out. A browser that keeps nothing has none. */
export const keptKey = async (): Promise<PageKey | undefined> => {
  try {
    const kept: unknown = await done((await keys('readonly')).get('session'))
    return isKey(kept) ? kept : undefined
  } catch {
    return undefined
  }
}

/** Whoever had the provider's port may have put something else there. */
const isKey = (kept: unknown): kept is PageKey => {
  const { signing, shown } = (kept ?? {}) as Partial<PageKey>
  return signing instanceof CryptoKey && signing.usages.includes('sign') && /^[\w-]+$/.test(String(shown))
}

/** He may also have left a database of this name that we cannot use. It is ours, and begins anew (decision 0347). */
async function change(act: (kept: IDBObjectStore) => IDBRequest): Promise<void> {
  try {
    await done(act(await keys('readwrite')))
  } catch {
    ;(await opened?.catch(() => undefined))?.close()
    opened = undefined
    await done(indexedDB.deleteDatabase('cordon'))
    await done(act(await keys('readwrite')))
  }
}

let opened: Promise<IDBDatabase> | undefined

async function keys(mode: IDBTransactionMode): Promise<IDBObjectStore> {
  opened ??= open()
  return (await opened).transaction('keys', mode).objectStore('keys')
}

async function open(): Promise<IDBDatabase> {
  const opening = indexedDB.open('cordon', 1)
  opening.addEventListener('upgradeneeded', () => opening.result.createObjectStore('keys'))
  const database = await done(opening).catch((error: unknown) => {
    opened = undefined
    throw error
  })
  database.addEventListener('versionchange', () => {
    database.close() // another tab begins anew, and would wait for us
    opened = undefined
  })
  return database
}

const done = <T>(asked: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    asked.addEventListener('success', () => resolve(asked.result))
    asked.addEventListener('error', () => reject(asked.error ?? new Error('nothing is kept here')))
    asked.addEventListener('blocked', () => reject(new Error('another page of this origin holds it')))
  })

interface Request {
  readonly processes: string
  readonly present: string
  readonly url: URL
  readonly method?: string
  readonly body?: string
}

/** What `isSignedBy` of the provider checks. */
export async function signedHeaders(
  { signing, shown }: PageKey,
  { processes, present, url: { origin, pathname, search }, method = 'GET', body = '' }: Request,
): Promise<Record<string, string>> {
  const nonce = crypto.randomUUID() // a request counts once; tabs share the key, and so no number
  const said = [processes, origin, nonce, present, method, pathname + search, await hashOf(body)]
  const text = encode(['cordon console 2', ...said].join('\n'))
  return {
    'x-cordon-key': shown,
    'x-cordon-processes': processes,
    'x-cordon-nonce': nonce,
    'x-cordon-present': present,
    'x-cordon-signature': bufferToBase64URLString(await crypto.subtle.sign(ALGORITHM, signing, text)),
  }
}

/** What a passkey must be asked to sign, so that it signs in this page and nobody else. */
export const signInChallenge = (ceremony: string, { shown }: PageKey): Promise<string> =>
  hashOf(['cordon passkey 1', 'sign in', ceremony, shown].join('\n'))

/** The same for an approval: for the one of this address, as it is shown here, at a question of this page (decision 0344). */
export const stepUpChallenge = async (
  ceremony: string,
  id: string,
  { shown }: PageKey,
  { app, agent, command, request, binding }: ApprovalDetail,
): Promise<string> => {
  const seen = await hashOf(JSON.stringify([app, agent, command, request]))
  return hashOf(['cordon passkey 1', 'step up', ceremony, id, shown, binding, seen].join('\n'))
}

const hashOf = async (text: string): Promise<string> =>
  bufferToBase64URLString(await crypto.subtle.digest('SHA-256', encode(text)))

const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
