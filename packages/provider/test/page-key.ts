import { generateKeyPairSync, hash, type KeyObject, randomUUID, sign } from 'node:crypto'

/** The key of a console's page, without a browser. */
export class PageKey {
  readonly shown: string
  readonly #key: KeyObject
  /** Of the page that has it. */
  origin: string

  constructor(origin: string) {
    this.origin = origin
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
    const point = [Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
    this.shown = Buffer.concat(point).toString('base64url')
  }

  /** Of a new request, every time. */
  headers(
    processes: string,
    method: string,
    target: string,
    body = '',
    present = '',
  ): Record<string, string> {
    const nonce = randomUUID()
    const said = [processes, this.origin, nonce, present, method, target, hash('sha256', body, 'base64url')]
    const text = Buffer.from(['cordon console 2', ...said].join('\n'))
    const signed = sign('sha256', text, { key: this.#key, dsaEncoding: 'ieee-p1363' })
    return {
      'x-cordon-key': this.shown,
      'x-cordon-processes': processes,
      'x-cordon-nonce': nonce,
      'x-cordon-present': present,
      'x-cordon-signature': signed.toString('base64url'),
    }
  }
}
