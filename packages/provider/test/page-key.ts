import { generateKeyPairSync, hash, type KeyObject, sign } from 'node:crypto'

/** The key of a console's page, without a browser. */
export class PageKey {
  readonly shown: string
  readonly #key: KeyObject

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#key = privateKey
    const { x, y } = publicKey.export({ format: 'jwk' }) as { x: string; y: string }
    const point = [Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]
    this.shown = Buffer.concat(point).toString('base64url')
  }

  headers(processes: string, method: string, target: string, body = ''): Record<string, string> {
    const text = ['cordon console 1', processes, method, target, hash('sha256', body, 'base64url')].join('\n')
    const signed = sign('sha256', Buffer.from(text), { key: this.#key, dsaEncoding: 'ieee-p1363' })
    return {
      'x-cordon-key': this.shown,
      'x-cordon-processes': processes,
      'x-cordon-signature': signed.toString('base64url'),
    }
  }
}
