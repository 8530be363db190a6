import { type SecretTest, secretTest } from '@cordon/files'
import { patternsHere, type SensitiveOptions } from '../compile/sensitive.ts'

export type SecretPlaces = Pick<SensitiveOptions, 'home' | 'patterns'>

/**
 * SPEC 4.9: whether a file that a directory or a pattern finds is where secrets live. `inside` is its path in the directory
 * that was named: what lies above it was chosen by the person (decision 0172).
 */
export const secretFinder = (places: SecretPlaces): SecretTest => secretTest(patternsHere(places))

const SHOWN = 10

/** What was left out, in the words of a warning. */
export function describeLeftOut(names: readonly string[]): string[] {
  if (names.length === 0) return []
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : ''
  return [
    `left out, because it may be secret: ${names.slice(0, SHOWN).join(', ')}${more}; name a file to attach it, or add --sensitive`,
  ]
}
