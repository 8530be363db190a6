import { isTempName } from '@cordon/files'
import { splitEntry } from '@cordon/policy'
import { MOST_OUTPUT_BYTES } from './capped.ts'
import type { Operation } from './operation.ts'

export const listDirectory: Operation<'/filesystem/dir/list'> = {
  meaning: 'object',
  changes: false,
  run: ({ place }) => {
    const found = place.anchor.listSome(place.inside, {
      entries: MOST_ENTRIES,
      bytes: MOST_OUTPUT_BYTES - 1024,
    })
    const entries = found.entries
      .flatMap(({ name, kind }) => (name === undefined || isTempName(name) ? [] : [{ name, kind }]))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
    // Names that are not UTF-8 cannot be asked for; they are counted, so that nobody takes it for all.
    const unnameable = found.entries.filter(({ bytes }) => bytes !== undefined).length
    return Promise.resolve({
      answer: { kind: 'json', value: { entries, truncated: found.truncated, unnameable } },
      before: { entries: entries.length },
    })
  },
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
