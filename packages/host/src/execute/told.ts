import type { Hint } from '../confine/hint.ts'

/** Something about a call that whoever called is told (SPEC 4.7). */
export interface Told extends Pick<Hint, 'about' | 'text' | 'audience'> {
  /** Commands that would allow it, in their order. For the person, whoever reads the text: a model is not told how it could get more. */
  readonly fix: readonly string[]
}

/** For the person: with the commands, each on a line of its own. */
export const toldText = ({ text, fix }: Pick<Told, 'text' | 'fix'>): string =>
  [text, ...(fix.length > 0 ? ['  to allow it:', ...fix.map((line) => `    ${line}`)] : [])].join('\n')
