import { DEFAULT_PORTS } from './net/target.ts'
import { CAPABILITIES, type Capability, type FsRule, type NetRule } from './rules.ts'
import { shellWord, tomlString } from './text.ts'

const ROOT = '.'

/** One rule as configuration has it (decision 0024). */
export type RuleData = Readonly<Record<string, string | number | boolean>>

export interface FsWish {
  readonly capability: Capability
  /** Canonical, workspace-relative. */
  readonly target: string
  /** The target is an entry that is a link, which is removed, moved or replaced itself (SPEC 1.3). */
  readonly isLink?: true | undefined
  /** The rule that said no; undefined when none spoke of it. */
  readonly rule: FsRule | undefined
  /** The rules there are. */
  readonly rules: readonly FsRule[]
}

/**
 * SPEC 4.7: the rules that would allow it, the one that grants least first. Rules inherit nothing (SPEC 1.1), so each
 * restates what the one it replaces there grants. Which of them the rest of a configuration and the machine let work is found
 * out by trying.
 */
export function fsRulesAllowing({ capability, target, isLink, rule, rules }: FsWish): readonly RuleData[] {
  const covering = rules.filter((each) => covers(each.path, target))
  const around = deepest(covering.filter((each) => each.guard === undefined))
  // The guard takes back writing. What else is withheld there is withheld by what lies around it, and no reason to lift it.
  const guard = rule?.guard !== undefined && WRITING.includes(capability) ? rule : undefined
  const mount = rule?.guard === undefined ? rule : around
  // Within a mount only a rule at the mount point itself rides on the approval that was given.
  if (mount?.external)
    return guard || mount.approvedTarget === undefined
      ? []
      : [ruleData(mount.path, [...mount.grants, capability], mount)]
  // SPEC 4.10: what is guarded, or a part of it, is opened by its name, and by nothing above it (decision 0496).
  const paths = guard ? upwards(target).filter((path) => covers(guard.path, path)) : upwards(target)
  // A rule on a link speaks of the link's target: it would grant that, and the link is refused as before (decision 0496).
  const named = isLink ? paths.filter((path) => path !== target) : paths
  return named.flatMap((path) => {
    const there = path === target ? rule : deepest(covering.filter((each) => covers(each.path, path)))
    const least = [...(there?.grants ?? []), capability]
    // Programs replace files by renaming others. Within what is guarded that takes the rights of what lies around it.
    const larger = [...largerFor(path, covering), ...(guard && around ? [[...around.grants]] : [])]
    return bySize(larger.map((more) => new Set([...least, ...more]))).map((grants) => ruleData(path, grants))
  })
}

const WRITING: readonly Capability[] = ['create', 'update', 'delete']

/**
 * Where nothing of a wider rule can be withheld but all writing or everything, the least that works is more than was asked for:
 * with what the wider rules grant of writing, or all of it.
 */
function largerFor(path: string, covering: readonly FsRule[]): readonly (readonly Capability[])[] {
  const wider = covering.filter((each) => each.guard === undefined && depth(each.path) < depth(path))
  const writing = WRITING.filter((each) => wider.some(({ grants }) => grants.has(each)))
  return [[], writing, WRITING].flatMap((more) => [more, ['read', ...more]] as const)
}

/** Each once. */
const bySize = (sets: readonly ReadonlySet<Capability>[]): readonly ReadonlySet<Capability>[] =>
  sets
    .filter((set, i) => !sets.slice(0, i).some((each) => isSame(each, set)))
    .toSorted((a, b) => a.size - b.size)

const isSame = (a: ReadonlySet<Capability>, b: ReadonlySet<Capability>): boolean =>
  a.size === b.size && [...a].every((each) => b.has(each))

/** All of them cover one path, so the longest is the most specific; on equal specificity the last wins (SPEC 1.1). */
const deepest = (covering: readonly FsRule[]): FsRule | undefined =>
  covering.reduce<FsRule | undefined>(
    (found, each) => (found && depth(each.path) < depth(found.path) ? found : each),
    undefined,
  )

const depth = (path: string): number => (path === ROOT ? 0 : path.split('/').length)

const covers = (path: string, target: string): boolean =>
  path === ROOT || path === target || target.startsWith(`${path}/`)

/** The path and every directory above it, the root last. */
function upwards(path: string): readonly string[] {
  if (path === ROOT) return [path]
  const slash = path.lastIndexOf('/')
  return [path, ...upwards(slash < 0 ? ROOT : path.slice(0, slash))]
}

const ruleData = (
  path: string,
  grants: Iterable<Capability>,
  { external = false }: Partial<FsRule> = {},
): RuleData => {
  const all = new Set(grants)
  return {
    path,
    ...(external ? { external } : {}),
    ...Object.fromEntries(CAPABILITIES.filter((each) => all.has(each)).map((each) => [each, true])),
  }
}

/** What is known of a place on the network; the outside of a tunnel shows neither scheme nor path. */
export interface NetWish {
  readonly host: string
  readonly port: number | undefined
  readonly scheme?: string
  /** As in `NetTarget`. */
  readonly segments?: readonly string[]
}

/**
 * That path, scheme and port, and nothing else there: as specific as any rule that said no, and later (SPEC 1.1). The port that a
 * scheme has anyway is named only where such a rule names one (decision 0515).
 */
export function netRuleAllowing(
  { host, port, scheme, segments = [] }: NetWish,
  rule: Pick<NetRule, 'scheme' | 'port' | 'pathPrefix'> = {},
): RuleData {
  const prefix = segments.length > 0 && hasPaths(scheme) ? pathOf(segments) : rule.pathPrefix
  const known = { scheme: scheme ?? rule.scheme, port: port ?? rule.port }
  const isUsual = known.scheme !== undefined && known.port === DEFAULT_PORTS[known.scheme]
  const needsPort = known.port !== undefined && (!isUsual || rule.port !== undefined)
  return {
    host,
    ...(known.scheme === undefined ? {} : { scheme: known.scheme }),
    ...(needsPort ? { port: known.port } : {}),
    ...(prefix === undefined ? {} : { path_prefix: prefix }),
    allow: true,
  }
}

/** Of anything but the web nobody sees one, so that a rule with a path would never match (SPEC 4.5). */
const hasPaths = (scheme: string | undefined): boolean =>
  scheme === undefined || /^(?:https?|wss?)$/.test(scheme)

const pathOf = (segments: readonly string[]): string => `/${segments.map(encodeSegment).join('/')}`

/**
 * The same as a flag of `cordon run`. Of a connection whose port is all that is known, the port tells the scheme: a host alone
 * would be both ports of the web (decision 0515).
 */
export function allowNetFlag(wish: FlagWish): string {
  const { host, port, segments = [], path, scheme = schemeAt(port) } = wish
  const isUsual = port === undefined || (scheme !== undefined && port === DEFAULT_PORTS[scheme])
  const place = `${scheme === undefined ? '' : `${scheme}://`}${host}${isUsual ? '' : `:${port}`}`
  const part = path ?? (segments.length > 0 ? pathOf(segments) : '')
  return `--allow-net ${shellWord(`${place}${hasPaths(scheme) ? part : ''}`)}`
}

const schemeAt = (port: number | undefined): string | undefined =>
  port === 443 ? 'https' : port === 80 ? 'http' : undefined

interface FlagWish extends Omit<NetWish, 'port'> {
  readonly port?: number | undefined
  /** As it was written, where it was not taken apart. */
  readonly path?: string | undefined
}

/** A segment is bytes; what is not plain is written as SPEC 1.5 decodes it. */
const encodeSegment = (segment: string): string =>
  segment.replaceAll(
    /[^\w.~!$&'()*+,;=:@-]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

export const envRuleAllowing = (name: string): RuleData => ({ name, read: true })

/** An edit as `cordon config set` takes it. */
export interface Edit {
  readonly key: string
  readonly value: string
  /** A layer that has a flag of its own; undefined: the workspace's file. */
  readonly layer?: string | undefined
}

/** SPEC 4.2: the first rule for files replaces the default, so that one is written out beside it. */
export const editFor = (key: string, rule: RuleData, before: 'default' | 'rules'): Edit => ({
  key,
  value: before === 'default' ? `[${formatRule(DEFAULT)}, ${formatRule(rule)}]` : `+${formatRule(rule)}`,
})

const DEFAULT: RuleData = { path: ROOT, read: true, write: true, execute: true }

/** Whether these are what SPEC 4.2 grants where nobody wrote a rule, or the same. */
export const isDefaultFs = (rules: readonly FsRule[]): boolean => {
  const [only, ...more] = rules.filter(({ guard }) => guard === undefined)
  return only?.path === ROOT && only.grants.size === CAPABILITIES.length && more.length === 0
}

/** In one line, as a value in TOML. */
export const formatRule = (rule: RuleData): string =>
  `{ ${Object.entries(rule)
    .map(([key, value]) => `${key} = ${typeof value === 'string' ? tomlString(value) : value}`)
    .join(', ')} }`

/** What is printed can be pasted into a shell in the workspace. */
export const setCommand = ({ key, value, layer }: Edit): string =>
  `cordon config set ${layer === undefined ? '' : `--${layer} `}${shellWord(key)} ${shellWord(value)}`

export interface MountWish {
  /** Undefined: it is not known, and whoever reads it puts the name in. */
  readonly tool: string | undefined
  /** From where it is typed. */
  readonly name: string
  /** A word of the shell already. */
  readonly target: string
  readonly mode: 'ro' | 'rw'
}

/** SPEC 3.3: a mount for one tool. One for all of them would take from the others what they have. */
export const mountCommand = ({ tool = 'TOOL', name, target, mode }: MountWish): string =>
  `cordon mount add ${shellWord(tool)}:${shellWord(name)}=${target}${mode === 'rw' ? ':rw' : ''}`

/** SPEC 3.2: where a mount leads is for the person's shell to say, not for a conversation. */
export const whereLinkLeads = (name: string): string => `"$(readlink -f ${shellWord(name)})"`

/** SPEC 3.3: such a mount is made writable where it was made, not by a rule beside it. */
export const isReadOnlyMount = ({ external, approvedTarget, grants }: FsRule): boolean =>
  external && approvedTarget !== undefined && !WRITING.some((each) => grants.has(each))

/** The access of a tool, which may not know its own name. */
export const toolKey = (tool: string | undefined, axis: 'fs' | 'net' | 'env'): string =>
  `conversation.tools.${tool === undefined ? 'TOOL' : /^[\w-]+$/.test(tool) ? tool : tomlString(tool)}.access.${axis}`

/** SPEC 1.3, decision 0496: what is to be known of an edit that lets a link go, in words: it is for the directory that holds it. */
export const LINK_GOES_WITH =
  'no rule is for a link alone, so this one is for its directory: it also grants delete on everything there that no other rule is for'

/** The lines of a denial (SPEC 1.4). */
export const allowLines = (tool: string | undefined, edit: Edit): readonly string[] => [
  setCommand(edit),
  ...(tool === undefined ? ['(in the workspace, with the name of the tool for TOOL)'] : []),
]
