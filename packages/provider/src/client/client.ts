import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { CordonError, describe, show } from '@cordon/policy'
import type { Command } from '../commands.ts'
import type { REFUSALS } from '../errors.ts'
import type { AnswerOf } from '../http/answers.ts'
import type { ArgsOf } from '../operations/args.ts'
import type { Delegation } from '../tokens/delegation.ts'
import { chooseChain, signInvocation } from '../tokens/invocation.ts'
import type { SigningKey } from '../tokens/key.ts'
import { type Address, bytesOf, parseAddress, post } from './post.ts'

/** The provider's no, as it said it. */
export class ProviderRefusal extends CordonError {
  readonly code: keyof typeof REFUSALS | 'unreachable' | 'no_delegation'
  readonly status: number
  readonly detail: Readonly<Record<string, unknown>>
  constructor(
    code: ProviderRefusal['code'],
    status: number,
    message: string,
    detail: Readonly<Record<string, unknown>> = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.detail = detail
  }
}

export interface ClientOptions {
  readonly url: string
  readonly key: SigningKey
  /** What the agent holds; the shortest chain that fits is used. */
  readonly delegations: () => readonly Delegation[]
  readonly clock?: () => number
}

export interface ReadContent {
  /** Throws when less comes than was promised. */
  readonly stream: Readable
  /** Of what follows. */
  readonly length: number
  /** Of the whole file. */
  readonly size: number
  readonly sha256: string | undefined
}

export type Storing = '/filesystem/file/write' | '/filesystem/file/create'
type Plain = Exclude<Command, '/filesystem/file/read' | Storing>

/** What is signed besides the content's hash and size. */
type StoreArgs<C extends Storing> = Omit<ArgsOf<C>, 'sha256' | 'size'>

/** An invocation is signed for every request, and is good for a minute. */
const LIFETIME_SECONDS = 60

/** What an agent in TypeScript uses: it signs, sends, and reads the answer. */
export class ProviderClient {
  readonly #options: ClientOptions
  #provider: Address | undefined

  constructor(options: ClientOptions) {
    this.#options = options
  }

  async call<C extends Plain>(command: C, args: ArgsOf<C>): Promise<AnswerOf<C>> {
    return answerIn(await this.#send(command, args))
  }

  async read(
    path: string,
    options: Omit<ArgsOf<'/filesystem/file/read'>, 'path'> = {},
  ): Promise<ReadContent> {
    const stream = await this.#send('/filesystem/file/read', { path, ...options })
    const { headers } = stream
    const length = Number(headers['content-length'])
    const range = /\/(\d+)$/.exec(headers['content-range'] ?? '')
    return { stream, length, size: range ? Number(range[1]) : length, sha256: headers.etag?.slice(1, -1) }
  }

  async readText(path: string): Promise<string> {
    return (await bytesOf((await this.read(path)).stream)).toString()
  }

  write(
    path: string,
    content: string | Uint8Array,
    options: { readonly if_match?: string } = {},
  ): Promise<AnswerOf<'/filesystem/file/write'>> {
    return this.store('/filesystem/file/write', { path, ...options }, content)
  }

  create(path: string, content: string | Uint8Array): Promise<AnswerOf<'/filesystem/file/create'>> {
    return this.store('/filesystem/file/create', { path }, content)
  }

  /** A local file, streamed: read once for its hash, which is signed, and once to be sent. */
  async upload<C extends Storing>(command: C, args: StoreArgs<C>, localFile: string): Promise<AnswerOf<C>> {
    const digest = createHash('sha256')
    for await (const piece of createReadStream(localFile)) digest.update(piece as Buffer)
    const { size } = await stat(localFile)
    const signed = { ...args, sha256: digest.digest('hex'), size }
    return answerIn(await this.#send(command, signed, createReadStream(localFile)))
  }

  async store<C extends Storing>(
    command: C,
    args: StoreArgs<C>,
    content: string | Uint8Array,
  ): Promise<AnswerOf<C>> {
    const bytes = Buffer.from(content)
    const signed = { ...args, sha256: hash('sha256', bytes), size: bytes.length }
    return answerIn(await this.#send(command, signed, bytes))
  }

  /** For an agent that does not know where it may work: what, and where. */
  held(): string {
    const { key, delegations, clock = Date.now } = this.#options
    const mine = delegations().filter(
      ({ audience, expires }) => audience === key.did && clock() / 1000 <= expires,
    )
    if (mine.length === 0) return 'none that counts now, `cordon provider mint` makes one'
    const shown = [...new Set(mine.map(({ command, prefix }) => `${command} on ${show(prefix)}`))]
    return `${shown.slice(0, MOST_SHOWN).join(', ')}${shown.length > MOST_SHOWN ? ' …' : ''}`
  }

  /** A token for one request, to be sent by somebody else. */
  sign(command: Command, args: Readonly<Record<string, unknown>>): string {
    const { key, delegations, clock = Date.now } = this.#options
    const now = Math.floor(clock() / 1000)
    const paths = [args['path'], args['destination']].filter((path) => typeof path === 'string')
    const chain = chooseChain(delegations(), { agent: key.did, command, paths, now })
    if (!chain)
      throw new ProviderRefusal(
        'no_delegation',
        0,
        `there is no delegation for ${command} on ${paths.map(show).join(' and ') || describe(args['path'])}; the wallet has ${this.held()}`,
      )
    const defined = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined))
    return signInvocation({ key, chain, command, args: defined, expires: now + LIFETIME_SECONDS })
  }

  async #send(
    command: Command,
    args: Readonly<Record<string, unknown>>,
    body?: Uint8Array | Readable,
  ): Promise<IncomingMessage> {
    const { url } = this.#options
    const token = this.sign(command, args)
    let answer: IncomingMessage
    try {
      this.#provider ??= parseAddress(url)
      answer = await post(this.#provider, command, token, body)
    } catch (error) {
      throw unreachable(url, error)
    }
    const { statusCode: status = 0 } = answer
    if (status === 200 || status === 206) return answer
    throw refusalIn(status, await bytesOf(answer))
  }
}

const MOST_SHOWN = 5

/** With what the system, or TLS, calls it, where that is known. */
function unreachable(url: string, error: unknown): ProviderRefusal {
  const { code: errno, message }: NodeJS.ErrnoException =
    error instanceof Error ? error : Error(String(error))
  const untrusted = errno !== undefined && UNTRUSTED.has(errno)
  const why = untrusted ? message.split(';', 1)[0] : message // Node goes on about flags of its own
  return new ProviderRefusal('unreachable', 0, `the provider at ${show(url)} does not answer: ${why}`, {
    ...(errno === undefined ? {} : { errno }),
    ...(untrusted ? { untrusted } : {}),
  })
}

/** A certificate that nobody vouched for here. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** What the provider says it answers with; tests hold it to that. */
const answerIn = async <A>(answer: Readable): Promise<A> =>
  JSON.parse((await bytesOf(answer)).toString()) as A

function refusalIn(status: number, body: Buffer): ProviderRefusal {
  try {
    const { code, message, ...detail } = (JSON.parse(body.toString()) as { error: Record<string, unknown> })
      .error
    return new ProviderRefusal(code as ProviderRefusal['code'], status, String(message), detail)
  } catch {
    return new ProviderRefusal('failed', status, `the provider answered ${status}`)
  }
}
