import { FileError } from '@cordon/files'
import { Refusal } from '../errors.ts'
import { requireMatch, stateOf } from './content.ts'
import type { Operation } from './operation.ts'
import { parentOf } from './transfer.ts'

/** SPEC 7.2: the entry goes; of a link the link, never its target. */
export const deleteFile: Operation<'/filesystem/file/delete'> = {
  meaning: 'entry',
  changes: true,
  run: async (work) => {
    const { args, place, deadline } = work
    const { stat, anchor, inside } = place
    const before = await stateOf(place, deadline, args.if_match === undefined ? 'if small enough' : 'always')
    requireMatch(args.if_match, before, work)
    try {
      // Hashing took its time; what goes is what was looked at.
      anchor.unlink(inside, stat ? { version: stat.version } : {})
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== 'FILE_CHANGED') throw error
      throw new Refusal('changed', 'it was changed meanwhile; nothing was removed')
    }
    anchor.sync(parentOf(inside))
    return { answer: { kind: 'json', value: { deleted: place.path } }, ...(before ? { before } : {}) }
  },
}

export const deleteDirectory: Operation<'/filesystem/dir/delete'> = {
  meaning: 'entry',
  changes: true,
  run: ({ place }) => {
    place.anchor.rmdir(place.inside)
    place.anchor.sync(parentOf(place.inside))
    return Promise.resolve({
      answer: { kind: 'json', value: { deleted: place.path } },
      before: { entries: 0 },
    })
  },
}
