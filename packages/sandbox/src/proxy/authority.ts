import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'
import { type HostName } from '@cordon/policy'
import * as x509 from '@peculiar/x509'

/** SPEC 4.5: the certificate authority of one run. Its keys live in this object and nowhere else. */
export interface Authority {
  readonly certPem: string
  contextFor(host: HostName): Promise<SecureContext>
}

/** Loaded only when a rule needs interception: this module and its library cost more than the rest. */
export async function createAuthority(now: number): Promise<Authority> {
  const [keys, leafKeys] = await Promise.all([newKeys('kept'), newKeys('exported')])
  const validity = { notBefore: new Date(now - DAY), notAfter: new Date(now + 365 * DAY) }
  const ca = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=Cordon run ${randomBytes(8).toString('hex')}`,
    ...validity,
    keys,
    signingAlgorithm: SIGNING,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false),
    ],
  })
  const leafKey = x509.PemConverter.encode(
    await webcrypto.subtle.exportKey('pkcs8', leafKeys.privateKey),
    'PRIVATE KEY',
  )
  const issue = async (host: HostName): Promise<SecureContext> => {
    const bare = host.startsWith('[') ? host.slice(1, -1) : host
    const leaf = await x509.X509CertificateGenerator.create({
      serialNumber: serial(),
      subject: '',
      issuer: ca.subject,
      ...validity,
      publicKey: leafKeys.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: SIGNING,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        // The subject is empty, so RFC 5280 §4.2.1.6 wants this one critical.
        new x509.SubjectAlternativeNameExtension([{ type: isIP(bare) ? 'ip' : 'dns', value: bare }], true),
        await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey, false),
        await x509.SubjectKeyIdentifierExtension.create(leafKeys.publicKey, false),
      ],
    })
    return createSecureContext({ key: leafKey, cert: leaf.toString('pem'), minVersion: 'TLSv1.2' })
  }
  // Bounded by the rules: only hosts with a rule that needs it are ever asked for.
  const contexts = new Map<HostName, Promise<SecureContext>>()
  return {
    certPem: `${ca.toString('pem')}\n`,
    contextFor(host) {
      let context = contexts.get(host)
      if (!context) contexts.set(host, (context = issue(host)))
      return context
    },
  }
}

const DAY = 86_400_000
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' }

/** The authority's own key cannot be exported at all; the leaf's must be, because TLS takes it as PEM. */
const newKeys = (use: 'kept' | 'exported'): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, use === 'exported', ['sign', 'verify'])

/** Positive and never zero-led, as DER wants an integer. */
const serial = (): string => `4${randomBytes(15).toString('hex')}0`
