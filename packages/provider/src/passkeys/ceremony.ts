import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import { ConsoleRefusal } from '../console/errors.ts'
import type { Site } from '../console/site.ts'
import type { Database } from '../storage/database.ts'
import type { PasskeysTable } from '../storage/schema.ts'
import { findChallenge, makeChallenge, type Purpose, useChallenge } from './challenges.ts'
import { listPasskeys } from './passkeys.ts'

/** Loaded when a passkey is first used: it brings a parser of certificates, and most commands need none. */
const library = (): Promise<typeof import('@simplewebauthn/server')> => import('@simplewebauthn/server')

/** Ed25519, ES256, RS256: named, because to find out more the library tries what Node calls experimental. */
const supportedAlgorithmIDs = [-8, -7, -257]

/** Where and when a passkey is asked. */
export interface Ceremony {
  readonly database: Database
  readonly site: Site
  readonly now: number
}

export interface RegistrationQuestion {
  readonly ceremony: string
  readonly options: PublicKeyCredentialCreationOptionsJSON
}

export interface SigningQuestion {
  readonly ceremony: string
  readonly options: PublicKeyCredentialRequestOptionsJSON
}

export async function askRegistration(
  { database, site, now }: Ceremony,
  subject: string,
  userName: string,
): Promise<RegistrationQuestion> {
  const { ceremony, challenge } = await makeChallenge(database, 'register', subject, now)
  const known = (await listPasskeys(database)).filter(({ rpId }) => rpId === site.rpId)
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: 'Cordon',
    rpID: site.rpId,
    userName,
    challenge: Buffer.from(challenge, 'base64url'),
    attestationType: 'none',
    supportedAlgorithmIDs,
    excludeCredentials: known.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
  })
  return { ceremony, options }
}

/** The new passkey, not yet stored. */
export async function verifyRegistration(
  { database, site, now }: Ceremony,
  subject: string,
  ceremony: string,
  response: unknown,
): Promise<Omit<PasskeysTable, 'name'>> {
  const challenge = await findChallenge(database, 'register', subject, ceremony, now)
  if (challenge === undefined) throw tooLate()
  const { verifyRegistrationResponse } = await library()
  const made = response as RegistrationResponseJSON
  const verified = await verifyRegistrationResponse({
    response: made,
    expectedChallenge: challenge,
    expectedOrigin: site.origin,
    expectedRPID: site.rpId,
    requireUserVerification: true,
    supportedAlgorithmIDs,
  }).catch(refused)
  if (!verified.verified || !isTopLevel(made.response)) throw unverified()
  if (!(await useChallenge(database, ceremony, now))) throw tooLate()
  const { credential } = verified.registrationInfo
  return {
    id: credential.id,
    public_key: Buffer.from(credential.publicKey).toString('base64url'),
    counter: credential.counter,
    transports: JSON.stringify(credential.transports ?? []),
    rp_id: site.rpId,
    created_at: now,
    used_at: now,
  }
}

export async function askSignature(
  { database, site, now }: Ceremony,
  purpose: Exclude<Purpose, 'register'>,
  subject: string,
): Promise<SigningQuestion> {
  const rows = await database.queries
    .selectFrom('passkeys')
    .select(['id', 'transports'])
    .where('rp_id', '=', site.rpId)
    .execute()
  const { ceremony, challenge } = await makeChallenge(database, purpose, subject, now)
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: site.rpId,
    challenge: Buffer.from(challenge, 'base64url'),
    userVerification: 'required',
    allowCredentials: rows.map(({ id, transports }) => ({
      id,
      transports: JSON.parse(transports) as string[],
    })),
  })
  return { ceremony, options }
}

export interface Signed {
  readonly passkey: string
  readonly name: string
  /** All that is needed to check it again, for the record. */
  readonly evidence: Readonly<Record<'ceremony' | 'client_data' | 'authenticator_data' | 'signature', string>>
}

/** SPEC 7.5: a known passkey, with user verification, for this site, over exactly this question, once. */
export async function verifySignature(
  { database, site, now }: Ceremony,
  purpose: Exclude<Purpose, 'register'>,
  subject: string,
  ceremony: string,
  answer: { readonly id: string },
): Promise<Signed> {
  const challenge = await findChallenge(database, purpose, subject, ceremony, now)
  if (challenge === undefined) throw tooLate()
  const response = answer as AuthenticationResponseJSON
  const row = await database.queries
    .selectFrom('passkeys')
    .selectAll()
    .where('id', '=', response.id)
    .executeTakeFirst()
  if (!row)
    throw new ConsoleRefusal(
      'passkey_refused',
      'this provider does not know that passkey: it was removed on the host, or made for another provider; `cordon provider passkey add` there prints a link for a new one',
    )
  const { verifyAuthenticationResponse } = await library()
  const verified = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challenge,
    expectedOrigin: site.origin,
    expectedRPID: site.rpId,
    requireUserVerification: true,
    credential: {
      id: row.id,
      publicKey: Buffer.from(row.public_key, 'base64url'),
      counter: row.counter,
    },
  }).catch(refused)
  if (!verified.verified || !isTopLevel(response.response)) throw unverified()
  if (!(await useChallenge(database, ceremony, now))) throw tooLate()
  await database.queries
    .updateTable('passkeys')
    .set({ counter: verified.authenticationInfo.newCounter, used_at: now })
    .where('id', '=', row.id)
    .execute()
  const { clientDataJSON, authenticatorData, signature } = response.response
  return {
    passkey: row.id,
    name: row.name,
    evidence: { ceremony, client_data: clientDataJSON, authenticator_data: authenticatorData, signature },
  }
}

/** Not asked for in a frame of somebody else's page, which the library lets pass; browsers of before say nothing of it. */
function isTopLevel({ clientDataJSON }: { readonly clientDataJSON: string }): boolean {
  const client = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as Record<string, unknown>
  return (client['crossOrigin'] ?? false) === false && client['topOrigin'] === undefined
}

const tooLate = (): ConsoleRefusal =>
  new ConsoleRefusal(
    'too_late',
    'this signature answers a question that is not open any more, or never was; try again',
  )

const unverified = (): ConsoleRefusal =>
  new ConsoleRefusal(
    'passkey_refused',
    'the signature does not fit: it is for something else, from another place, or without a check that it is you',
  )

/** The library says what differs, in its own words; a person needs to know that it does not count. */
const refused = (): never => {
  throw unverified()
}
