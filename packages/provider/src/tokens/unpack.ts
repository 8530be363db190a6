import { base32 } from 'multiformats/bases/base32'
import { CID } from 'multiformats/cid'
import { type Command, isCommand } from '../commands.ts'
import { malformed } from './cbor.ts'
import { decodeContainer } from './container.ts'
import { checkFields, checkNonce, MOST_LINKS, parseTime, tooDeep } from './delegation.ts'
import { cidTextOf, type Envelope, isMap, openEnvelope } from './envelope.ts'
import { type Did, parseDid } from './key.ts'
import { TokenError } from './refusal.ts'

/** A token taken apart: its shape is good, and nothing in it is to be believed yet. */
export interface Unpacked {
  readonly invocation: Envelope
  readonly cid: string
  /** In the order of the chain. */
  readonly proofs: readonly { readonly cid: string; readonly bytes: Uint8Array }[]
}

/** Exactly one invocation and exactly the proofs it names. */
export function unpack(token: string): Unpacked {
  const byCid = new Map(decodeContainer(token, MOST_LINKS + 1).map((bytes) => [cidTextOf(bytes), bytes]))
  const invocations = [...byCid].filter(([, bytes]) => isInvocation(bytes))
  const [first] = invocations
  if (!first || invocations.length > 1) throw malformed('it does not hold exactly one invocation')
  const [cid, bytes] = first
  const invocation = openEnvelope(bytes)
  const names = readProofs(invocation.payload['prf'])
  byCid.delete(cid)
  const proofs = names.map((name) => ({ cid: name, bytes: byCid.get(name) }))
  if (
    proofs.some((proof) => !proof.bytes) ||
    new Set(names).size !== byCid.size ||
    names.length !== byCid.size
  )
    throw new TokenError(
      'token_broken_chain',
      'it does not hold exactly the delegations that the invocation names',
    )
  return { invocation, cid, proofs: proofs as Unpacked['proofs'] }
}

/**
 * By where the tag is in a canonical envelope of ours, so that remembered delegations are not decoded to
 * find the invocation among them. Only a guess of who is who: both are read in full later.
 */
const isInvocation = (bytes: Uint8Array): boolean => TAG.every((byte, i) => bytes[TAG_AT + i] === byte)

const TAG = Buffer.from('ucan/inv@')
/** After the array, 64 bytes of signature, the map, `h` with its 8 bytes, and the head of the tag. */
const TAG_AT = 1 + 66 + 1 + 2 + 9 + 1

function readProofs(value: unknown): string[] {
  if (!Array.isArray(value)) throw malformed('the invocation names no proofs')
  if (value.length > MOST_LINKS) throw tooDeep()
  return value.map((each) => {
    const cid = CID.asCID(each)
    if (!cid) throw malformed('a proof is named by something else than a CID')
    return base32.encode(cid.bytes)
  })
}

/** What an invocation asks for. Times are seconds since 1970. */
export interface Use {
  readonly agent: Did
  readonly command: Command
  readonly args: Readonly<Record<string, unknown>>
  readonly nonce: Uint8Array
  readonly expires: number
  readonly notBefore: number | undefined
  readonly subject: Did
  readonly audience: Did
}

export function readUse({ payload, issuer: agent }: Envelope): Use {
  checkFields(payload, INVOCATION_FIELDS)
  const { cmd, args, nonce, exp, nbf, sub, aud = sub } = payload
  checkNonce(nonce)
  if (!isMap(args)) throw malformed('the arguments are not a map')
  if (typeof cmd !== 'string' || !isCommand(cmd))
    throw new TokenError(
      'token_command_not_covered',
      'the invocation is for a command that this provider has not',
    )
  return {
    agent,
    command: cmd,
    args,
    nonce,
    expires: parseTime(exp),
    notBefore: nbf === undefined ? undefined : parseTime(nbf),
    subject: parseDid(sub),
    audience: parseDid(aud),
  }
}

/** `cause` and `meta` say nothing that restricts; they are carried and not read. */
const INVOCATION_FIELDS: ReadonlySet<string> = new Set([
  'iss',
  'aud',
  'sub',
  'cmd',
  'args',
  'prf',
  'nonce',
  'exp',
  'nbf',
  'iat',
  'cause',
  'meta',
])
