import { signal } from '@preact/signals'
import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'
import type { ApprovalDetail, SessionAnswer, SignedInAnswer } from '../../provider/src/console/answers.ts'
import { ApiError, get, post, request } from './api.ts'
import {
  forgetKey,
  keepKey,
  keptKey,
  makeKey,
  type PageKey,
  signInChallenge,
  stepUpChallenge,
} from './page-key.ts'

export type Session =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'out'
      readonly hasPasskeys: boolean
      /** False: somebody signed out here, and the provider does not know. */
      readonly isTold?: boolean
    }
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

/** Another key for every session; until it has begun, other tabs use the one of before. */
async function start(path: 'sign-in' | 'register', answer: unknown, key: PageKey): Promise<void> {
  const { name } = await post<SignedInAnswer>(path, answer, key)
  await keepKey(key).catch(() => {
    throw new ApiError(
      'not_kept',
      'this browser does not keep the key of your session: close other tabs of this page, clear the data of this site in the browser’s settings, and sign in again',
    )
  })
  session.value = { kind: 'in', name }
}

export async function signIn(): Promise<void> {
  const key = await makeKey()
  const question = await post<SigningQuestion>('sign-in/options', {}, key)
  requireChallenge(question, await signInChallenge(question.ceremony, key), 'would sign somebody else in')
  // A browser is told which passkeys are good, and does not say whether it has one of them.
  const answer = await answerTo(
    question,
    'it was cancelled, or this device has no passkey that this provider knows: it may have been removed on the host',
  )
  await start('sign-in', answer, key)
}

/** Throws what the person is told when the link was used, or is too old. */
export const checkLink = async (link: string): Promise<unknown> =>
  post('register/options', { link }, await makeKey())

export async function register(link: string, name: string): Promise<void> {
  const key = await makeKey()
  const { ceremony, options } = await post<{
    ceremony: string
    options: PublicKeyCredentialCreationOptionsJSON
  }>('register/options', { link, name }, key)
  const response = await asking(() => startRegistration({ optionsJSON: options }))
  await start('register', { link, name, ceremony, response }, key)
}

/** Who has the port and never answers keeps nobody signed in. */
const SIGN_OUT_MS = 5000

/** Ended on both sides; here at once, also when the provider is away: without the key nobody can use what it still has. */
export async function signOut(): Promise<void> {
  const key = await keptKey()
  await forgetKey()
  const init = { method: 'POST', body: '{}', signal: AbortSignal.timeout(SIGN_OUT_MS) } as const
  const isTold = await request('sign-out', init, key).then(
    () => true,
    (error: unknown) => error instanceof ApiError && error.code === 'signed_out',
  )
  session.value = { kind: 'out', hasPasskeys: true, isTold }
}

interface SigningQuestion {
  readonly ceremony: string
  readonly options: PublicKeyCredentialRequestOptionsJSON
}

/** `id` is that of the page's address, whatever was answered there; `shown` is what the person saw. */
export async function approve(id: string, shown: ApprovalDetail): Promise<void> {
  const key = await keptKey()
  if (!key) throw new ApiError('signed_out', 'you are not signed in, or not any more')
  const path = `approvals/${encodeURIComponent(id)}`
  const question = await post<SigningQuestion>(`${path}/question`, {}, key)
  const challenge = await stepUpChallenge(question.ceremony, id, key, shown)
  requireChallenge(question, challenge, 'asks you to sign something else than this')
  await post(`${path}/approve`, await answerTo(question), key)
}

/** A passkey signs what this page computed, or nothing: who has the provider's port could hand it another question. */
function requireChallenge({ options }: SigningQuestion, expected: string, otherwise: string): void {
  if (options.challenge !== expected)
    throw new ApiError('bad_question', `what answered ${otherwise}; nothing was signed`)
}

const answerTo = async (
  { ceremony, options }: SigningQuestion,
  cancelled?: string,
): Promise<{ ceremony: string; response: unknown }> => ({
  ceremony,
  response: await asking(() => startAuthentication({ optionsJSON: options }), cancelled),
})

async function asking<T>(
  ask: () => Promise<T>,
  cancelled = 'it was cancelled, or the passkey did not answer; nothing was signed',
): Promise<T> {
  if (typeof PublicKeyCredential === 'undefined')
    throw new ApiError('no_passkeys', 'this browser has no passkeys here; they need https, or localhost')
  try {
    return await ask()
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'InvalidStateError')
      throw new ApiError('known', 'this device has a passkey for this provider already: sign in with it')
    throw new ApiError('cancelled', cancelled)
  }
}
