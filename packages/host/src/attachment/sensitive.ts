import { join } from 'node:path'
import { matchGlob, parseGlob } from '@cordon/files'
import { below } from '@cordon/policy'

export interface SecretPlaces {
  readonly home: string
  // `~/x` is a place in the home directory with everything below it; `**/x` is a name anywhere.
  readonly patterns: readonly string[]
}

/**
 * SPEC 4.9: whether a file that a directory or a pattern finds is where secrets live. `inside` is its path in the directory
 * that was named: what lies above it was chosen by the person (decision 0172).
 */
export function secretFinder({ home, patterns }: SecretPlaces): (path: string, inside: string) => boolean {
  const places = patterns
    .filter(isPlace)
    .map((each) => (each.startsWith('~/') ? join(home, each.slice(2)) : each))
  const written = patterns.filter((each) => !isPlace(each)).map((each) => each.replace(/^\*\*\//, ''))
  const names = written.filter((each) => !each.includes('/')).map(parseGlob)
  const ways = written
    .filter((each) => each.includes('/'))
    .flatMap((each) => [parseGlob(`**/${each}`), parseGlob(`**/${each}/**`)])
  // A name anywhere, with everything below it: one of the path's own names is enough, and is tried first because it is quick.
  return (path, inside) =>
    inside.split('/').some((part) => names.some((glob) => matchGlob(glob, part))) ||
    places.some((place) => below(place, path) !== undefined) ||
    ways.some((glob) => matchGlob(glob, inside))
}

const isPlace = (pattern: string): boolean => pattern.startsWith('~/') || pattern.startsWith('/')

const SHOWN = 10

/** What was left out, in the words of a warning. */
export function describeLeftOut(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''
  return [
    `left out, because it may be secret: ${names.slice(0, SHOWN).join(', ')}${more}; name a file to attach it, or add --sensitive`,
  ]
}
