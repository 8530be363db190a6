import { posix } from 'node:path'
import { FileError, type MoveOptions } from '@cordon/files'
import { type RelPath, ROOT, show, splitEntry } from '@cordon/policy'
import { Refusal } from '../errors.ts'
import { type Place, statOf } from '../pipeline/places.ts'
import { isReplaced, mayKnowContent, signedVersion, stateOf } from './content.ts'
import { destinationExists } from './possible.ts'
import { type Done, HalfDone, type Operation, type Work } from './operation.ts'

type Transfer = Work<'/filesystem/file/move'> | Work<'/filesystem/file/copy'>

/** SPEC 7.2: never overwrites unless asked; of a link, the link is moved. Files only: a policy decides on one of them. */
export const moveFile: Operation<'/filesystem/file/move'> = {
  meaning: 'entry',
  changes: true,
  run: async (work) => {
    const { place, deadline } = work
    const to = targetOf(work)
    const before = await stateOf(place, deadline)
    try {
      // Hashing took its time; what goes is what was looked at. Never copied there: that would hold up everybody for as long.
      const source = place.stat ? { source: place.stat.version } : {}
      place.anchor.rename(place.inside, to.inside, { ...termsOf(work), ...source, across: 'refuse' })
    } catch (error) {
      if (!(error instanceof FileError) || error.code !== 'FILE_CROSS_DEVICE')
        throw aboutTarget(error, 'move', work)
      await moveByCopy(work, to, before).catch((thrown: unknown) => {
        throw aboutTarget(thrown, 'move', work)
      })
    }
    place.anchor.sync(parentOf(place.inside))
    place.anchor.sync(parentOf(to.inside))
    return moved({ moved: place.path, to: to.path }, before)
  },
}

/**
 * To another filesystem: the copy is whole and durable before the source goes. That takes its time, in which others are
 * served: what goes is what was copied, and whatever has its name by then stays.
 */
async function moveByCopy(work: Transfer, to: Place, before: Done['before']): Promise<void> {
  const { place, deadline } = work
  if (place.stat?.kind !== 'file') throw new Refusal('wrong_kind', 'only a file moves to another filesystem')
  const { version } = place.stat
  deadline.extendFor(place.stat.size)
  const { sha256, size } = await place.anchor.copy(place.inside, to.inside, {
    ...termsOf(work),
    source: version,
    signal: deadline.signal,
  })
  try {
    place.anchor.unlink(place.inside, { version })
  } catch (error) {
    const { code, why } = whyItStays(error, show(place.path))
    throw new HalfDone(code, `it was copied to ${show(to.path)}, and ${why}`, {
      ...(before ? { before } : {}),
      after: { sha256, bytes: size },
    })
  }
}

function whyItStays(error: unknown, source: string): { code: 'changed' | 'failed'; why: string } {
  if (error instanceof FileError && error.code === 'FILE_CHANGED')
    return { code: 'changed', why: `${source} was changed meanwhile: what is there now stays` }
  if (isReplaced(error) || (error instanceof FileError && error.code === 'FILE_NOT_DIRECTORY'))
    return {
      code: 'changed',
      why: `${source} is not there any more: somebody else moved or removed it meanwhile`,
    }
  const reason = error instanceof Error ? error.message : String(error)
  return { code: 'failed', why: `the source is still there: ${reason}` }
}

export const copyFile: Operation<'/filesystem/file/copy'> = {
  meaning: 'object',
  changes: true,
  run: async (work) => {
    const { place, deadline } = work
    const to = targetOf(work)
    const before = await stateOf(to, deadline)
    deadline.extendFor(place.stat?.size ?? 0) // decision 0154: a transfer, from here to here
    const { sha256, size } = await place.anchor
      .copy(place.inside, to.inside, { ...termsOf(work), signal: deadline.signal })
      .catch((error: unknown) => {
        throw aboutTarget(error, 'copy', work)
      })
    return {
      answer: {
        kind: 'json',
        value: { copied: place.path, to: to.path, size, ...(mayKnowContent(work) ? { sha256 } : {}) },
      },
      ...(before ? { before } : {}),
      after: { sha256, bytes: size },
    }
  },
}

/** Of two paths an error is about one: said is which, and what to do. */
function aboutTarget(error: unknown, verb: 'move' | 'copy', { place, destination }: Transfer): unknown {
  if (!(error instanceof FileError) || !destination) return error
  const subject = `cannot ${verb} ${show(place.path)}`
  const detail = { path: destination.path }
  if (error.code === 'FILE_EXISTS') return destinationExists(verb, place.path, destination.path)
  if (verb === 'move' && error.code === 'FILE_CHANGED')
    return new Refusal(
      'changed',
      `${subject}: it, or what it replaces, was changed meanwhile; nothing was moved`,
      {
        path: place.path,
      },
    )
  if (error.code === 'FILE_NOT_FOUND' && !statOf(place.anchor, place.inside))
    return new Refusal('not_found', `${subject}: it is not there any more`, { path: place.path })
  if (error.code === 'FILE_NOT_FOUND')
    return new Refusal(
      'not_found',
      `${subject}: there is no directory ${show(posix.dirname(destination.path))}`,
      detail,
    )
  return error
}

function targetOf({ destination }: Transfer): Place {
  if (!destination) throw new Refusal('args_invalid', 'it needs a destination')
  return destination
}

/**
 * SPEC 7.2: what is replaced is what the delete decision was about, so a file that came since is not. What a person
 * signed for is replaced and moved as it was then, or not at all.
 */
function termsOf(work: Transfer): MoveOptions {
  const { args, destination, cosigned } = work
  const source = signedVersion(work)
  const there = args.overwrite === true ? destination?.stat : undefined
  return {
    replace: there ? 'file' : 'nothing',
    ...(there && cosigned ? { replaces: there.version } : {}),
    ...(source === undefined ? {} : { source }),
  }
}

export const parentOf = (path: RelPath): RelPath => splitEntry(path)?.parent ?? ROOT

const moved = (value: unknown, state: Done['before']): Done => ({
  answer: { kind: 'json', value },
  ...(state ? { before: state, after: state } : {}),
})
