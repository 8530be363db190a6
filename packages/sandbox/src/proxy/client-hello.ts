/** What the first flight of a TLS client says about where it wants to go. */
export type ClientHello =
  | { readonly kind: 'partial' }
  | { readonly kind: 'broken' }
  | { readonly kind: 'hello'; readonly serverName: string | undefined }

/** RFC 8446 §4.1.2, over one or more records. Reads only what `bytes` holds; never throws. */
export function readClientHello(bytes: Buffer): ClientHello {
  const message = joinRecords(bytes)
  if (message === 'broken') return { kind: 'broken' }
  if (message.length < 4) return { kind: 'partial' }
  if (message[0] !== CLIENT_HELLO) return { kind: 'broken' }
  const length = message.readUIntBE(1, 3)
  if (message.length < 4 + length) return { kind: 'partial' }
  try {
    return { kind: 'hello', serverName: serverNameOf(new Reader(message.subarray(4, 4 + length))) }
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'broken' }
    throw error
  }
}

const HANDSHAKE = 22
const CLIENT_HELLO = 1

/** The records of the first message. What comes behind it, in one flight (RFC 8446 §D.4 and §2.3), says nothing about it. */
function joinRecords(bytes: Buffer): Buffer | 'broken' {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length && !isWhole(Buffer.concat(parts));) {
    if (bytes[at] !== HANDSHAKE) return 'broken'
    if (at + 1 < bytes.length && bytes[at + 1] !== 3) return 'broken'
    if (at + 5 > bytes.length) break
    const end = at + 5 + bytes.readUInt16BE(at + 3)
    parts.push(bytes.subarray(at + 5, end))
    at = end
  }
  return Buffer.concat(parts)
}

const isWhole = (message: Buffer): boolean =>
  message.length >= 4 && message.length >= 4 + message.readUIntBE(1, 3)

function serverNameOf(hello: Reader): string | undefined {
  hello.take(2 + 32)
  hello.vector(1)
  hello.vector(2)
  hello.vector(1)
  if (hello.empty) return undefined
  const extensions = new Reader(hello.vector(2))
  let name: string | undefined
  while (!extensions.empty) {
    const type = extensions.number(2)
    const body = new Reader(extensions.vector(2))
    if (type !== 0) continue
    const list = new Reader(body.vector(2))
    while (!list.empty) {
      const isHost = list.number(1) === 0
      const text = list.vector(2).toString('latin1')
      // RFC 6066: one name of a type. Two could be read either way.
      if (isHost && name !== undefined) throw new RangeError('two server names')
      if (isHost) name = text
    }
  }
  return name
}

class Reader {
  #bytes: Buffer
  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }
  get empty(): boolean {
    return this.#bytes.length === 0
  }
  take(length: number): Buffer {
    if (length > this.#bytes.length) throw new RangeError('shorter than it says')
    const taken = this.#bytes.subarray(0, length)
    this.#bytes = this.#bytes.subarray(length)
    return taken
  }
  number(width: number): number {
    return this.take(width).readUIntBE(0, width)
  }
  vector(width: number): Buffer {
    return this.take(this.number(width))
  }
}
