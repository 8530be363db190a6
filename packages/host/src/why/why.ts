import { isDeepStrictEqual } from 'node:util'
import { type LoadedConfig, mergeSources, type Source } from '@cordon/config'
import { CordonError, guardedName, LINK_GOES_WITH, parseRelPath, show } from '@cordon/policy'
import { type BindingKey, bindingKey } from '../compile/bindings.ts'
import { writesGuarded } from '../compile/guard.ts'
import { labelOf, type Subject, subjectsOf } from '../compile/subject.ts'
import { enablingCommand } from '../execute/tool.ts'
import { compileWith, type Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import type { Answer } from './answer.ts'
import { Asker, type WhyPlace } from './asker.ts'
import {
  type Edit,
  edited,
  type EditTrial,
  findEdit,
  findObstacle,
  findOverride,
  markingFirst,
} from './fix.ts'
import { mountTrouble, type MountTrouble } from './mounts.ts'
import { ownProgram } from './own-program.ts'
import type { Question } from './question.ts'

export interface Why extends Answer {
  readonly subject: string
  /** What the kernel adds to what the rules say. */
  readonly notes: readonly string[]
  /** Undefined when it is allowed, or when no edit of a config file would allow it. */
  readonly fix: Edit | undefined
  /** What would allow it, where that is no edit but something to type. */
  readonly command?: string
  /** The command asks, so that it needs a terminal. */
  readonly at?: 'terminal'
  /** No rule and no mount would help: it is a matter of the tool, or of what is there. */
  readonly never?: true
}

/** SPEC 4.7: answers the question, and when the answer is no, finds the edit that would change it. */
export function why(
  project: Project,
  policies: Policies,
  name: string,
  question: Question,
  place: WhyPlace,
): Why {
  const asker = new Asker(project, name, question, place)
  const { subject, found, verdict, notes, withheld, never } = asker.ask(project.loaded, policies)
  const [because = found.because, ...rest] = notes
  const told = verdict === 'refused' ? { ...found, allowed: false, because } : found
  const more = verdict === 'refused' ? rest : notes
  const label = labelOf(subject)
  const first = markingFirst(project, place.home)
  if (told.allowed)
    return (
      switchedOff(told, subject, project) ??
      neverStarted(project, policies, subject, question, place) ?? {
        ...told,
        subject: label,
        notes: [...notes, ...(first === undefined || subject.kind !== 'tool' ? [] : [UNMARKED])],
        fix: undefined,
      }
    )
  if (never) return { ...told, subject: label, notes: [], fix: undefined, never }
  const trouble = mountTrouble(told, subject, { project, mounts: place.mounts ?? [], home: place.home })
  const compiled = (sources: Project['sources'], approved = policies.approved): [LoadedConfig, Policies] => {
    const loaded = mergeSources(sources)
    // An edit of one subject changes no other one's policy.
    const same = subjectsOf(loaded.config).filter(
      (one) => one.kind === subject.kind && one.name === subject.name,
    )
    return [loaded, compileWith(project, loaded, approved, same)]
  }
  const ask = (sources: Project['sources'], approved = policies.approved): Answer => {
    const again = asker.ask(...compiled(sources, approved))
    if (again.verdict === 'works') return again.found
    return { ...again.found, allowed: false, because: again.notes[0] ?? again.found.because }
  }
  if (withheld) {
    const inner = why(project, policies, name, withheld, place)
    const { fix } = inner
    // There may be more of them, and then it is not enough.
    const isEnough = fix !== undefined && ask(edited(project.sources, fix)).allowed
    return {
      ...told,
      rule: inner.rule,
      others: inner.others,
      because: `${told.because}: ${inner.because}`,
      subject: label,
      notes: isEnough ? inner.notes : [], // those are of the edit
      fix: isEnough ? fix : undefined,
    }
  }
  if (trouble) {
    const { command, at, adds } = trouble
    const still = adds && stillDenied(adds, subject, project, policies, ask)
    const tried = command === undefined || still !== undefined ? {} : { command, ...(at ? { at } : {}) }
    const beside = [
      ...more,
      ...trouble.notes,
      ...(still === undefined ? [] : [`with the mount it is denied, too: ${still}`]),
    ]
    return { ...told, because: trouble.because, subject: label, notes: beside, fix: undefined, ...tried }
  }
  const trial = { sources: project.sources, ask }
  const fix = findEdit(told, subject, trial)
  const override = fix ? undefined : findOverride(told, subject, trial)
  return {
    ...told,
    subject: label,
    notes: [
      ...more,
      ...guardNotes(told, project),
      ...(fix && told.isLink ? [LINK_GOES_WITH] : []),
      ...(fix ? asker.notesWith(...compiled(edited(project.sources, fix)), policies) : []),
      ...(override ? overrideNotes(override) : []),
      ...(fix || override ? [] : obstacleNotes(told, subject, trial)),
    ],
    fix: fix?.layer === 'workspace' && first !== undefined ? { ...fix, first } : fix,
  }
}

/** `cordon mcp serve` calls tools without. */
const UNMARKED = 'no workspace is marked here: `cordon tool run` and `cordon query` need `cordon init` first'

/** Why a mount would not help either; undefined: it would. Typing it is its approval (SPEC 3.3). */
function stillDenied(
  { rule, target }: NonNullable<MountTrouble['adds']>,
  { key }: Subject,
  { sources }: Pick<Project, 'sources'>,
  { approved }: Pick<Policies, 'approved'>,
  ask: (sources: Project['sources'], approved: ReadonlySet<BindingKey>) => Answer,
): string | undefined {
  const binding = bindingKey(parseRelPath(String(rule['path'])), target)
  const added: Source = { layer: 'command-line', label: 'mount add', key: [...key, 'fs'], value: [rule] }
  try {
    const { allowed, because } = ask([...sources, added], new Set([...approved, binding]))
    return allowed ? undefined : because
  } catch (error) {
    if (error instanceof CordonError) return error.message // the policy no longer compiles with it
    throw error
  }
}

/** SPEC 4.10: where a rule of the guard answered, it was said already. Else an edit would open what is guarded without a word of it. */
function guardNotes({ question, canonical, rule }: Answer, project: Project): readonly string[] {
  const isSaid = rule?.axis === 'fs' && rule.rule.guard !== undefined
  return isSaid || !writesGuarded(question, project) ? [] : [guardedName(canonical ?? question.target)]
}

/** Where no one rule is enough, what still stands in the way of the one that was asked for. */
function obstacleNotes(told: Answer, subject: Subject, trial: EditTrial): readonly string[] {
  const found = findObstacle(told, subject, trial)
  return found === undefined ? [] : [`a rule alone is not enough: with ${found.rule}, ${found.because}`]
}

const overrideNotes = ({ by, flag }: NonNullable<ReturnType<typeof findOverride>>): readonly string[] => [
  `${by} replaces the rules of every file, so that no edit of a file counts`,
  ...(flag === undefined ? [] : [`for one command: ${flag}`]),
]

/** What is granted helps no tool that is not called. */
function switchedOff(told: Answer, subject: Subject, { loaded }: Project): Why | undefined {
  const isOff = subject.kind === 'tool' && loaded.config.conversation.tools[subject.name]?.enable === false
  if (!isOff) return undefined
  const because = `the tool is switched off; otherwise, ${told.because}`
  const command = enablingCommand(subject.name)
  return { ...told, subject: labelOf(subject), allowed: false, because, notes: [], fix: undefined, command }
}

/** What is granted helps nobody whose own program may not be executed. Undefined: it may, or needs no rule. */
function neverStarted(
  project: Project,
  policies: Policies,
  subject: Subject,
  question: Question,
  place: WhyPlace,
): Why | undefined {
  const program = ownProgram(subject, project.loaded.config, project.root)
  const start = { axis: 'fs', capability: 'execute', target: program ?? '' } as const
  if (program === undefined || isDeepStrictEqual(question, start)) return undefined
  const started = why(project, policies, subject.name, start, place)
  if (started.allowed) return undefined
  const because = `it cannot be started at all: execute ${show(program)} is denied, because ${started.because}`
  return { ...started, question, canonical: undefined, because }
}
