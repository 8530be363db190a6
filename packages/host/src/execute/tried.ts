import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type Capability, CordonError, DeniedError, parseRelPath, setCommand, show } from '@cordon/policy'
import type { GrantWorld } from '../mcp/grant.ts'
import type { MountView } from '../mount/list.ts'
import { compileProject } from '../policies.ts'
import type { Question } from '../why/question.ts'
import { why, type Why } from '../why/why.ts'
import type { RefusedCall } from './advice.ts'
import { governing } from './execute.ts'
import { takenAs } from './shown-paths.ts'
import type { Told } from './told.ts'
import { type Touched, touchedBy } from './touched.ts'

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

interface Asker {
  readonly ask: (question: Question) => Why
  readonly world: GrantWorld
}

/** What `cordon why` says of the tool of a call. */
export async function asker(
  { tool, project, compiler, env }: RefusedCall,
  mounts: readonly MountView[] = [],
): Promise<Asker> {
  const policies = await compileProject(project, { ...compiler, person: undefined })
  const place = { cwd: project.root.path, home: compiler.home, env, mounts }
  return {
    ask: (question) => why(project, policies, tool.name, question, place),
    world: { project, policies, place },
  }
}

/** What would allow it, to be pasted. */
export function commandsOf({ fix, command }: Pick<Why, 'fix' | 'command'>): readonly string[] {
  if (!fix) return command === undefined ? [] : [command]
  return [setCommand({ ...fix, layer: fix.layer === 'workspace' ? undefined : fix.layer })]
}

/**
 * Decision 0458: a shipped tool that is refused suggests what would allow it by what it sees, and in its sandbox it sees neither
 * what is hidden from it nor where links lead. The host has tried. Where the two differ, the tool's words are said
 * without its suggestion, and the person alone is told what helps. Undefined: they are the same.
 */
export async function triedRefusal(
  call: RefusedCall,
  mounts: readonly MountView[],
): Promise<Refusal | undefined> {
  const { tool, policy, denied, project } = call
  if (!tool.shipped || !policy || denied?.suggested === undefined) return undefined
  const { ask } = await asker(call, mounts)
  const found = questionsOf(call)
    .map((question) => orNothing(() => ask(question)))
    .find((each) => each && !each.allowed)
  if (!found || denied.suggested === commandsOf(found)[0]) return undefined
  const { capability, target } = denied
  const { rule, grants } = governing(target, policy, project.root)
  const about = `${found.question.capability} ${show(found.question.target)} is denied: ${found.because}`
  return {
    refusal: new DeniedError({ capability, target, rule, grants, untold: true }).explanation,
    forPerson: forPerson(found.question.target, [about, ...found.notes].join('; '), commandsOf(found)),
  }
}

/** What the call needs, by its own names and by what is really there (SPEC 1.8); of `unix_utils`, what it was refused. */
function questionsOf({ tool, arguments: args, denied, project }: RefusedCall): readonly Question[] {
  const named = touchedBy(tool.name, args)
  const refused = denied ? [{ path: denied.target, want: wanted(denied.capability) }] : []
  return (named.length > 0 ? named : refused).flatMap((touched) => {
    const target = orNothing(() => parseRelPath(touched.path))
    if (target === undefined) return []
    const path = join(project.root.path, target)
    return [{ axis: 'fs', capability: neededFor(tool.name, touched, path), target }]
  })
}

/** What is created is perhaps there, and hidden. */
const wanted = (capability: Capability): Touched['want'] => (capability === 'create' ? 'write' : capability)

function neededFor(tool: string, touched: Touched, path: string): Capability {
  if (touched.want !== 'write') return touched.want
  const isThere =
    takenAs(tool, touched) === 'entry'
      ? orNothing(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined
      : existsSync(path)
  return isThere ? 'update' : 'create'
}

/** A path that cannot be asked about has no answer. */
function orNothing<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch (error) {
    if (error instanceof CordonError || (error instanceof Error && 'syscall' in error)) return undefined
    throw error
  }
}
