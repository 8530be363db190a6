import { basename, dirname, join } from 'node:path'
import type { Config, LoadedConfig } from '@cordon/config'
import {
  type AccessPolicy,
  allowNetFlag,
  Context,
  lookAt,
  type Meant,
  meantBy,
  type NetRule,
  parseRelPath,
  shellWord,
  show,
} from '@cordon/policy'
import { type KernelReport, linksOnTheWay, type Plan, probeKernel } from '@cordon/sandbox'
import { Access, withheldBelow } from '@cordon/tools'
import { asksItself, holdsItself, onlyReads } from '../compile/boundary.ts'
import type { Subject } from '../compile/subject.ts'
import { takenAs } from '../execute/shown-paths.ts'
import type { MountView } from '../mount/list.ts'
import type { Policies } from '../policies.ts'
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
import { byAddress, type LookUp, urlOf, whyNoHosts } from './network.ts'
import { whyNever } from './never.ts'
import { toldNotHeld } from './not-held.ts'
import type { Question } from './question.ts'

/** Where a subject would be started, and what is mounted there; without, of a mount it is only said that it grants nothing. */
export interface WhyPlace extends RunPlace {
  readonly mounts?: readonly MountView[]
  /** Where names lead; default: what `/etc/hosts` says. */
  readonly lookUp?: LookUp
}

interface Asked extends Enforced {
  readonly subject: Subject
  readonly found: Answer
  /** What else it takes, where that is the reason for the no. */
  readonly withheld?: Question
  /** No rule would help, nor a mount: it is a matter of the tool, or of what is there. */
  readonly never?: true
}

/** One question under one configuration after the other, to the rules and to the plan that would hold them here. */
export class Asker {
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
    const never = whyNever(byName, subject, config, this.#project.root)
    if (never !== undefined) {
      const found = { ...byName, rule: undefined, others: [] }
      return { subject, found, verdict: 'refused', notes: [never], never: true }
    }
    if (this.#question.axis === 'net' && config.sandbox.mode !== 'off')
      return { subject, ...this.#askNet(subject, byName, policy.net) }
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
