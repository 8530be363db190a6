import { isIP } from 'node:net'
import { CordonError, show } from '@cordon/policy'

/** Where a browser finds this provider. Passkeys, cookies and every request of the console are held to it. */
export interface Site {
  /** `https://files.example.com`, `http://localhost:7420` */
  readonly origin: string
  /** What a browser sends as `Host`. */
  readonly host: string
  /** What passkeys are made for. */
  readonly rpId: string
  readonly secure: boolean
}

export class SiteError extends CordonError {
  readonly code = 'ORIGIN'
}

/** SPEC 7.5: a host name, because WebAuthn takes no address; and TLS, because browsers sign for nothing else but localhost. */
export function parseSite(text: string): Site {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0)
    throw new SiteError(
      `passkeys cannot be made for an address such as ${url.hostname}: use a host name, or http://localhost:${url.port || '80'}`,
    )
  if (
    !url ||
    (url.protocol !== 'http:' && url.protocol !== 'https:') ||
    url.origin !== text.replace(/\/$/, '')
  )
    throw new SiteError(`${show(text)} is not an origin: write https://files.example.com, without a path`)
  const { origin, host, hostname, protocol } = url
  const secure = protocol === 'https:'
  if (!secure && hostname !== 'localhost')
    throw new SiteError(`browsers use passkeys over https only, or on localhost: write https://${host}`)
  return { origin, host, rpId: hostname, secure }
}
