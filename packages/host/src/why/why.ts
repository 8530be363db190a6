import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type Config, type LoadedConfig, mergeSources, type Source } from '@cordon/config'
import { kindOf } from '@cordon/files'
import {
  type AccessPolicy,
  allowNetFlag,
  Context,
  CordonError,
  guardedName,
  LINK_GOES_WITH,
  lookAt,
  type Meant,
  meantBy,
  type NetRule,
  parseRelPath,
  shellWord,
  show,
} from '@cordon/policy'
import { type KernelReport, linksOnTheWay, type Plan, probeKernel } from '@cordon/sandbox'
import { Access, whyNotReplaced, withheldBelow } from '@cordon/tools'
import { asksItself, holdsItself, onlyReads } from '../compile/boundary.ts'
import { type BindingKey, bindingKey } from '../compile/bindings.ts'
import { writesGuarded } from '../compile/guard.ts'
import { labelOf, type Subject, subjectsOf } from '../compile/subject.ts'
import { takenAs } from '../execute/shown-paths.ts'
import { enablingCommand } from '../execute/tool.ts'
import type { MountView } from '../mount/list.ts'
import { compileWith, type Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import { realName } from '../real-name.ts'
import { type Answer, answer } from './answer.ts'
import {
  enforce,
  type Enforced,
  type Enforcement,
  planOf,
  reachedBy,
  type RunPlace,
  whyNoPlan,
} from './enforced.ts'
import { findSubject } from './find-subject.ts'
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
import { byAddress, type LookUp, urlOf, whyNoHosts } from './network.ts'
import { toldNotHeld } from './not-held.ts'
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
}

/** Where a subject would be started, and what is mounted there; without, of a mount it is only said that it grants nothing. */
export interface WhyPlace extends RunPlace {
  readonly mounts?: readonly MountView[]
  /** Where names lead; default: what `/etc/hosts` says. */
  readonly lookUp?: LookUp
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
  const { subject, found, verdict, notes, withheld } = asker.ask(project.loaded, policies)
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
  const blocked = fileInTheWay(told, project)
  if (blocked !== undefined)
    return {
      ...told,
      subject: label,
      notes: [...more, `${show(blocked)} is no directory, so there can be nothing below it`],
      fix: undefined,
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

/** No rule helps to what can be nowhere. */
function fileInTheWay({ question, canonical }: Answer, { root }: Pick<Project, 'root'>): string | undefined {
  if (question.axis !== 'fs' || canonical === undefined) return undefined
  const names = canonical.split('/')
  return names
    .slice(1)
    .map((_, i) => names.slice(0, i + 1).join('/'))
    .find((dir) => {
      const stats = lookAt(join(root.path, dir))
      return stats !== undefined && !stats.isDirectory() && !stats.isSymbolicLink()
    })
}

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

interface Asked extends Enforced {
  readonly subject: Subject
  readonly found: Answer
  /** What else it takes, where that is the reason for the no. */
  readonly withheld?: Question
}

/** One question under one configuration after the other, to the rules and to the plan that would hold them here. */
class Asker {
  readonly #project: Project
  readonly #name: string
  readonly #question: Question
  readonly #place: WhyPlace
  #kernel: KernelReport | undefined

  constructor(project: Project, name: string, question: Question, place: WhyPlace) {
    this.#project = project
    this.#name = name
    this.#question = question
    this.#place = place
  }

  ask(loaded: Project['loaded'], { bySubject }: Policies): Asked {
    const { config } = loaded
    const subject = findSubject(config, [...bySubject.keys()], this.#name)
    const policy = bySubject.get(subject)!
    const meant = this.#meant(config, subject)
    const byName = answer(this.#project.root, policy, this.#question, meant)
    if (this.#question.axis === 'net' && config.sandbox.mode !== 'off')
      return { subject, ...this.#askNet(subject, byName, policy.net) }
    const taken = this.#taken(byName, meant)
    if (taken !== undefined) return { subject, found: byName, verdict: 'refused', notes: [taken] }
    const withheld = this.#withheldBelow(byName, config, subject, policy)
    if (withheld?.capability === 'delete') {
      const because = `it is moved with what is in it, and delete ${show(withheld.target)} is denied`
      return { subject, found: byName, verdict: 'refused', notes: [because], withheld }
    }
    // Whether it is a directory, nobody said.
    const beside = withheld ? [this.#noDirectoryTo(withheld)] : []
    // With the sandbox off there is no plan: the rules are all there is.
    if (config.sandbox.mode === 'off') return { subject, found: byName, verdict: 'works', notes: beside }
    const plan = (): Plan =>
      planOf({ ...this.#project, loaded }, subject, policy, {
        ...this.#place,
        kernel: (this.#kernel ??= probeKernel()),
      })
    const enforcement: Enforcement = {
      plan,
      program: holdsItself(config, subject) ? 'ours' : onlyReads(config, subject) ? 'reads' : 'any',
      way: this.#way(meant),
    }
    const found = asksItself(config, subject, this.#question.capability)
      ? byName
      : toldNotHeld(
          byPlace(byName, byName.place ?? this.#realPlace(meant), enforcement),
          policy,
          this.#project.root,
          () => (this.#kernel ??= probeKernel()),
        )
    const { verdict, notes } = enforce(found, enforcement)
    return { subject, found, verdict, notes: [...notes, ...beside] }
  }

  /**
   * What there is to know of an edit before it is made: what the kernel adds to it then, and whether `cordon run --tool`, which
   * has the exact policy, cannot be started with it any more, although the tool can (SPEC 4.12).
   */
  notesWith(loaded: LoadedConfig, policies: Policies, now: Policies): readonly string[] {
    if (this.#question.axis !== 'fs') return []
    const { subject, notes } = this.ask(loaded, policies)
    const told = notes.map((note) => `with that edit, ${note}`)
    const { config } = loaded
    if (!holdsItself(config, subject) || config.sandbox.mode !== 'enforce') return told
    const exact = (each: LoadedConfig, { bySubject }: Policies): string | undefined => {
      const one = findSubject(each.config, [...bySubject.keys()], this.#name)
      const place = { ...this.#place, kernel: (this.#kernel ??= probeKernel()), exactly: true } as const
      return whyNoPlan(() => planOf({ ...this.#project, loaded: each }, one, bySubject.get(one)!, place))
    }
    const lost = exact(loaded, policies)
    if (lost === undefined || exact(this.#project.loaded, now) !== undefined) return told
    const command = `cordon run --tool ${shellWord(this.#name)}`
    return [
      ...told,
      `the edit works for the tool, which checks by itself; \`${command}\` would be refused with it, because the kernel here cannot hold exactly what the rules say of ${lost}`,
    ]
  }

  /** What the rules for hosts come to here. */
  #askNet({ kind, name }: Subject, byName: Answer, rules: readonly NetRule[]): Omit<Asked, 'subject'> {
    const never = whyNoHosts((this.#kernel ??= probeKernel()))
    if (never !== undefined) return { found: byName, verdict: 'refused', notes: [never] }
    const { found, notes, wish } = byAddress(byName, rules, this.#place.lookUp)
    if (!wish) return { found, verdict: 'works', notes }
    const edit = `what would allow that address: cordon why ${shellWord(this.#name)} net ${urlOf(wish)}`
    const flag = `for one command: cordon run --profile ${shellWord(name)} ${allowNetFlag(wish)} -- COMMAND`
    return { found, verdict: 'works', notes: [...notes, edit, ...(kind === 'profile' ? [flag] : [])] }
  }

  /** SPEC 1.3: a shipped tool that moves takes both names as entries; of everybody else the capability tells. */
  #meant(config: Config, subject: Subject): Meant {
    const { axis, capability } = this.#question
    if (axis !== 'fs') return 'object'
    return holdsItself(config, subject) ? takenAs(subject.name, { want: capability }) : meantBy(capability)
  }

  /** What is moved to a name replaces a file there, and nothing else: no rule changes that. */
  #taken({ question, canonical, place }: Answer, meant: Meant): string | undefined {
    const isTaking = question.capability === 'update' || question.capability === 'create'
    if (meant === 'object' || !isTaking || place === undefined) return undefined
    if (!lookAt(place)) return undefined
    return whyNotReplaced(kindOf(lstatSync(place, { bigint: true })), canonical ?? question.target)
  }

  /** SPEC 1.3: a directory that moves takes along everything below it: what of that may not go, or come, by a rule or as a mount point. */
  #withheldBelow(
    { question, allowed, canonical, place }: Answer,
    config: Config,
    subject: Subject,
    access: AccessPolicy,
  ): Extract<Question, { axis: 'fs' }> | undefined {
    const isMoved = subject.name === 'fs_move_file' && holdsItself(config, subject)
    if (!isMoved || !allowed || question.axis !== 'fs') return undefined
    if (canonical === undefined || place === undefined) return undefined
    const { capability } = question
    const isTree = capability === 'create' || (capability === 'delete' && lookAt(place)?.isDirectory())
    if (!isTree) return undefined
    const context = new Context({ root: this.#project.root.path, action: 'run', access })
    const top = { relative: parseRelPath(canonical), absolute: place }
    const [first] = withheldBelow(new Access(context), top, capability)
    return first && { ...question, target: first.path }
  }

  #noDirectoryTo({ target }: Question): string {
    return `a file can be moved there, but no directory: it comes with what is in it, and create ${show(target)} is denied: cordon why ${shellWord(this.#name)} create ${shellWord(target)}`
  }

  /** Where a name really leads that leaves what its mount may reach: another rule may reach it. */
  #realPlace(meant: Meant): string | undefined {
    const { axis, target } = this.#question
    if (axis !== 'fs') return undefined
    const path = join(this.#project.root.path, target)
    if (meant === 'object') return realName(path)
    const parent = realName(dirname(path))
    return parent && join(parent, basename(path))
  }

  /** The links on the way to the target; to its parent, when the entry itself is meant (SPEC 1.3). */
  #way(meant: Meant): Enforcement['way'] {
    const { axis, target } = this.#question
    if (axis !== 'fs') return []
    const path = join(this.#project.root.path, target)
    return linksOnTheWay(meant === 'entry' ? dirname(path) : path)
  }
}

/** Of a program that asks nobody: the name it uses is not what decides. */
function byPlace(found: Answer, place: string | undefined, enforcement: Enforcement): Answer {
  const rule = reachedBy({ ...found, place }, enforcement)
  if (!rule || place === undefined) return found
  const because = `the rule for ${show(rule.path)} reaches the same place and grants ${found.question.capability}; the kernel sees the place, not the name`
  return { ...found, place, allowed: true, rule: { axis: 'fs', rule }, because }
}
