import { type AccessPolicy, CordonError, type Root, type RuleData } from '@cordon/policy'
import type { OutsideRule } from '@cordon/sandbox'
import { answer, type Answer } from '../why/answer.ts'
import { parseQuestion, type Question } from '../why/question.ts'

/** SPEC 4.7: a guess why a confined program failed, and what would change it. Always labelled as a hint. */
export interface Hint {
  /** The path, host or variable: one hint for each is enough. */
  readonly about: string
  readonly text: string
  /** A flag, or a command, that works as it is pasted; undefined when nothing of ours would help. */
  readonly fix: string | undefined
  /** What it is about is no guess, and reported exactly elsewhere (`Exit.pressure`): only the fix is news. */
  readonly known?: true
  /** A command that the flag needs to be run before. */
  readonly first?: string
  /** Of a place outside the workspace: what would have to be granted. */
  readonly place?: OutsidePlace
  /** What `cordon why` would be asked about it; absent where no rule decides. */
  readonly question?: Question
  /** Where no single edit is the answer to it: the rules that are, together. */
  readonly rules?: readonly RuleData[]
  /** A hint that tells what there is on the host is the person's: a model must not learn it by asking (SPEC 4.7). */
  readonly audience: 'person' | 'anyone'
}

export interface OutsidePlace {
  readonly path: string
  readonly wanted: 'read' | 'write'
}

export interface HintFacts {
  readonly root: Root
  readonly policy: AccessPolicy
  /** What is granted outside the workspace. */
  readonly outside: readonly OutsideRule[]
  readonly cwd: string
  readonly home: string
  /** Whether there is such a file on the host. */
  readonly exists: (path: string) => boolean
  /** Whether the program saw what is there on the host, or a private place of the same name. */
  readonly isVisible: (path: string) => boolean
  /** Whether it is there only as the way to something that is: nothing can be made in it (SPEC 4.3). */
  readonly isTheWay: (path: string) => boolean
  /** How a path of the workspace goes on outside of it, by a link; undefined: it does not. */
  readonly wayOut: (path: string) => string | undefined
  /** Where a path outside really leads. */
  readonly realName: (path: string) => string
  /** Whether secrets live there (SPEC 4.9). */
  readonly isSensitive: (path: string) => boolean
  /** Why an entry is neither moved nor removed inside, although the rules grant it; undefined: it is. */
  readonly whyPinned: (path: string) => string | undefined
  /** Whether it is guarded in the workspace, where a rule around it grants writing (SPEC 4.10). */
  readonly isGuarded: (path: string) => boolean
  /** Whether the command line names it. */
  readonly isNamed: (path: string) => boolean
  /** Whether it is a file that the host would run. */
  readonly isProgram: (path: string) => boolean
  /** Whether it is withheld from every confined program, whatever the rules say (SPEC 4.3). */
  readonly isSecret: (path: string) => boolean
  readonly hasVariable: (name: string) => boolean
  /** Why no flag grants a place outside the workspace; undefined: one does. */
  readonly whyNever: (path: string, wanted: 'read' | 'write') => string | undefined
  /** Whether the person may do that to it without a sandbox: the permissions of the file decide, whatever is granted. */
  readonly mayUse: (path: string, wanted: 'read' | 'write') => boolean
  /** Whether a host that is allowed could be reached, and no other. */
  readonly canHoldHosts: boolean
  /** Whether what is not granted outside the workspace is not there at all, and so never refused (SPEC 4.3). */
  readonly hidesOutside: boolean
  /** Whether it is known exactly what happened to this host. */
  readonly isKnown: (host: string) => boolean
}

/** A text may name anything; what is no sensible question has no answer. */
export function ask(
  capability: Question['capability'],
  target: string,
  { root, policy }: HintFacts,
): Answer | undefined {
  try {
    return answer(root, policy, parseQuestion(capability, target))
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}
