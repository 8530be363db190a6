import type { AccessPolicy } from '@cordon/policy'
import type { ToolFailure } from '@cordon/tools'
import type { Subject } from '../compile/subject.ts'
import type { GrantWorld } from '../mcp/grant.ts'
import type { MountView } from '../mount/list.ts'
import { compileProject, type Compiler, type Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import { typedEdit } from '../why/fix.ts'
import type { Question } from '../why/question.ts'
import { why, type Why } from '../why/why.ts'
import type { ExecutedCall } from './execute.ts'
import type { Told } from './told.ts'
import type { LocalTool } from './tool.ts'

/** A call that was refused something, and where. */
export interface RefusedCall {
  readonly tool: LocalTool
  readonly arguments: unknown
  /** Undefined: it has none, and then nothing of its own check is known. */
  readonly policy: AccessPolicy | undefined
  readonly outcome: Pick<ExecutedCall, 'end' | 'guesses'>
  /** What its own check refused. */
  readonly denied: ToolFailure['denied']
  /** In its own words. */
  readonly said?: string
  readonly project: Project
  readonly compiler: Compiler
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What is said in the place of a tool's own words, and what the person is told beside. */
export interface Refusal {
  readonly refusal: string
  readonly forPerson?: Told
}

export const forPerson = (about: string, text: string, fix: readonly string[]): Told => ({
  about,
  text,
  fix,
  audience: 'person',
})

/** What `cordon why` says of the tool of a call. Its policy, and no other one, is compiled for that, once, when it is first asked. */
export class Asker {
  readonly #call: RefusedCall
  readonly #mounts: readonly MountView[]
  #compiled: Promise<Policies> | undefined

  constructor(call: RefusedCall, mounts: readonly MountView[] = []) {
    this.#call = call
    this.#mounts = mounts
  }

  async ask(question: Question): Promise<Why> {
    const { project, policies, place } = await this.world()
    return why(project, policies, this.#call.tool.name, question, {
      cwd: project.root.path,
      ...place,
      mounts: this.#mounts,
    })
  }

  async world(): Promise<GrantWorld> {
    const { project, compiler, env, tool } = this.#call
    const only = ({ kind, name }: Pick<Subject, 'kind' | 'name'>): boolean =>
      kind === 'tool' && name === tool.name
    this.#compiled ??= compileProject(project, { ...compiler, person: undefined }, { only })
    return { project, policies: await this.#compiled, place: { home: compiler.home, env } }
  }
}

/** What would allow it, to be pasted. */
export function commandsOf({ fix, command }: Pick<Why, 'fix' | 'command'>): readonly string[] {
  if (fix) return [typedEdit(fix)]
  return command === undefined ? [] : [command]
}

/** What there is to know of them, in one line with the reason: `why` has room for it beside its command. */
export const notesOf = ({ notes, at }: Pick<Why, 'notes' | 'at'>): readonly string[] => [
  ...notes,
  ...(at === 'terminal' ? ['the command asks, so it needs a terminal'] : []),
]
