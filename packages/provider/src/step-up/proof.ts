import type { Kysely } from 'kysely'
import { parseBody } from '../audit/read.ts'
import { type AuditBody, hashOf } from '../audit/record.ts'
import type { Schema } from '../storage/schema.ts'
import { type Did, isSignedBy, type SigningKey } from '../tokens/key.ts'

/** The event that says who gave an approval. */
export const APPROVAL_GIVEN = 'approval given'

interface Cosigned {
  readonly id: string
  readonly binding: string
  /** The signer's DID and the signature. */
  readonly proof: string | null
}

const signedText = ({ id, binding }: Pick<Cosigned, 'id' | 'binding'>): Buffer =>
  Buffer.from(`cordon cosign 1\n${id}\n${binding}\n`)

/** The provider's own signature, also where a person signed with a passkey: that one is in the record (decision 0188). */
export const cosign = (key: SigningKey, about: Pick<Cosigned, 'id' | 'binding'>): string =>
  `${key.did} ${Buffer.from(key.sign(signedText(about))).toString('base64url')}`

export function isCosigned(about: Cosigned, signers: ReadonlySet<string>): boolean {
  const [signer = '', signature = ''] = (about.proof ?? '').split(' ')
  return (
    signers.has(signer) && isSignedBy(signer as Did, signedText(about), Buffer.from(signature, 'base64url'))
  )
}

/** What the trail says of an approval that was given. */
export interface Given {
  readonly approval: string
  readonly binding: string
  /** Undefined: somebody else wrote the record, and it fits nothing. */
  readonly proof: string | undefined
  /** Undefined: at the host's terminal. */
  readonly passkey: string | undefined
}

export function givenIn(body: AuditBody | null | undefined): Given | undefined {
  if (body?.kind !== 'event' || body.name !== APPROVAL_GIVEN) return undefined
  const { approval, binding, proof, passkey } = body.detail
  return {
    approval: String(approval),
    binding: String(binding),
    proof: textOf(proof),
    passkey: textOf(passkey),
  }
}

/** Whatever else it is, somebody else wrote it, and it fits nothing. */
const textOf = (value: unknown): string | undefined =>
  value === undefined || typeof value === 'string' ? value : ''

/** By the number of its record; undefined when that is not what was written. */
export async function readGiven(
  { queries }: { readonly queries: Kysely<Schema> },
  seq: number,
): Promise<Given | undefined> {
  const row = await queries.selectFrom('audit_records').selectAll().where('seq', '=', seq).executeTakeFirst()
  return row && hashOf(seq, row.prev, row.body) === row.hash ? givenIn(parseBody(row.body)) : undefined
}
