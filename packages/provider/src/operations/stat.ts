import { Refusal } from '../errors.ts'
import { mayKnowContent, stateOf } from './content.ts'
import type { Operation } from './operation.ts'

export const statEntry: Operation<'/filesystem/file/stat'> = {
  meaning: 'object',
  changes: false,
  run: async (work) => {
    const { args, place, deadline } = work
    const { stat, path } = place
    if (!stat) throw new Refusal('not_found', 'there is nothing with that name')
    const state = args.hash && mayKnowContent(work) ? await stateOf(place, deadline, 'always') : undefined
    return {
      answer: {
        kind: 'json',
        value: {
          path,
          kind: stat.kind,
          size: stat.size,
          mode: stat.mode.toString(8).padStart(4, '0'),
          modified: new Date(stat.modifiedMs).toISOString(),
          ...(state?.sha256 === undefined ? {} : { sha256: state.sha256 }),
        },
      },
      ...(state ? { before: state } : {}),
    }
  },
}
