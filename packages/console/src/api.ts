import { signal } from '@preact/signals'

/** An answer of the provider that is not a yes; the message is for the person. */
export class ApiError extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/**
 * Half of the session: the cookie is the other. A cookie goes to every port of localhost; this is kept by the browser
 * for our origin alone (decision 0189).
 */
const KEY = 'cordon-key'
export const keepKey = (key: string): void => localStorage.setItem(KEY, key)
export const forgetKey = (): void => localStorage.removeItem(KEY)

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

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response
  try {
    const key = localStorage.getItem(KEY)
    response = await fetch(`/console/api/${path}`, {
      ...init,
      headers: {
        ...(key === null ? {} : { 'x-cordon-key': key }),
        ...(Date.now() - actedAt < PRESENT_MS ? { 'x-cordon-present': '1' } : {}),
        ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError('unreachable', 'the provider does not answer')
  }
  const date = Date.parse(response.headers.get('date') ?? '')
  if (!Number.isNaN(date) && Math.abs(date - Date.now()) > 2000) clockSkew.value = date - Date.now()
  if (response.ok) return response
  const body = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } }
  throw new ApiError(
    body.error?.code ?? 'unavailable',
    body.error?.message ?? `the provider answered with ${response.status}`,
  )
}

export async function get<T>(path: string): Promise<T> {
  return (await (await request(path)).json()) as T
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  return (await (await request(path, { method: 'POST', body: JSON.stringify(body) })).json()) as T
}
