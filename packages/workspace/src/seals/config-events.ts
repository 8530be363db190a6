import { isDeepStrictEqual } from 'node:util'
import { UnreadableConversationError } from '../conversation/errors.ts'
import { readLog } from '../conversation/log-reader.ts'
import { assertInPlace, type ConversationRef, eventsFile } from '../conversation/shelf.ts'
import { type Workspace } from '../place/workspace.ts'
import { type JsonObject } from '../resources/resource.ts'
import { type ChainEnd, NO_SEALS, verifyLine } from './chain.ts'
import { readKey } from './key.ts'
import { type Ledger, readLedger } from './ledger.ts'

/** SPEC 2.1: the configuration events of a conversation, by whose word they are. */
export interface ConfigEvents {
  /** What this user sealed, in order: all of it, or nothing. */
  readonly sealed: readonly JsonObject[]
  /** Everything else, in order: the word of whoever wrote the file. */
  readonly foreign: readonly JsonObject[]
  /** What was sealed and is not there any more. Then nothing is `sealed`, and what is left of it is foreign. */
  readonly lost: ChainEnd | undefined
  /** The seals of the sealed ones. */
  readonly seals: readonly string[]
}

/** Needs no lock: what a writer did meanwhile shows in the ledger, and then it is read again. */
export async function readConfigEvents(
  workspace: Pick<Workspace, 'local'>,
  ref: ConversationRef,
): Promise<ConfigEvents> {
  assertInPlace(ref)
  for (let attempt = 0; attempt < 50; attempt++) {
    const ledger = await readLedger(workspace, ref)
    const found = await scan(workspace, ref, ledger)
    if (isDeepStrictEqual(await readLedger(workspace, ref), ledger)) return judge(found, ledger)
  }
  throw new UnreadableConversationError(eventsFile(ref), 'it is being changed all the time; try again')
}

interface Candidate {
  readonly delta: JsonObject
  /** Where the chain is after it; undefined when it is not sealed as the next of the chain. */
  readonly end: ChainEnd | undefined
}

async function scan(
  workspace: Pick<Workspace, 'local'>,
  ref: ConversationRef,
  { count, next }: Ledger,
): Promise<Candidate[]> {
  const key = count === 0 && !next ? undefined : await readKey(workspace)
  const found: Candidate[] = []
  let chain = NO_SEALS
  for await (const { event, bytes } of readLog(eventsFile(ref), { tooLong: 'note' })) {
    if (event.kind !== 'config') continue
    const end = key && verifyLine(key, ref, chain, bytes)
    chain = end ?? chain
    found.push({ delta: event.delta, end })
  }
  return found
}

/** The ledger says where the chain ends. A seal beyond that, or another chain than that, counts for nothing. */
function judge(found: readonly Candidate[], ledger: Ledger): ConfigEvents {
  const reaches = (wanted: ChainEnd): boolean =>
    wanted.count === 0 || found.some(({ end }) => end?.count === wanted.count && end.last === wanted.last)
  const { count, last, next } = ledger
  const end = [next, { count, last }].find((each) => each && reaches(each))
  const isSealed = (each: Candidate): boolean =>
    end !== undefined && each.end !== undefined && each.end.count <= end.count
  const deltas = (some: readonly Candidate[]): JsonObject[] => some.map(({ delta }) => delta)
  return {
    sealed: deltas(found.filter(isSealed)),
    foreign: deltas(found.filter((each) => !isSealed(each))),
    lost: end ? undefined : { count, last },
    seals: found.filter(isSealed).map((each) => each.end!.last),
  }
}
