import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import type { Serving } from '../src/http/serve.ts'
import { PageKey } from './page-key.ts'

/** A passkey in software: what a browser and a device send, without either. */
export class SoftPasskey {
  readonly id: string
  readonly #key: KeyObject
  readonly #cose: Buffer

  constructor(id: string = randomBytes(32).toString('base64url')) {
    this.id = id
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
    const [left, right] = [x, y].map((part) => bytes(Buffer.from(part, 'base64url')))
    this.#cose = Buffer.concat([
      head(5, 5),
      int(1),
      int(2),
      int(3),
      int(-7),
      int(-1),
      int(1),
      int(-2),
      left!,
      int(-3),
      right!,
    ])
  }

  /** `client`: what else its browser says. */
  create(options: Options, origin: string, client: object = {}): object {
    const id = Buffer.from(this.id, 'base64url')
    const length = Buffer.alloc(2)
    length.writeUInt16BE(id.length)
    const data = Buffer.concat([
      authenticatorData(options.rp!.id, 0x45),
      Buffer.alloc(16),
      length,
      id,
      this.#cose,
    ])
    const attestation = [
      head(5, 3),
      text('fmt'),
      text('none'),
      text('attStmt'),
      head(5, 0),
      text('authData'),
      bytes(data),
    ]
    return this.#answer({
      clientDataJSON: clientData('create', options, origin, client).toString('base64url'),
      attestationObject: Buffer.concat(attestation).toString('base64url'),
      transports: ['internal'],
    })
  }

  sign(options: Options, origin: string, more: object = {}): object {
    const client = clientData('get', options, origin, more)
    const data = authenticatorData(options.rpId!, 0x05)
    const signature = createSign('sha256').update(data).update(sha256(client)).sign(this.#key)
    return this.#answer({
      clientDataJSON: client.toString('base64url'),
      authenticatorData: data.toString('base64url'),
      signature: signature.toString('base64url'),
    })
  }

  #answer(response: object): object {
    return { id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response }
  }
}

interface Options {
  readonly challenge: string
  readonly rp?: { readonly id: string }
  readonly rpId?: string
}

const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest()
const clientData = (what: 'create' | 'get', { challenge }: Options, origin: string, more: object): Buffer =>
  Buffer.from(JSON.stringify({ type: `webauthn.${what}`, challenge, origin, crossOrigin: false, ...more }))
const authenticatorData = (rpId: string, flags: number): Buffer =>
  Buffer.concat([sha256(rpId), Buffer.from([flags]), Buffer.alloc(4)])

/** CBOR, as much of it as a passkey speaks. */
const head = (major: number, n: number): Buffer =>
  n < 24
    ? Buffer.from([(major << 5) | n])
    : n < 256
      ? Buffer.from([(major << 5) | 24, n])
      : Buffer.from([(major << 5) | 25, n >> 8, n & 255])
const int = (n: number): Buffer => (n >= 0 ? head(0, n) : head(1, -1 - n))
const bytes = (data: Buffer): Buffer => Buffer.concat([head(2, data.length), data])
const text = (value: string): Buffer => Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)])

export interface Told {
  readonly status: number
  // oxlint-disable-next-line no-explicit-any
  readonly body: any
}

/** What the console's page does, without a browser. */
export class ConsoleUser {
  readonly passkey: SoftPasskey
  readonly #serving: Serving
  cookie = ''
  key: PageKey
  /** Of the provider, as far as we have heard. */
  processes = ''

  constructor(serving: Serving, passkey: SoftPasskey = new SoftPasskey()) {
    this.#serving = serving
    this.key = new PageKey(serving.origin)
    this.passkey = passkey
  }

  /** As the page: what is for another process is signed once more. */
  async ask(path: string, body?: unknown, more: Readonly<Record<string, string>> = {}): Promise<Told> {
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const method = sent === undefined ? 'GET' : 'POST'
    const target = `/console/api/${path}`
    const signed = (): Record<string, string> =>
      this.key.headers(this.processes, method, target, sent, more['x-cordon-present'])
    const told = await this.send(target, sent, { ...signed(), ...more })
    if (told.body.error?.code !== 'other_process') return told
    return this.send(target, sent, { ...signed(), ...more })
  }

  /** Just so. `node:http`, because `fetch` sets its own Host. */
  send(target: string, sent: string | undefined, more: Readonly<Record<string, string>>): Promise<Told> {
    const { origin, url } = this.#serving
    const headers = {
      host: new URL(origin).host,
      origin,
      ...(this.cookie === '' ? {} : { cookie: this.cookie }),
      ...(sent === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
      ...more,
    }
    return new Promise((done, failed) => {
      const asking = request(new URL(target, url), { method: sent === undefined ? 'GET' : 'POST', headers })
      asking.on('error', failed)
      asking.on('response', (answer) => {
        const given = answer.headers['set-cookie']?.[0]
        if (given !== undefined) this.cookie = given.split(';', 1)[0]!
        this.processes = String(answer.headers['x-cordon-process'])
        let said = ''
        answer.setEncoding('utf8').on('data', (piece: string) => (said += piece))
        answer.on('end', () => done({ status: answer.statusCode!, body: JSON.parse(said) }))
      })
      asking.end(sent)
    })
  }

  /** `link` as the command line prints it. */
  async register(link: string, name: string, client?: object): Promise<Told> {
    const secret = new URL(link).hash.slice(1)
    const asked = await this.ask('register/options', { link: secret, name })
    if (asked.status !== 200) return asked
    const { ceremony, options } = asked.body
    const response = this.passkey.create(options, this.#serving.origin, client)
    return this.ask('register', { link: secret, name, ceremony, response })
  }

  async signIn(): Promise<Told> {
    return this.ask('sign-in', await this.answer('sign-in/options'))
  }

  /** To a question of the provider's. */
  async answer(question: string, client?: object): Promise<{ ceremony: string; response: object }> {
    const { ceremony, options } = (await this.ask(question, {})).body
    return { ceremony, response: this.passkey.sign(options, this.#serving.origin, client) }
  }

  async approve(id: string): Promise<Told> {
    return this.ask(`approvals/${id}/approve`, await this.answer(`approvals/${id}/question`))
  }
}
