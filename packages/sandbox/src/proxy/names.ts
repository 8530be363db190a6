import { type Socket as UdpSocket } from 'node:dgram'
import { type Socket } from 'node:net'
import { type HostName, parseHost } from '@cordon/policy'
import { denyName } from './denial.ts'
import { readHeld } from './held-read.ts'
import { type Journal } from './journal.ts'

/**
 * SPEC 4.5: who asks by DNS instead of `/etc/hosts` (musl, c-ares) is told the same, and NXDOMAIN for all other names, so
 * that nothing waits. Nothing is ever asked of anybody else: no name leaves the sandbox.
 */
export class NameServer {
  readonly #names: ReadonlyMap<HostName, string>
  readonly #journal: Journal

  constructor(names: ReadonlyMap<HostName, string>, journal: Journal) {
    this.#names = names
    this.#journal = journal
  }

  serveDatagrams(socket: UdpSocket): void {
    socket.on('error', () => {}) // who asked is gone
    socket.on('message', (query, { port, address }) => {
      const reply = this.#answer(query)
      if (reply) socket.send(reply, port, address, () => {})
    })
  }

  /** RFC 1035 §4.2.2: each message with its length before it. */
  async serveStream(client: Socket, ms: number): Promise<void> {
    for (;;) {
      const read = await readHeld(client, { limit: LONGEST_QUERY, ms, take: wholeMessage })
      const reply = read.kind === 'read' ? this.#answer(read.bytes.subarray(2)) : undefined
      if (!reply) return void client.destroy()
      const length = Buffer.alloc(2)
      length.writeUInt16BE(reply.length)
      // Who asks and never reads would have us keep all the answers.
      if (!client.write(Buffer.concat([length, reply])) && !(await drained(client, ms)))
        return void client.destroy()
    }
  }

  #answer(query: Buffer): Buffer | undefined {
    const { reply, refused } = answerQuery(query, this.#names)
    if (refused !== undefined) {
      const { reason, wish } = denyName(refused)
      this.#journal.open({ kind: 'name', host: refused, port: undefined }).finish({ reason, wish })
    }
    return reply
  }
}

/** False when it took too long, or the client has left. */
const drained = (client: Socket, ms: number): Promise<boolean> =>
  new Promise((done) => {
    const finish = (isDrained: boolean): void => {
      clearTimeout(timer)
      client.off('drain', onDrain).off('close', onClose)
      done(isDrained)
    }
    const onDrain = (): void => finish(true)
    const onClose = (): void => finish(false)
    const timer = setTimeout(finish, ms, false)
    client.on('drain', onDrain).on('close', onClose)
    if (client.destroyed) finish(false)
  })

const LONGEST_QUERY = 2 + 512
const wholeMessage = (bytes: Buffer): number | undefined =>
  bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0) ? 2 + bytes.readUInt16BE(0) : undefined

interface Answer {
  /** Undefined where the packet is no question, so that there is nobody to answer. */
  readonly reply: Buffer | undefined
  /** A host that somebody wanted the address of, and that no rule allows. */
  readonly refused?: HostName
}

/** RFC 1035 §4, one question. Pure; never longer than the question by more than one address. */
export function answerQuery(query: Buffer, names: ReadonlyMap<HostName, string>): Answer {
  if (query.length < HEADER || (query[2]! & IS_REPLY) !== 0) return { reply: undefined }
  const question = readQuestion(query)
  if (!question) return { reply: replyTo(query, HEADER, FORMAT_ERROR) }
  const { labels, type, end } = question
  if ((query[2]! & OPCODE) !== 0) return { reply: replyTo(query, end, NOT_IMPLEMENTED) }
  // What is no host name is not found.
  const host = labels.every((label) => /^[!-~]+$/.test(label)) ? parseHost(labels.join('.')) : undefined
  const address =
    host === undefined ? undefined : (names.get(host) ?? (host === 'localhost' ? '127.0.0.1' : undefined))
  if (address !== undefined) return { reply: replyTo(query, end, NO_ERROR, type === A ? address : undefined) }
  const wanted = host !== undefined && (type === A || type === AAAA) && !host.endsWith('.arpa')
  return { reply: replyTo(query, end, NO_SUCH_NAME), ...(wanted ? { refused: host } : {}) }
}

const HEADER = 12
const [A, AAAA, INTERNET] = [1, 28, 1]
const [IS_REPLY, OPCODE, RECURSION_DESIRED] = [0x80, 0x78, 0x01]
const AUTHORITATIVE = 0x04
const RECURSION_AVAILABLE = 0x80
const [NO_ERROR, FORMAT_ERROR, NO_SUCH_NAME, NOT_IMPLEMENTED] = [0, 1, 3, 4]

interface Question {
  readonly labels: readonly string[]
  readonly type: number
  readonly end: number
}

/** Exactly one question, without pointers: nothing stands before it that one could point to. */
function readQuestion(query: Buffer): Question | undefined {
  if (query.readUInt16BE(4) !== 1) return undefined
  const labels: string[] = []
  let at = HEADER
  for (let length = query[at]; length !== 0; length = query[at]) {
    if (length === undefined || length > 63 || at + 1 + length >= query.length || at > HEADER + 254)
      return undefined
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  const end = at + 5
  if (end > query.length || query.readUInt16BE(at + 3) !== INTERNET) return undefined
  return { labels, type: query.readUInt16BE(at + 1), end }
}

function replyTo(query: Buffer, end: number, code: number, address?: string): Buffer {
  const head = Buffer.from(query.subarray(0, end))
  head[2] = IS_REPLY | (head[2]! & (OPCODE | RECURSION_DESIRED)) | AUTHORITATIVE
  head[3] = RECURSION_AVAILABLE | code
  head.writeUInt16BE(end > HEADER ? 1 : 0, 4)
  head.fill(0, 6, HEADER)
  if (address === undefined) return head
  head.writeUInt16BE(1, 6)
  const record = [0xc0, HEADER, 0, A, 0, INTERNET, 0, 0, 0, 60, 0, 4, ...address.split('.').map(Number)]
  return Buffer.concat([head, Buffer.from(record)])
}
