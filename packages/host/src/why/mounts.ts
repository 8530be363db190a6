import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Config, formatKeyPath } from '@cordon/config'
import {
  below,
  type Capability,
  CordonError,
  editFor,
  type FsRule,
  isReadOnlyMount,
  lookAt,
  mountCommand,
  parseRelPath,
  type RelPath,
  type RuleData,
  setCommand,
  shellWord,
  show,
  whereLinkLeads,
} from '@cordon/policy'
import { holdsItself, isReplaceable, NOT_REPLACEABLE, onlyReads } from '../compile/boundary.ts'
import { WRITING } from '../compile/names.ts'
import type { Subject } from '../compile/subject.ts'
import { isMountable, type MountMode } from '../mount/grammar.ts'
import type { MountView } from '../mount/list.ts'
import { fromHere, isThere, typedPath, whyNeverGranted } from '../outside/place.ts'
import type { Project } from '../project.ts'
import { realName } from '../real-name.ts'
import type { Answer } from './answer.ts'
import { markingFirst } from './fix.ts'
import type { Question } from './question.ts'

/** What a mount has to do with a no, and what would change it: no rule does, so it is no edit. */
export interface MountTrouble {
  readonly because: string
  readonly notes: readonly string[]
  readonly command?: string
  /** The command asks, so that it needs a terminal. */
  readonly at?: 'terminal'
  /** What the command adds, to be tried before it is told. */
  readonly adds?: { readonly rule: RuleData; readonly target: string }
}

/** The mounts of a project, and where they are. */
export interface MountWorld {
  readonly project: Pick<Project, 'root' | 'cwd' | 'guard' | 'loaded'>
  readonly mounts: readonly MountView[]
  readonly home: string
}

/** The one home of this advice (decision 0459): for `why`, and for whoever tells of a call that failed. Undefined: it is no matter of a mount. */
export function mountTrouble(
  { question, canonical, rule, others, place, because }: Answer,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
): MountTrouble | undefined {
  if (question.axis !== 'fs') return undefined
  const held = pinnedMount(rule?.axis === 'fs' ? rule.rule : undefined, canonical, world.mounts)
  if (held !== undefined) return { because: held, notes: [] }
  const point = mountPoint(question, subject, world.mounts)
  if (point !== undefined) return { because: point, notes: [] }
  const mount = rule?.axis === 'fs' && rule.rule.external ? rule.rule : undefined
  if (mount && mount.approvedTarget === undefined) return idleMount(mount, because, subject, world)
  const writes = WRITING.has(question.capability)
  if (mount && writes && isReadOnlyMount(mount) && subject.kind === 'tool')
    return { because, ...remount(mount, subject, world) }
  const guarded = rule?.axis === 'fs' && rule.rule.guard !== undefined && writes
  const around = others.findLast((each) => each.axis === 'fs' && each.rule.approvedTarget !== undefined)
  if (
    guarded &&
    around &&
    canonical !== undefined &&
    place !== undefined &&
    canMount(subject, world.project.loaded.config)
  )
    return { because, ...namingGuarded(question.capability, canonical, place, subject) }
  if (canonical !== undefined) return undefined
  const ofOthers = mountOfOthers(question.target, subject, world.mounts)
  if (ofOthers) return { because: forOthers(ofOthers), ...sharing(ofOthers, subject, world, writes) }
  const link = rule ? undefined : linkOut(question.target, subject, world)
  if (link?.of !== undefined)
    return {
      because: `${because}, by the link ${show(link.name)}`,
      ...besideMount(link, subject, world, writes),
    }
  return (
    link && {
      because: `${because} (${show(link.name)} is a link out of it)`,
      ...mounting(link, subject, world, writes),
    }
  )
}

/** SPEC 4.10: what is guarded in a mount is opened by its name; outside the workspace such a rule has to be approved. */
function namingGuarded(
  capability: Capability,
  path: string,
  target: string,
  { name: tool }: Pick<Subject, 'name'>,
): Pick<MountTrouble, 'notes' | 'command' | 'at' | 'adds'> {
  const rule = { path, external: true, read: true, [capability]: true }
  const key = formatKeyPath(['conversation', 'tools', tool, 'access', 'fs'])
  return {
    notes: [],
    command: `${setCommand({ ...editFor(key, rule, 'rules'), layer: 'user-workspace' })} && ${APPROVING.command}`,
    at: APPROVING.at,
    adds: { rule, target },
  }
}

/**
 * SPEC 3.3: as the person types it. Rules and tools name a mount from the root of the workspace, and `mount add` takes its name
 * from where the person stands.
 */
export function typedMount(
  { tool, name, target, mode }: TypedMount,
  { project, home }: { readonly project: Pick<Project, 'root' | 'cwd'>; readonly home: string },
): string {
  const { root, cwd } = project
  const first = markingFirst(project, home)
  const typed = fromHere(join(root.path, name), first === undefined ? cwd : root.path)
  const led = target === undefined ? whereLinkLeads(typed) : typedPath(target, home)
  return `${first ?? ''}${mountCommand({ tool, name: typed, target: led, mode })}`
}

export interface TypedMount {
  readonly tool: string
  /** From the root. */
  readonly name: string
  /** Undefined: it is not said, because a model may read it. */
  readonly target: string | undefined
  readonly mode: MountMode
}

interface LinkOut {
  readonly name: RelPath
  readonly target: string
  /** The mount of this subject that the link lies in. */
  readonly of?: RelPath
}

/** A link that the path leaves the workspace by, or a mount that the subject has, and that leads to something. */
function linkOut(
  target: string,
  { name: asking }: Pick<Subject, 'name'>,
  { project: { root }, mounts }: MountWorld,
): LinkOut | undefined {
  const names = pathOrNothing(target)?.split('/') ?? []
  let own: MountView | undefined
  for (const i of names.keys()) {
    const name = names.slice(0, i + 1).join('/') as RelPath
    const path = join(root.path, name)
    const led = lookAt(path)?.isSymbolicLink() === true ? realName(path) : undefined
    if (led === undefined || below(root.path, led, root.foldCase) !== undefined) continue
    if (own?.target !== undefined && below(own.target, led) !== undefined) continue
    const mount = mounts.find(
      (view) => view.name === name && view.state === 'ok' && view.tools.includes(asking),
    )
    if (!mount) return existsSync(led) ? { name, target: led, ...(own ? { of: own.name } : {}) } : undefined
    own = mount
  }
  return undefined
}

/**
 * Where a link in a mount leads to needs a mount of its own. Whoever is held by the kernel has it then by the link as well; a
 * shipped tool asks by the name, and has it by that of the new mount (SPEC 1.3).
 */
function besideMount(
  { target }: LinkOut,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
  writes: boolean,
): Pick<MountTrouble, 'notes' | 'command'> {
  const { guard, loaded, root } = world.project
  if (!canMount(subject, loaded.config)) return { notes: [] }
  const never = whyNeverGranted(target, { writes, guard })
  if (never !== undefined) return { notes: [never] }
  const name = [basename(target), `linked-${basename(target)}`].find(
    (each) => !isThere(join(root.path, each)),
  )
  if (name === undefined) return { notes: [] }
  const mode = writes || holdsItself(loaded.config, subject) ? 'rw' : 'ro'
  const command = typedMount({ tool: subject.name, name, target, mode }, world)
  const isShipped = holdsItself(loaded.config, subject) || onlyReads(loaded.config, subject)
  return isShipped
    ? { notes: [`by a mount of its own it is ${show(name)}: ${command}`] }
    : { notes: [], command }
}

/** SPEC 3.3: what makes a mount of that link, for this tool alone; where no mount is ever made, why not. */
function mounting(
  { name, target }: LinkOut,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
  writes: boolean,
): Pick<MountTrouble, 'notes' | 'command' | 'adds'> {
  const { guard, loaded } = world.project
  if (!canMount(subject, loaded.config)) return { notes: [] }
  const never = whyNeverGranted(target, { writes, guard })
  return never === undefined ? sharing({ name, target }, subject, world, writes) : { notes: [never] }
}

/** SPEC 1.3: why the link of somebody's mount is not removed, moved or replaced; undefined: it is none that the guard holds. */
export function pinnedMount(
  rule: FsRule | undefined,
  target: string | undefined,
  mounts: readonly MountView[],
): string | undefined {
  const tools = mounts.flatMap((view) => (view.name === target ? view.tools : []))
  if (rule?.guard === undefined || rule.path !== target || tools.length === 0) return undefined
  return pinnedBy(tools)
}

/** The same where no rule of the guard answered: of a mount that grants nothing the link is there as well. */
function mountPoint(
  { capability, target }: Question,
  { kind }: Pick<Subject, 'kind'>,
  mounts: readonly MountView[],
): string | undefined {
  const path = pathOrNothing(target)
  const tools = mounts.flatMap((view) => (view.name === path ? view.tools : []))
  return kind === 'tool' && capability === 'delete' && tools.length > 0 ? pinnedBy(tools) : undefined
}

const pinnedBy = (tools: readonly string[]): string =>
  `it is a mount of ${tools.join(', ')}, and a mount point is not removed or moved by a tool`

/** SPEC 3.1 and 3.4: a mount that grants nothing. Each state is mended in its own way, and only one by approving. */
function idleMount(
  rule: FsRule,
  because: string,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
): MountTrouble {
  const view = world.mounts.find(({ name, tools }) => name === rule.path && tools.includes(subject.name))
  const name = show(rule.path)
  switch (view?.state) {
    case 'broken':
      return brokenMount(view, subject, world)
    case 'retargeted':
      return {
        because: `the mount ${name} leads elsewhere than where it was approved to lead, so it grants nothing`,
        notes:
          view.was === undefined
            ? []
            : [`to put it back: ln -sfn ${typedPath(view.was, world.home)} ${typedName(rule.path, world)}`],
        ...APPROVING,
      }
    case 'unapproved':
      return {
        because: `nobody has approved where the mount ${name} leads, so it grants nothing`,
        notes: [],
        ...APPROVING,
      }
    case 'ok': // it was mended meanwhile, or its secrets were refused for this session
    case undefined:
      return { because, notes: ['`cordon mount ls` says what it lacks'] }
  }
}

const APPROVING = { command: 'cordon policy compile', at: 'terminal' } as const

/** Where the link is gone and its target is there, the link is made again; else somebody has to say where it should lead. */
function brokenMount(
  { name, mode, reason, was }: MountView,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
): MountTrouble {
  const because = `the mount ${show(name)} is broken: ${reason ?? 'it leads nowhere'}`
  const isGone = !isThere(join(world.project.root.path, name))
  if (isGone && subject.kind === 'tool' && mode !== 'none' && was !== undefined && existsSync(was))
    return {
      because,
      notes: [],
      command: typedMount({ tool: subject.name, name, target: was, mode }, world),
    }
  const mended = isGone ? 'make the link again' : 'make what it leads to'
  return { because, notes: [`${mended}, or take the mount away: cordon mount rm ${typedName(name, world)}`] }
}

const typedName = (name: RelPath, { project: { root, cwd } }: MountWorld): string =>
  shellWord(fromHere(join(root.path, name), cwd))

/** SPEC 3.3: what makes a read-only mount writable for one tool. Where it leads is not said: a model may read this. */
const remount = (
  { path, approvedTarget = '' }: FsRule,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
): Pick<MountTrouble, 'notes' | 'command' | 'adds'> =>
  isWritableFor(subject, approvedTarget, world)
    ? {
        notes: [],
        command: typedMount({ tool: subject.name, name: path, target: undefined, mode: 'rw' }, world),
        adds: { rule: mountRule(path, 'rw'), target: approvedTarget },
      }
    : { notes: [NOT_REPLACEABLE] }

/** As `mount add` writes it. */
const mountRule = (path: RelPath, mode: MountMode): RuleData => ({
  path,
  external: true,
  read: true,
  ...(mode === 'rw' ? { write: true } : {}),
})

export interface OthersMount {
  readonly name: RelPath
  readonly tools: readonly string[]
  readonly target: string
  /** What was named is the mount itself, and nothing below it. */
  readonly isLink: boolean
}

/** A mount that others have and this one has not: to it, it is a link that leads out. */
export function mountOfOthers(
  target: string,
  { name: asking }: Pick<Subject, 'name'>,
  mounts: readonly MountView[],
): OthersMount | undefined {
  const path = pathOrNothing(target)
  if (path === undefined) return undefined
  const views = mounts.filter(({ name, mode }) => mode !== 'none' && below(name, path) !== undefined)
  const name = views.at(-1)?.name // sorted by name, so that of two in each other the inner one comes last
  const same = views.filter((view) => view.name === name)
  const led = same.find(({ state }) => state === 'ok')?.target
  const tools = same.flatMap((view) => view.tools)
  if (name === undefined || led === undefined || tools.includes(asking)) return undefined
  return { name, tools, target: led, isLink: name === path }
}

export const forOthers = ({ name, tools }: OthersMount): string =>
  `the mount ${show(name)} is for ${tools.join(', ')} only`

/** What gives it to this tool as well: to one that writes, writable. */
export function sharing(
  { name, target }: Pick<OthersMount, 'name' | 'target'>,
  subject: Pick<Subject, 'kind' | 'name'>,
  world: MountWorld,
  writes: boolean,
): Pick<MountTrouble, 'notes' | 'command' | 'adds'> {
  if (subject.kind !== 'tool') return { notes: [] }
  const mode = writes || holdsItself(world.project.loaded.config, subject) ? 'rw' : 'ro'
  if (mode === 'rw' && !isWritableFor(subject, target, world)) return { notes: [NOT_REPLACEABLE] }
  return {
    notes: [],
    command: typedMount({ tool: subject.name, name, target, mode }, world),
    adds: { rule: mountRule(name, mode), target },
  }
}

/** SPEC 4.12: a shipped tool replaces a file in its directory; whoever writes in place needs no more than the file. */
const isWritableFor = (
  subject: Pick<Subject, 'kind' | 'name'>,
  target: string,
  { project: { root, guard, loaded } }: MountWorld,
): boolean => {
  if (!holdsItself(loaded.config, subject) || lookAt(target)?.isDirectory() !== false) return true
  return isReplaceable(target, { home: guard.home, root: root.path })
}

/** As `mount add` takes it: a tool that is a program of its own. */
export const canMount = ({ kind, name }: Pick<Subject, 'kind' | 'name'>, { conversation }: Config): boolean =>
  kind === 'tool' && conversation.tools[name]?.source.kind === 'local' && isMountable(name)

function pathOrNothing(text: string): RelPath | undefined {
  try {
    return parseRelPath(text)
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}
