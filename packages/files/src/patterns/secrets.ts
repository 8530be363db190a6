import { below, fold } from '@cordon/policy'
import { matchGlob, parseGlob } from './glob.ts'

/** Of an absolute path, and of it again as far as names count: what lies above that was chosen by somebody. */
export type SecretTest = (path: string, inside: string) => boolean

/**
 * SPEC 4.9: whether a path is where secrets live. A pattern that begins with `/` is that place with everything below it, any other
 * a name anywhere. Letters of both cases are one: who asks may not know which filesystem a path is on.
 */
export function secretTest(patterns: readonly string[]): SecretTest {
  const exact = testFor(patterns)
  const folded = testFor(patterns.map(fold))
  const regardless: SecretTest = (path, inside) => folded(fold(path), fold(inside))
  // Where a pattern says what a character may be, folding may take that away.
  const isPlain = patterns.every((each) => !/[?[\\]/.test(each))
  return isPlain ? regardless : (path, inside) => exact(path, inside) || regardless(path, inside)
}

function testFor(patterns: readonly string[]): SecretTest {
  const places = patterns.filter((each) => each.startsWith('/'))
  const written = patterns.filter((each) => !each.startsWith('/')).map((each) => each.replace(/^\*\*\//, ''))
  const names = written.filter((each) => !each.includes('/')).map(parseGlob)
  const ways = written
    .filter((each) => each.includes('/'))
    .flatMap((each) => [parseGlob(`**/${each}`), parseGlob(`**/${each}/**`)])
  // A name with everything below it: one of the path's own names is enough, and is quicker than a way through all of them.
  return (path, inside) =>
    places.some((place) => below(place, path) !== undefined) ||
    inside.split('/').some((part) => names.some((glob) => matchGlob(glob, part))) ||
    ways.some((glob) => matchGlob(glob, inside))
}
