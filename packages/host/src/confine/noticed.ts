import { showWhole } from '@cordon/policy'
import type { Exit, LostGuarantee } from '@cordon/sandbox'
import type { ProgramEnd } from './program.ts'
import { describeDenied } from './unfinished.ts'

/**
 * What a person is told whatever came of a program; never a model: it is about the host (decision 0440). Each name whole, and
 * none left out: a program makes as many as there are in order that the one that counts is not read (decision 0455).
 */
export const noticed = ({ lost, exit }: Pick<ProgramEnd, 'lost' | 'exit'>): readonly string[] => [
  ...lossTexts(lost),
  ...exit.createdDenied.map((denied) => describeDenied(denied)),
  ...changedTexts(exit.changed),
  ...appearedTexts(exit.appeared),
]

/** SPEC 4.11: one text each. One cause may lose several guarantees: it is said once, below the last of them. */
export const lossTexts = (lost: readonly LostGuarantee[]): readonly string[] =>
  lost.map(({ loss, why, fix }, i) => {
    const cause = lost[i + 1]?.fix === fix ? '' : `\n  why: ${why}\n  fix: ${fix}`
    return `not held here: ${loss}${cause}`
  })

/** SPEC 4.10: the host replaced a guarded file, say, and so uncovered it for the command. */
export const changedTexts = (changed: Exit['changed']): readonly string[] =>
  changed.map(
    (path) =>
      `${showWhole(path)} was changed while the command ran: look at it, the host obeys or runs it by itself later`,
  )

/** SPEC 4.10: new files that somebody should look at before the host runs them. */
export const appearedTexts = (appeared: Exit['appeared']): readonly string[] =>
  appeared.map((path) =>
    NAMES_A_WORKTREE.test(path)
      ? `${showWhole(path)} was made: commands in the worktree that it names have this repository`
      : `${showWhole(path)} was made, which the host obeys or runs by itself later`,
  )

/** Decision 0661. */
const NAMES_A_WORKTREE = /\/gitdir$/
