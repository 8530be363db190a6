import { signal } from '@preact/signals'
import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import type { SessionAnswer, SignedInAnswer } from '../../provider/src/console/answers.ts'
import { ApiError, forgetKey, get, keepKey, post } from './api.ts'

export type Session =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'out'; readonly hasPasskeys: boolean }
  | { readonly kind: 'in'; readonly name: string }

export const session = signal<Session>({ kind: 'unknown' })

export async function loadSession(): Promise<void> {
  const now = await get<SessionAnswer>('session')
  session.value =
    now.name === null ? { kind: 'out', hasPasskeys: now.has_passkeys } : { kind: 'in', name: now.name }
}

/** Whatever was refused because nobody is signed in shows the sign-in, where the person is. */
export function noteSignedOut(error: unknown): void {
  if (error instanceof ApiError && error.code === 'signed_out')
    session.value = { kind: 'out', hasPasskeys: true }
}

function started({ name, key }: SignedInAnswer): void {
  keepKey(key)
  session.value = { kind: 'in', name }
}

export async function signIn(): Promise<void> {
  started(await post<SignedInAnswer>('sign-in', await sign('sign-in/options')))
}

/** Throws what the person is told when the link was used, or is too old. */
export const checkLink = (link: string): Promise<unknown> => post('register/options', { link })

export async function register(link: string, name: string): Promise<void> {
  const { ceremony, options } = await post<{
    ceremony: string
    options: PublicKeyCredentialCreationOptionsJSON
  }>('register/options', { link, name })
  const response = await asking(() => startRegistration({ optionsJSON: options }))
  started(await post<SignedInAnswer>('register', { link, name, ceremony, response }))
}

/** Ended on both sides; here also when the provider is away: without the key its cookie is worth nothing. */
export async function signOut(): Promise<void> {
  try {
    await post('sign-out')
  } catch {
    // it forgets by itself, when nobody has come for half an hour
  }
  forgetKey()
  session.value = { kind: 'out', hasPasskeys: true }
}

/** Asks the provider for a question and the passkey for its answer. */
export async function sign(question: string): Promise<{ ceremony: string; response: unknown }> {
  const { ceremony, options } = await post<{
    ceremony: string
    options: PublicKeyCredentialRequestOptionsJSON
  }>(question)
  return { ceremony, response: await asking(() => startAuthentication({ optionsJSON: options })) }
}

async function asking<T>(ask: () => Promise<T>): Promise<T> {
  if (typeof PublicKeyCredential === 'undefined')
    throw new ApiError('no_passkeys', 'this browser has no passkeys here; they need https, or localhost')
  try {
    return await ask()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'InvalidStateError')
      throw new ApiError('known', 'this device has a passkey for this provider already: sign in with it')
    throw new ApiError('cancelled', 'it was cancelled, or the passkey did not answer; nothing was signed')
  }
}
