import { posix } from 'node:path'
import { isTempName } from '@cordon/files'
import { ROOT, show, splitEntry } from '@cordon/policy'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { Capped } from './capped.ts'
import { requireSignedAnswer } from './content.ts'
import type { Operation, Work } from './operation.ts'
import { type Place, statOf } from '../pipeline/places.ts'

export const listDirectory: Operation<'/filesystem/dir/list'> = {
  meaning: 'object',
  changes: false,
  run: async (work) => {
    const value = await listOf(work)
    requireSignedAnswer(work, value)
    return { answer: { kind: 'json', value }, before: { entries: value.entries.length } }
  },
}

export interface Listing {
  readonly entries: readonly { readonly name: string; readonly kind: string }[]
  readonly truncated: boolean
  readonly unnameable: number
}

/** SPEC 7.3: capped, and no more of the directory is read than that. */
export async function listOf({
  place,
  deadline,
}: Pick<Work<Command>, 'place' | 'deadline'>): Promise<Listing> {
  const entries = new Capped<{ name: string; kind: string }>()
  let [seen, unnameable] = [0, 0]
  for (const { name, kind } of place.anchor.entries(place.inside)) {
    if (++seen > MOST_ENTRIES) entries.truncated = true
    if (seen % A_TURN === 0) await deadline.breathe()
    // Names that are not UTF-8 cannot be asked for; they are counted, so that nobody takes it for all.
    if (name === undefined) unnameable++
    else if (!isTempName(name)) entries.add({ name, kind })
    if (entries.truncated) break
  }
  entries.items.sort((a, b) => (a.name < b.name ? -1 : 1))
  return { entries: entries.items, truncated: entries.truncated, unnameable }
}

/** Others have their turn after so many entries. */
const A_TURN = 500
const MOST_ENTRIES = 100_000

/** With so many above it, at most: the policy is asked about each, and each is recorded. */
const MOST_MADE = 64

export const makeDirectory: Operation<'/filesystem/dir/create'> = {
  meaning: 'object',
  changes: true,
  run: async (work) => {
    const { args, place } = work
    const above = args.parents ? makeAbove(work) : []
    try {
      place.anchor.mkdir(place.inside)
    } catch (error) {
      place.anchor.removeEmpty(above.map(({ inside }) => inside))
      throw error
    }
    const made = above.map(({ path }) => path)
    return Promise.resolve({
      answer: { kind: 'json', value: { created: place.path } },
      after: { entries: 0, ...(made.length > 0 ? { made } : {}) },
    })
  },
}

/** What was decided on, and no directory besides: one that was removed since is not made again without a word of the policy. */
function makeAbove(work: Work<'/filesystem/dir/create'>): Pick<Place, 'path' | 'inside'>[] {
  const { place, may, cosigned } = work
  const missing = missingAbove(place)
  for (const { path } of missing)
    if (!may('/filesystem/dir/create', { path, stat: undefined }, cosigned))
      throw new Refusal('policy_denied', `/filesystem/dir/create on ${show(path)}, which it needs`)
  const parent = splitEntry(place.inside)?.parent
  const made = parent === undefined ? [] : place.anchor.mkdirp(parent)
  const unasked = made.filter((each) => !missing.some(({ inside }) => inside === each))
  if (unasked.length === 0) return missing.filter(({ inside }) => made.includes(inside))
  place.anchor.removeEmpty(made)
  throw new Refusal('changed', 'a directory above it was removed meanwhile; ask again')
}

/** Directories that are made with the one that was asked for, the topmost first. */
export function missingAbove({ path, inside, anchor }: Place): Pick<Place, 'path' | 'inside'>[] {
  const missing: Pick<Place, 'path' | 'inside'>[] = []
  let [at, name] = [splitEntry(inside)?.parent, posix.dirname(path)]
  for (; at !== undefined && at !== ROOT && !statOf(anchor, at); at = splitEntry(at)?.parent) {
    missing.unshift({ path: name, inside: at })
    name = posix.dirname(name)
    if (missing.length > MOST_MADE)
      throw new Refusal(
        'bad_request',
        `more than ${MOST_MADE} directories above it are missing; make some first`,
      )
  }
  return missing
}
