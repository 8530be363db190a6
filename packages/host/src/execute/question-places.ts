import { tomlString } from '@cordon/policy'
import type { ShownPath } from '@cordon/tools'
import { readableIn, shownText } from './shown.ts'
import { type Lead, leadsIn } from './shown-paths.ts'
import { isWord, type WordPath } from './word-paths.ts'
import { wordsIn } from './words.ts'

/** More nobody reads: such a call is not asked about, and so not run. */
const MOST_PLACES = 500
const MOST_CHARACTERS = 64 * 1024

/**
 * Decision 0448: the files that a call is about, by their one name and never cut, where its arguments as they are shown do not
 * say them. Lines that begin with a bracket are ours: no key and no value begins so. Undefined: there are too many.
 */
export function placesInQuestion(
  args: unknown,
  shown: readonly (ShownPath | WordPath)[],
): string | undefined {
  const lines = new Set([
    ...touchedLines(
      args,
      shown.filter((each) => !isWord(each)),
    ),
    ...wordLines(args, shown.filter(isWord)),
  ])
  return areTooMany([...lines]) ? undefined : [...lines].map((line) => `  (${line})\n`).join('')
}

/** The same where the change itself is shown, under its real name: only what is written otherwise is said (decision 0456). */
export const hasTooManyLeads = (shown: readonly (ShownPath | WordPath)[]): boolean =>
  areTooMany(leadsIn(shown).map(leading))

const areTooMany = (lines: readonly string[]): boolean =>
  lines.length > MOST_PLACES || lines.reduce((sum, line) => sum + line.length, 0) > MOST_CHARACTERS

/** Of a shipped tool that is held to its files: all of them, or none where each is an argument as it stands. */
function touchedLines(args: unknown, shown: readonly ShownPath[]): string[] {
  const readable = new Set(readableIn(args).places)
  if (shown.every(({ path, place }) => path === place && readable.has(path))) return []
  return shown.map(({ path, place }) =>
    path === place ? `touches ${tomlString(place)}` : leading({ path, place }),
  )
}

/** Of a program any word may be a path: those that lead elsewhere, and those that the person could not read. */
function wordLines(args: unknown, shown: readonly WordPath[]): string[] {
  if (shown.length === 0) return []
  const words = wordsIn(readableIn(args).others)
  const readable = new Set(words === 'too many' ? [] : words)
  return shown.flatMap(({ path, leads, names }) => [
    ...leads.map((place) => leading({ path, place })),
    ...(readable.has(path) ? [] : names.map((place) => `names ${tomlString(place)}`)),
  ])
}

const leading = ({ path, place }: Lead): string => `${shownText(path)} leads to ${tomlString(place)}`

export const TOO_MANY_PLACES = `not run: it names more files than a person can be asked about at once (${MOST_PLACES}, or ${MOST_CHARACTERS} characters of names); call it for fewer`
