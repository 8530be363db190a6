import type { Config, LlmProviderConfig } from '@cordon/config'
import { CordonError } from '@cordon/policy'
import { keyOf, keySource, type ModelWorld } from './models.ts'

/** What `cordon models` says of one provider. */
export interface ProviderView {
  readonly name: string
  readonly kind: LlmProviderConfig['kind']
  readonly address: string
  readonly state: 'ready' | 'no key' | 'unreachable' | 'refused'
  /** Where its key is from: a variable, or a command of which the arguments are not said. Undefined: it needs none. */
  readonly key: string | undefined
  /** Why it is not ready. */
  readonly why: string | undefined
  /** What it offers now, in its own order. */
  readonly models: readonly string[]
}

/** Asks every provider that has what it needs for its list, at once, and waits for none of them long. */
export function listModels({ providers }: Config, world: ModelWorld): Promise<ProviderView[]> {
  return Promise.all(Object.entries(providers.llm).map(([name, config]) => viewProvider(name, config, world)))
}

const WAIT_MS = 5000

/** Where each protocol's own provider is. */
const USUAL: Readonly<Record<LlmProviderConfig['kind'], string>> = {
  anthropic: 'https://api.anthropic.com/v1',
  openai: 'https://api.openai.com/v1',
  google: 'https://generativelanguage.googleapis.com/v1beta',
  'openai-compatible': '',
}

async function viewProvider(
  name: string,
  config: LlmProviderConfig,
  world: ModelWorld,
): Promise<ProviderView> {
  const { kind, base_url: address = USUAL[config.kind] } = config
  const view = (
    state: ProviderView['state'],
    why: string | undefined,
    models: readonly string[] = [],
  ): ProviderView => ({ name, kind, address, state, key: keySource(config, world.env), why, models })
  try {
    const key = await keyOf({ provider: name, config }, world)
    const response = await fetch(`${address.replace(/\/$/, '')}/models`, {
      headers: headersFor(kind, key),
      signal: AbortSignal.timeout(WAIT_MS),
      redirect: 'manual', // a key goes where it was meant to go
    })
    const { status } = response
    if (status >= 300 && status < 400)
      return view('refused', `it sends us elsewhere (status ${status}), and no key goes there`)
    if (!response.ok) return view('refused', `it answered with status ${status}`)
    return view('ready', undefined, namesIn(JSON.parse(await textOf(response))))
  } catch (error) {
    if (error instanceof CordonError) return view('no key', error.message.split('\n', 1)[0])
    if (error instanceof TooLongError) return view('refused', error.message)
    if (error instanceof SyntaxError)
      return view('refused', 'it answered with something that is no list of models')
    if (error instanceof DOMException) return view('unreachable', `nothing came within ${WAIT_MS / 1000} s`)
    return view('unreachable', 'nobody answers there')
  }
}

/** The longest list there is has some hundred kilobytes. */
const MOST_BYTES = 4 * 2 ** 20

class TooLongError extends Error {
  constructor() {
    super(`its list is longer than ${MOST_BYTES / 2 ** 20} MiB`)
  }
}

/** What never ends would be kept until there is no more memory. */
async function textOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new TooLongError()
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}

function headersFor(kind: LlmProviderConfig['kind'], key: string | undefined): Record<string, string> {
  if (key === undefined) return {}
  switch (kind) {
    case 'anthropic':
      return { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
    case 'google':
      return { 'x-goog-api-key': key }
    case 'openai':
    case 'openai-compatible':
      return { authorization: `Bearer ${key}` }
  }
}

/** `data[].id`, or Google's `models[].name`. What has neither offers nothing that we could name. */
function namesIn(body: unknown): string[] {
  const { data, models } = (body ?? {}) as { readonly data?: unknown; readonly models?: unknown }
  const list: unknown[] = Array.isArray(data) ? data : Array.isArray(models) ? models : []
  return list.flatMap((one) => {
    const { id, name } = (one ?? {}) as { readonly id?: unknown; readonly name?: unknown }
    const found = typeof id === 'string' ? id : typeof name === 'string' ? name.replace(/^models\//, '') : ''
    return found === '' ? [] : [found]
  })
}
