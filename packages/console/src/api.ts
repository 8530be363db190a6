import { signal } from '@preact/signals'
import { keptKey, type PageKey, signedHeaders } from './page-key.ts'
import { knownProcesses, MOST_PROCESSES, noteProcess } from './processes.ts'

/** An answer of the provider that is not a yes; the message is for the person. */
export class ApiError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The same, to be shown. */
export interface Failure {
  readonly code: string
  readonly message: string
}

export const NO_ANSWER: Failure = { code: 'unreachable', message: 'the provider does not answer' }

/** When somebody last did something here. What the page asks by itself, as agents make it do, keeps nobody signed in. */
let actedAt = Date.now()
for (const what of ['pointerdown', 'keydown'] as const)
  addEventListener(what, ({ isTrusted }) => (actedAt = isTrusted ? Date.now() : actedAt), {
    capture: true,
    passive: true,
  })
const PRESENT_MS = 60_000

/** Milliseconds that the provider's clock is ahead of this one. */
export const clockSkew = signal(0)

/** With `key`, signed with that one; otherwise with that of the session, if there is one. */
export async function request(path: string, init: Init = {}, key?: PageKey): Promise<Response> {
  const url = new URL(`/console/api/${path}`, location.origin)
  const signer = key ?? (await keptKey())
  for (let tries = 1; ; tries++) {
    const processes = knownProcesses()
    const response = await send(url, init, signer, processes)
    noteProcess(response)
    if (response.ok) return response
    const error = await refusalOf(response)
    // A process that we had not heard of: the provider was started again, or there are several. It is signed again for it.
    const isNew = !processes.split(' ').includes(response.headers.get('x-cordon-process') ?? '')
    if (error.code !== 'other_process' || !isNew || tries > MOST_PROCESSES) throw error
  }
}

interface Init {
  readonly method?: 'POST'
  readonly body?: string
  readonly signal?: AbortSignal
}

async function send(url: URL, init: Init, signer: PageKey | undefined, processes: string): Promise<Response> {
  const present = Date.now() - actedAt < PRESENT_MS ? '1' : ''
  const headers = {
    ...(signer && (await signedHeaders(signer, { processes, present, url, ...init }))),
    ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  try {
    const response = await fetch(url, { ...init, headers, cache: 'no-store' }) // nor what somebody else answered before
    const date = Date.parse(response.headers.get('date') ?? '')
    if (!Number.isNaN(date) && Math.abs(date - Date.now()) > 2000) clockSkew.value = date - Date.now()
    return response
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(NO_ANSWER.code, NO_ANSWER.message)
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } }
  return new ApiError(
    body.error?.code ?? 'unavailable',
    body.error?.message ?? `the provider answered with ${response.status}`,
  )
}

export async function get<T>(path: string): Promise<T> {
  return (await (await request(path)).json()) as T
}

export async function post<T>(path: string, body: unknown = {}, key?: PageKey): Promise<T> {
  return (await (await request(path, { method: 'POST', body: JSON.stringify(body) }, key)).json()) as T
}
