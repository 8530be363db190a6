import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Capability, CordonError, DeniedError, type FsRule, parseRelPath, show } from '@cordon/policy'
import { textsIn } from '@cordon/tools'
import { WRITING } from '../compile/names.ts'
import { whyNotAdvised } from '../mcp/advised.ts'
import { wayOut } from '../outside/place.ts'
import { realName } from '../real-name.ts'
import type { Question } from '../why/question.ts'
import type { Why } from '../why/why.ts'
import { governing } from './execute.ts'
import { type Asker, commandsOf, forPerson, notesOf, type RefusedCall, type Refusal } from './refused-call.ts'
import { takenAs } from './shown-paths.ts'
import type { Told } from './told.ts'
import { type Touched, touchedBy } from './touched.ts'

/**
 * Decision 0458: a shipped tool that is refused suggests what would allow it by what it sees, and in its sandbox it sees neither
 * what is hidden from it nor where links lead. The host has tried. Where the two differ, the tool's words are said
 * without its suggestion, and the person alone is told what helps. Undefined: they are the same.
 */
export async function triedRefusal(call: RefusedCall, asker: Asker): Promise<Refusal | undefined> {
  const { tool, policy, denied, project } = call
  if (!tool.shipped || !policy || !denied) return undefined
  const { capability, target, suggested } = denied
  const { rule, grants } = governing(target, policy, project.root)
  // Of a mount that grants nothing it knows no more; what it lacks, and so what mends it, the host sees (SPEC 3.2).
  const isIdle = rule?.external === true && rule.approvedTarget === undefined
  if (suggested === undefined && !isIdle) return undefined
  const found = await firstDenied(questionsOf(call), asker)
  if (!found || (suggested !== undefined && suggested === commandsOf(found)[0])) return undefined
  const about = `${found.question.capability} ${show(found.question.target)} is denied: ${found.because}`
  return {
    refusal: new DeniedError({
      capability,
      target,
      named: nameFor(target, call.arguments, project.root.path),
      rule: rule && unplaced(rule),
      grants,
      untold: true,
    }).explanation,
    forPerson: forPerson(found.question.target, [about, ...notesOf(found)].join('; '), commandsOf(found)),
  }
}

/** Where a rule stands is for the person: a model reads the refusal. */
const unplaced = (rule: FsRule): FsRule => ({ ...rule, origin: '' })

/**
 * What a shipped tool could not do and its rules did not refuse: the plan held it (SPEC 4.12), or a link leads out of the workspace.
 * `why` knows which.
 */
export async function heldRefusal(call: RefusedCall, asker: Asker): Promise<Told[]> {
  if (!call.tool.shipped || !call.policy || call.denied) return []
  const { root } = call.project
  // A file that is not there is the usual end of reading, and no reason to ask the plan.
  const held = questionsOf(call).filter(
    (question) =>
      question.axis === 'fs' &&
      (WRITING.has(question.capability) || wayOut(join(root.path, question.target), root.path) !== undefined),
  )
  const found = await firstDenied(held, asker)
  // What it can never do it has said itself.
  if (!found || found.never) return []
  const { capability, target } = found.question
  const about = `${capability} ${show(target)} is denied: ${found.because}`
  const not = await whyNotBehind(found.question, call, asker)
  if (not !== undefined) return [forPerson(target, `${about}; ${not}`, [])]
  return [forPerson(target, [about, ...notesOf(found)].join('; '), commandsOf(found))]
}

/** SPEC 4.9: the link may be a command's work, and a model chose to follow it. Neither chooses which secret a person is asked for. */
async function whyNotBehind(
  { capability, target }: Question,
  { project, env }: RefusedCall,
  asker: Asker,
): Promise<string | undefined> {
  const { root } = project
  const path = wayOut(join(root.path, target), root.path)
  if (path === undefined) return undefined
  const { home } = (await asker.world()).place
  const wanted = capability === 'read' ? 'read' : 'write'
  return whyNotAdvised({ path, wanted }, { server: undefined, project, home, path: env['PATH'] })?.reason
}

async function firstDenied(questions: readonly Question[], asker: Asker): Promise<Why | undefined> {
  for (const question of questions) {
    const found = await answerTo(question, asker)
    if (found && !found.allowed) return found
  }
  return undefined
}

/** Undefined: it is no path that can be asked about. */
export const answerTo = (question: Question, asker: Asker): Promise<Why | undefined> =>
  asker.ask(question).catch(asNothing)

/** What the call needs, by its own names and by what is really there (SPEC 1.8); of `unix_utils`, what it was refused, or what leads out. */
function questionsOf({ tool, arguments: args, denied, project }: RefusedCall): readonly Question[] {
  const named = touchedBy(tool.name, args)
  const refused = denied
    ? [{ path: nameFor(denied.target, args, project.root.path), want: wanted(denied.capability) }]
    : leavingBy(args, project.root.path)
  return (named.length > 0 ? named : refused).flatMap((touched) => {
    const target = orNothing(() => parseRelPath(touched.path))
    if (target === undefined) return []
    const path = join(project.root.path, target)
    return [{ axis: 'fs', capability: neededFor(tool.name, touched, path), target }]
  })
}

/** What the caller called it: by another name of the same place `why` would name another edit. */
export function nameFor(target: string, args: unknown, root: string): string {
  const refused = join(root, target)
  const isMeant = (text: string): boolean => {
    const path = orNothing(() => join(root, parseRelPath(text)))
    if (path === undefined) return false
    const parent = realName(dirname(path))
    return realName(path) === refused || (parent !== undefined && join(parent, basename(path)) === refused)
  }
  return textsIn(args).find(isMeant) ?? target
}

/** Words of `unix_utils` that are links out of the workspace, or lead over one. */
const leavingBy = (args: unknown, root: string): readonly Touched[] =>
  textsIn(args).flatMap((text) => {
    const path = orNothing(() => parseRelPath(text))
    const leaves = path !== undefined && wayOut(join(root, path), root) !== undefined
    return leaves ? [{ path: text, want: 'read' }] : []
  })

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

function orNothing<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    return asNothing(error)
  }
}

/** A path that cannot be asked about has no answer. */
function asNothing(error: unknown): undefined {
  if (error instanceof CordonError || (error instanceof Error && 'syscall' in error)) return undefined
  throw error
}
