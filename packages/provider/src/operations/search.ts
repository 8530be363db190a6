import { isTempName } from '@cordon/files'
import { type RelPath } from '@cordon/policy'
import { Capped } from './capped.ts'
import { TextFinder } from './finder.ts'
import { changedSinceFound } from './content.ts'
import type { Operation, Work } from './operation.ts'
import { absolute, mayEnter, surveyTree, type TreeChecks, type TreeSurvey } from './tree.ts'

/** Larger files are counted as skipped. */
const MOST_SEARCHED_BYTES = 8 * 1024 * 1024
const LONGEST_LINE = 500
/** Others have their turn after so many lines. */
const A_TURN = 10_000

interface Match {
  readonly path: string
  readonly line: number
  readonly text: string
}

/**
 * A text in files, a file or everything below a directory. Each file is asked for on its own, since a match shows content;
 * a directory below whose own search is withheld is counted and not entered, as by `tree`.
 */
export const searchFiles: Operation<'/filesystem/file/search'> = {
  meaning: 'object',
  changes: false,
  run: async (work) => {
    const { args, place, deadline, may, cosigned } = work
    const signed = await signedBelow(work)
    const found = new Capped<Match>()
    let [searched, skipped, withheld] = [0, 0, 0]
    const fold = (text: string): string => (args.ignore_case === true ? text.toLowerCase() : text)
    const wanted = new TextFinder(fold(args.text))
    const look = async (path: string, inside: RelPath): Promise<void> => {
      const stat = place.anchor.stat(inside)
      if (!may('/filesystem/file/search', { path, stat }, cosigned)) return void withheld++
      if (stat.size > MOST_SEARCHED_BYTES) return void skipped++
      using file = place.anchor.open(inside)
      if (signed?.(inside, file.stat) === false) throw changedSinceFound()
      const text = file.readAll(MOST_SEARCHED_BYTES).toString('utf8')
      if (text.includes('\0')) return void skipped++
      searched++
      if (!wanted.isIn(fold(text))) return
      for (const [number, line] of linesOf(text)) {
        if (number % A_TURN === 0) await deadline.breathe()
        if (wanted.isIn(fold(line)) && !found.add({ path, line: number, text: line.slice(0, LONGEST_LINE) }))
          return
      }
    }
    if (place.stat?.kind !== 'directory') await look(place.path, place.inside)
    else {
      const enter = (path: RelPath): boolean => {
        const answer = mayEnter(work, '/filesystem/file/search', path)
        if (answer === 'withheld') withheld++
        return answer === 'yes'
      }
      const unreadable = (): void => void skipped++
      for (const { path, kind } of place.anchor.walk(place.inside, { enter, unreadable })) {
        await deadline.breathe()
        if (found.truncated) break
        if (path === undefined || kind !== 'file') continue
        if (isTempName(path.slice(path.lastIndexOf('/') + 1))) continue
        await look(absolute(place, path), path)
      }
    }
    return {
      answer: {
        kind: 'json',
        value: { matches: found.items, truncated: found.truncated, searched, skipped, withheld },
      },
      before: { entries: searched },
    }
  },
}

/**
 * SPEC 7.5: whether a file is one that a person signed for, as it was then. Undefined: nobody had to. What was removed since
 * is another tree, too: that it is not found would be told.
 */
async function signedBelow(work: Work<'/filesystem/file/search'>): Promise<TreeSurvey['holds'] | undefined> {
  const { place, cosigned, signedFor } = work
  if (!cosigned) return undefined
  if (place.stat?.kind !== 'directory') return (_, { version }) => version === place.stat?.version
  const { digest, holds } = await surveyTree(work, SEARCHED, 0)
  if (digest !== signedFor) throw changedSinceFound()
  return holds
}

/** What cannot be listed is not searched. */
export const SEARCHED: TreeChecks = { unreadable: () => undefined }

/** One at a time: a list of all of them would take more memory than the file. */
function* linesOf(text: string): Generator<[number: number, line: string]> {
  for (let at = 0, number = 1; at <= text.length; number++) {
    const end = text.indexOf('\n', at)
    yield [number, end < 0 ? text.slice(at) : text.slice(at, end)]
    if (end < 0) return
    at = end + 1
  }
}
