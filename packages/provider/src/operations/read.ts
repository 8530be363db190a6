import { hash } from 'node:crypto'
import { Refusal } from '../errors.ts'
import { requireMatch, requireSignedVersion, SMALL_BYTES } from './content.ts'
import type { Operation } from './operation.ts'

/** Whole or a range, small ones at once and big ones piece by piece; memory does not grow with the file. */
export const readFile: Operation<'/filesystem/file/read'> = {
  meaning: 'object',
  changes: false,
  run: async (work) => {
    const { args, place, deadline } = work
    const file = place.anchor.open(place.inside)
    try {
      requireSignedVersion(work, file.stat.version)
      const { size } = file.stat
      const { start = 0, length: wanted = Number.MAX_SAFE_INTEGER } = args
      const length = Math.max(0, Math.min(wanted, size - start))
      // RFC 9110 14.1.2, 15.5.17: no answer says which part of a file no byte of it is.
      if (start > size || (length === 0 && size > 0))
        throw new Refusal('range_not_satisfiable', `there is no byte in that range: the file has ${size}`, {
          size,
        })
      const whole = size <= SMALL_BYTES ? file.readAll() : undefined
      const sha256 = whole
        ? hash('sha256', whole)
        : args.if_match === undefined
          ? undefined
          : (await file.content(async () => deadline.check())).sha256
      requireMatch(args.if_match, { bytes: size, ...(sha256 === undefined ? {} : { sha256 }) }, work)
      const content = whole?.subarray(start, start + length) ?? {
        pieces: file.pieces({ start, length }),
        stop: deadline.signal,
      }
      return {
        answer: { kind: 'content', content, start, length, size, sha256 },
        before: { bytes: length, ...(sha256 === undefined ? {} : { sha256 }) },
      }
    } finally {
      file.close() // unless its pieces have taken it over
    }
  },
}
