import { formatOrigin, type LoadedConfig, mergeSources, type Source } from '@cordon/config'
import type { Anchor } from '@cordon/files'
import { below, type CanonicalPath, type RelPath, ROOT, show } from '@cordon/policy'
import type { JsonObject } from '@cordon/workspace'
import { holdsItself, isReplaceable } from '../compile/boundary.ts'
import { mountNames } from '../compile/guard.ts'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import { subjectsOf } from '../compile/subject.ts'
import { isMountAt, mountDelta, mountedMode, type SubjectRef, unmountDelta } from './delta.ts'
import { MountError, type MountProblem } from './errors.ts'
import { type MountMode, type MountRequest, parseMount } from './grammar.ts'
import { existingLink, type ExistingLink } from './link-state.ts'
import { lexicalName, type MountPlace, resolveName, resolveTarget, Unfit } from './place.ts'
import { toolsInScope } from './scope.ts'

/** `--mount …` and `--no-mount[=NAME]`, in the order they were typed. */
export type MountFlag =
  | { readonly kind: 'mount'; readonly text: string }
  | { readonly kind: 'no-mount'; readonly name: string | undefined }

export interface MountStep {
  readonly kind: 'mount'
  readonly name: RelPath
  readonly target: CanonicalPath
  readonly targetKind: 'file' | 'directory'
  readonly link: 'make' | 'keep'
  readonly mode: MountMode
  readonly scope: 'all local tools' | 'one tool'
  readonly tools: readonly string[]
  /** The tools that do not have the mount yet. */
  readonly added: readonly SubjectRef[]
  /** The tools that could write there before, and will not after this. */
  readonly narrowed: readonly string[]
  /** SPEC 4.9: what says that secrets live there. */
  readonly sensitive: string | undefined
}

export interface UnmountStep {
  readonly kind: 'unmount'
  readonly name: RelPath
  /** Whether there is a link to unlink; anything else at the name is left alone. */
  readonly link: 'remove' | 'none' | 'not a link'
  readonly removed: readonly SubjectRef[]
}

/** What a command's flags come to, worked out before anything is done. */
export interface MountPlan {
  readonly steps: readonly (MountStep | UnmountStep)[]
  /** What the conversation records, in order. */
  readonly deltas: readonly JsonObject[]
  /** Every subject that a delta is about. */
  readonly changed: readonly SubjectRef[]
  /** The configuration before, to go back to. */
  readonly before: LoadedConfig
}

export interface MountInput {
  readonly place: MountPlace
  /** Holds the workspace root. Only looked at here. */
  readonly anchor: Pick<Anchor, 'stat'>
  readonly sources: readonly Source[]
  readonly loaded: LoadedConfig
}

/**
 * SPEC 3.3 and 3.4: flags apply left to right, each to what the ones before it leave. Reads links and changes nothing;
 * throws one MountError with all that is wrong.
 */
export function planMounts(flags: readonly MountFlag[], input: MountInput): MountPlan {
  const planner = new Planner(input)
  for (const flag of flags) planner.add(flag)
  return planner.finish()
}

const WHY_NOT = 'it replaces a file in its directory, and that one is your home, or holds it or the workspace'

class Planner {
  readonly #input: MountInput
  readonly #steps: (MountStep | UnmountStep)[] = []
  readonly #deltas: JsonObject[] = []
  readonly #changed: SubjectRef[] = []
  readonly #problems: MountProblem[] = []
  /** Links as the steps so far leave them, where that differs from the disk. */
  readonly #links = new Map<RelPath, ExistingLink>()
  #loaded: LoadedConfig

  constructor(input: MountInput) {
    this.#input = input
    this.#loaded = input.loaded
  }

  add(flag: MountFlag): void {
    const text = flag.kind === 'mount' ? flag.text : (flag.name ?? 'all')
    try {
      if (flag.kind === 'mount') this.#mount(parseMount(flag.text))
      else this.#unmount(flag.name)
    } catch (error) {
      if (error instanceof MountError) this.#problems.push(...error.problems)
      else if (error instanceof Unfit) this.#problems.push({ text, message: error.message })
      else throw error
    }
  }

  finish(): MountPlan {
    if (this.#problems.length > 0) throw new MountError(this.#problems)
    const { loaded } = this.#input
    return { steps: this.#steps, deltas: this.#deltas, changed: this.#changed, before: loaded }
  }

  #mount({ tool, name: typed, path, mode }: MountRequest): void {
    const { place } = this.#input
    const name = resolveName(place, typed, this.#gone())
    const { target, kind } = resolveTarget(place, path)
    const tools = toolsInScope(this.#loaded.config, tool)
    if (kind === 'file' && mode === 'rw') this.#assertReplaceable(target, tools)
    this.#assertApart(name)
    const link = this.#linkFor(name, target)
    this.#assertNoOrdinaryRule(name)
    const { config } = this.#loaded
    const change = mountDelta(config, tools, { name, mode })
    const narrowed = mode === 'rw' ? [] : tools.filter((each) => mountedMode(config, each, name) === 'rw')
    if (change) this.#record(change.delta, change.subjects)
    this.#links.set(name, { kind: 'link', target })
    this.#steps.push({
      kind: 'mount',
      name,
      target,
      targetKind: kind,
      link,
      mode,
      scope: tool === undefined ? 'all local tools' : 'one tool',
      tools,
      added: change?.subjects ?? [],
      narrowed,
      sensitive: sensitivePattern(
        { path: name, approvedTarget: target },
        { root: place.root.path, home: place.home, patterns: [...SENSITIVE, ...config.sandbox.sensitive] },
      ),
    })
  }

  #unmount(typed: string | undefined): void {
    const names = typed === undefined ? this.#mountNames() : [this.#mountNamed(typed)]
    for (const name of names) {
      const found = this.#linkAt(name)
      const change = unmountDelta(this.#loaded, new Set([name]))
      if (!change) continue // it lay below another one, and went with it
      this.#record(change.delta, change.subjects)
      this.#assertUnmounted(name)
      const link = found.kind === 'link' ? 'remove' : found.kind === 'missing' ? 'none' : 'not a link'
      if (link === 'remove') this.#links.set(name, { kind: 'missing' })
      this.#steps.push({ kind: 'unmount', name, link, removed: change.subjects })
    }
  }

  #record(delta: JsonObject, subjects: readonly SubjectRef[]): void {
    this.#deltas.push(delta)
    this.#changed.push(...subjects)
    const laid = this.#deltas.map((value): Source => {
      return { layer: 'conversation', label: 'this command', key: [], value }
    })
    this.#loaded = mergeSources([...this.#input.sources, ...laid])
  }

  /** SPEC 4.12: a mount that no call could use as it was asked for is not made (decision 0459). */
  #assertReplaceable(file: CanonicalPath, tools: readonly string[]): void {
    const { root, home } = this.#input.place
    const { config } = this.#loaded
    const [unable] = tools.filter((name) => holdsItself(config, { kind: 'tool', name }))
    if (unable !== undefined && !isReplaceable(file, { home, root: root.path }))
      throw new Unfit(
        `${show(unable)} could not write ${show(file)}: ${WHY_NOT}\n` +
          '  fix: put it into a directory of its own and mount that, or mount it without :rw',
      )
  }

  /** A link elsewhere, or anything that is no link, is not ours to replace. */
  #linkFor(name: RelPath, target: CanonicalPath): MountStep['link'] {
    const found = this.#linkAt(name)
    switch (found.kind) {
      case 'missing':
        return 'make'
      case 'other':
        throw new Unfit(`${show(name)} exists and is not a symbolic link`)
      case 'blocked':
        throw new Unfit(found.reason)
      case 'link':
        if (found.target === target) return 'keep'
        throw new Unfit(
          found.target === undefined
            ? `${show(name)} is a link that leads nowhere; remove it first`
            : `${show(name)} is a link to ${show(found.target)} already; unmount it first`,
        )
    }
  }

  #linkAt(name: RelPath): ExistingLink {
    const known = this.#links.get(name)
    if (known) return known
    const { anchor, place } = this.#input
    // What lies below a link that is taken away is gone with it.
    if ([...this.#gone()].some((link) => below(link, name) !== undefined)) return { kind: 'missing' }
    return existingLink(anchor, place.root, name)
  }

  #gone(): ReadonlySet<RelPath> {
    return new Set([...this.#links].filter(([, link]) => link.kind === 'missing').map(([name]) => name))
  }

  /** SPEC 3.3: the same NAME twice, or one inside the other, of which only one could be made. */
  #assertApart(name: RelPath): void {
    const { foldCase } = this.#input.place.root
    for (const [other, { kind }] of this.#links) {
      if (kind !== 'link') continue
      const inside = below(other, name, foldCase)
      if (inside === ROOT) throw new Unfit('the same NAME twice\n  fix: each in a command of its own')
      if (inside !== undefined || below(name, other, foldCase) !== undefined)
        throw new Unfit(`${show(name)} and ${show(other)} lie within each other`)
    }
  }

  /** SPEC 3.1: an ordinary rule that leads outside fails the load, so a mount must not make one of it. */
  #assertNoOrdinaryRule(name: RelPath): void {
    for (const { access, name: subject } of subjectsOf(this.#loaded.config))
      for (const rule of access?.fs ?? [])
        if (!rule.external && below(name, rule.path) !== undefined)
          throw new Unfit(
            `${show(subject)} has an ordinary rule for ${show(rule.path)} (${rule.origin ?? 'unknown'}), ` +
              'which would then lead out of the workspace; remove it, or add external = true to it',
          )
  }

  #mountNames(): RelPath[] {
    return mountNames(this.#loaded.config).toSorted() // a mount comes before what lies below it
  }

  /** As it was typed, or as the place where it really lies: a rule by hand may use either. */
  #mountNamed(typed: string): RelPath {
    const { place } = this.#input
    const known = this.#mountNames()
    const lexical = lexicalName(place, typed)
    const found = known.find((name) => name === lexical) ?? known.find((name) => name === this.#really(typed))
    if (found !== undefined) return found
    const there = known.length === 0 ? 'there are no mounts' : `there are: ${known.map(show).join(', ')}`
    throw new Unfit(`no rule mounts ${show(lexical)}; ${there}`)
  }

  #really(typed: string): RelPath | undefined {
    try {
      return resolveName(this.#input.place, typed, this.#gone())
    } catch (error) {
      if (error instanceof Unfit) return undefined
      throw error
    }
  }

  /** A later layer appends after the conversation's `replace`; then the mount would come back. */
  #assertUnmounted(name: RelPath): void {
    for (const { access, key } of subjectsOf(this.#loaded.config)) {
      const at = access?.fs.findIndex((rule) => isMountAt(rule, new Set([name]))) ?? -1
      if (at < 0) continue
      const origin = this.#loaded.origin([...key, 'fs', at])
      const where = origin ? formatOrigin(origin) : 'a later layer'
      throw new Unfit(`${show(name)} is also mounted by ${where}, after the conversation; take it out there`)
    }
  }
}
