import type { IncomingMessage } from 'node:http'
import { basename } from 'node:path'
import { InvalidUrlError, type NetRule, show } from '@cordon/policy'
import { type GetOptions, getUnderRules } from '@cordon/sandbox'
import { attachContent, type BlobStore, type Resource } from '@cordon/workspace'
import { grantToProfile } from './access.ts'
import { AttachFailedError } from './errors.ts'
import { bounded, Deadline } from './limits.ts'

export interface FetchContext {
  readonly rules: readonly NetRule[]
  readonly store: BlobStore
  readonly signal: AbortSignal
  /** How names and certificates are checked, where it is not the machine's way. A seam for tests. */
  readonly network?: Pick<GetOptions, 'resolve' | 'classify' | 'upstreamRoots'> | undefined
  readonly limits?: Partial<typeof LIMITS> | undefined
}

const LIMITS = { bytes: 256 * 1024 * 1024, seconds: 300, redirects: 5 }

/**
 * SPEC 6.3: what an https URL answers, fetched by the host under the rules of the profile (decision 0111). The URI is the
 * one that was asked for, wherever it redirects, so that attaching it again is attaching the same thing.
 */
export async function attachUrl(url: string, context: FetchContext): Promise<Resource> {
  const limits = { ...LIMITS, ...context.limits }
  const deadline = new Deadline(context.signal, limits.seconds)
  try {
    const response = await follow(url, context, limits.redirects, deadline.signal)
    const length = Number(response.headers['content-length'] ?? 0)
    if (length > limits.bytes) throw tooLarge(url, limits.bytes)
    const content = bounded(response, limits.bytes, () => tooLarge(url, limits.bytes))
    const about = { uri: url, name: nameOf(url), textType: textTypeOf(response) }
    return await attachContent(content, about, context.store).finally(() => response.destroy())
  } catch (error) {
    throw deadline.explain(error, (why) => new AttachFailedError(url, why))
  } finally {
    deadline.end()
  }
}

/** Every hop is decided anew: a server that may be asked must not choose who else is. */
async function follow(
  url: string,
  context: FetchContext,
  redirects: number,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let current = url
  for (let hop = 0; ; hop++) {
    const response = await get(url, current, context, signal)
    const { statusCode = 0, headers } = response
    if (statusCode === 200) return identity(url, response)
    response.destroy()
    if (!REDIRECTS.has(statusCode) || headers.location === undefined)
      throw new AttachFailedError(
        url,
        `${where(url, current)}the server answered ${statusCode} ${show(response.statusMessage ?? '')}`.trimEnd(),
      )
    if (hop === redirects) throw new AttachFailedError(url, `it redirects more than ${redirects} times`)
    if (!URL.canParse(headers.location, current))
      throw new AttachFailedError(url, `it redirects to ${show(headers.location)}, which is not a URL`)
    current = new URL(headers.location, current).href
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

async function get(
  url: string,
  current: string,
  { rules, network }: FetchContext,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  // Without a rule nothing is fetched, also where the sandbox is off and undeclared means unrestricted.
  const asked = { ...network, rules, headers: HEADERS, signal }
  const got = await getUnderRules(current, asked).catch((error: unknown) => {
    throw error instanceof InvalidUrlError
      ? new AttachFailedError(url, `${where(url, current)}${error.reason}`)
      : error
  })
  switch (got.kind) {
    case 'answer':
      return got.response
    case 'failed':
      signal.throwIfAborted()
      throw new AttachFailedError(url, `${where(url, current)}${got.reason}`)
    case 'denied': {
      const { reason, fix } = got.denial
      const toAllow = fix === undefined ? '' : `\n  to allow it:\n    ${grantToProfile(fix)}`
      throw new AttachFailedError(
        url,
        `${where(url, current)}network access denied\n  because: ${reason}${toAllow}`,
      )
    }
  }
}

const HEADERS = { 'user-agent': 'cordon', accept: '*/*', 'accept-encoding': 'identity', connection: 'close' }

const where = (url: string, current: string): string =>
  url === current ? '' : `it redirects to ${show(current.replace(/[?#].*$/s, ''))}: `

function identity(url: string, response: IncomingMessage): IncomingMessage {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding === 'identity') return response
  response.destroy()
  throw new AttachFailedError(
    url,
    `the server sends it encoded as ${show(encoding)}, which was not asked for`,
  )
}

/** The last part of the path, as a person would call a saved file. */
function nameOf(url: string): string | undefined {
  const last = basename(new URL(url).pathname)
  if (last === '') return undefined
  try {
    return decodeURIComponent(last)
  } catch {
    return last
  }
}

/** Only what may describe text; what the bytes are is seen in the bytes. */
function textTypeOf({ headers }: IncomingMessage): string | undefined {
  const type = /^\s*([\w.+-]+\/[\w.+-]+)\s*(?:;|$)/.exec(headers['content-type'] ?? '')?.[1]?.toLowerCase()
  return type !== undefined && /^text\/|[/+](?:json|xml|yaml|toml|javascript)$/.test(type) ? type : undefined
}

const tooLarge = (url: string, bytes: number): AttachFailedError =>
  new AttachFailedError(url, `it is larger than ${bytes / 1024 / 1024} MiB`)
