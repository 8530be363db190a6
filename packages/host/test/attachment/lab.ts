import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  Blobs,
  type ConversationEvent,
  type ConversationRef,
  createConversation,
  openConversation,
  openWorkspace,
  type Shelf,
} from '@cordon/workspace'
import { onTestFinished } from 'vitest'
import { type AttachmentOptions, Attachments } from '../../src/attachment/attachments.ts'
import { TRUSTING } from '../trusting.ts'

/** Key and certificate in one file; the judge is Node's own TLS. */
export const PEM = readFileSync(join(import.meta.dirname, 'loopback.pem'), 'utf8')

/** A real https server on loopback. */
export async function serve(answer: RequestListener): Promise<number> {
  const server = createServer({ key: PEM, cert: PEM }, answer)
  server.on('tlsClientError', () => {})
  onTestFinished(() => server.close().closeAllConnections())
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return (server.address() as AddressInfo).port
}

/** A workspace and a home, both real, and the attachments of one conversation in it. */
export class Lab {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-attach-')))
  readonly root = this.#dir('ws')
  readonly home = this.#dir('home')
  readonly shelf: Shelf
  readonly warnings: string[] = []
  readonly #options: AttachmentOptions

  constructor(options: Partial<AttachmentOptions> = {}) {
    mkdirSync(join(this.root, '.cordon'))
    const uid = process.getuid?.()
    const surroundings = { env: { PATH: process.env['PATH'] }, platform: 'linux', home: this.home, uid }
    const workspace = openWorkspace(this.root, surroundings)!
    this.shelf = { workspace, holder: { pid: process.pid, command: 'test' }, now: () => new Date() }
    this.#options = {
      project: { cwd: this.root, surroundings, cfg: [], trust: TRUSTING },
      user: { pid: process.pid, uid, home: this.home, session: 'lab', person: undefined },
      conversation: 'last used',
      warn: (warnings) => this.warnings.push(...warnings),
      notice: (texts) => this.warnings.push(...texts),
      network: { upstreamRoots: [PEM] },
      ...options,
    }
  }

  #dir(name: string): string {
    mkdirSync(join(this.base, name))
    return join(this.base, name)
  }

  open(options: Partial<AttachmentOptions> = {}): Attachments {
    return new Attachments(this.shelf, { ...this.#options, ...options })
  }

  get blobs(): Blobs {
    return new Blobs(this.shelf)
  }

  write(path: string, content: string | Uint8Array): string {
    const file = join(this.root, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, content)
    return file
  }

  config(toml: string): void {
    this.write('.cordon/config.toml', toml)
  }

  /** A conversation with these events, to be named by its id. */
  async talk(...events: ConversationEvent[]): Promise<ConversationRef> {
    const ref = await createConversation(this.shelf, { keeping: 'shared' })
    const writer = await openConversation(this.shelf, ref, { wait: 0 })
    await writer.append(events)
    await writer.close()
    return ref
  }
}

export const never = new AbortController().signal
