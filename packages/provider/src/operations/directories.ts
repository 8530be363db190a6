import { isTempName } from '@cordon/files'
import { splitEntry } from '@cordon/policy'
import { MOST_OUTPUT_BYTES } from './capped.ts'
import { requireSignedAnswer } from './content.ts'
import type { Operation } from './operation.ts'
import type { Place } from '../pipeline/places.ts'

export const listDirectory: Operation<'/filesystem/dir/list'> = {
  meaning: 'object',
  changes: false,
  run: (work) => {
    const value = listOf(work.place)
    requireSignedAnswer(work, value)
    return Promise.resolve({ answer: { kind: 'json', value }, before: { entries: value.entries.length } })
  },
}

export interface Listing {
  readonly entries: readonly { readonly name: string; readonly kind: string }[]
  readonly truncated: boolean
  readonly unnameable: number
}

export function listOf({ anchor, inside }: Place): Listing {
  const found = anchor.listSome(inside, { entries: MOST_ENTRIES, bytes: MOST_OUTPUT_BYTES - 1024 })
  const entries = found.entries
    .flatMap(({ name, kind }) => (name === undefined || isTempName(name) ? [] : [{ name, kind }]))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  // Names that are not UTF-8 cannot be asked for; they are counted, so that nobody takes it for all.
  const unnameable = found.entries.filter(({ bytes }) => bytes !== undefined).length
  return { entries, truncated: found.truncated, unnameable }
}

const MOST_ENTRIES = 100_000

export const makeDirectory: Operation<'/filesystem/dir/create'> = {
  meaning: 'object',
  changes: true,
  run: async ({ args, place }) => {
    if (args.parents) {
      const parent = splitEntry(place.inside)?.parent
      if (parent !== undefined) place.anchor.mkdirp(parent)
    }
    place.anchor.mkdir(place.inside)
    return Promise.resolve({
      answer: { kind: 'json', value: { created: place.path } },
      after: { entries: 0 },
    })
  },
}
