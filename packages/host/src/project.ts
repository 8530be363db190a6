import { dirname, join } from 'node:path'
import { ConfigError, type LoadedConfig, mergeSources, readAmbientSources, type Source } from '@cordon/config'
import {
  below,
  type CanonicalPath,
  CordonError,
  lookAt,
  openAmbientRoot,
  type Root,
  show,
} from '@cordon/policy'
import { UnplannableError, whyNoWorkspace } from '@cordon/sandbox'
import {
  type ConversationRef,
  isKept,
  isNews,
  type MarksThatCount,
  marksThatDoNotCount,
  notedDirectories,
  noteDirectories,
  openWorkspace,
  packagesDir,
  repositoriesAround,
  secretDirs,
  strangerIn,
  trailOf,
  type Surroundings,
  unmarkedWorkspace,
  upwards,
  userCacheDir,
  userConfigFile,
  wasNoted,
  type Workspace,
} from '@cordon/workspace'
import { BUILT_IN_TOOLS } from './built-in-tools.ts'
import { refuseForeignDefault } from './compile/reserved.ts'
import { SENSITIVE } from './compile/sensitive.ts'
import { type ConversationLayer, withoutGone } from './conversation/layer.ts'
import { GuardSurvey } from './guard/survey.ts'
import { importedFiles } from './mcp/clients/records.ts'
import { type Gate, incompleteNotices, isWhole, passGate, type TrustTerms } from './trust/gate.ts'
import { finishKilledRuns, foundByOthers } from './confine/unfinished.ts'

/** A workspace with its configuration read and merged: what every command that decides something starts from. */
export interface Project extends Pick<Gate, 'waiting' | 'unreadable' | 'notices'> {
  readonly workspace: Workspace
  readonly root: Root
  /** Where the person stands, as the kernel names it: what they type is written from there. */
  readonly cwd: string
  readonly sources: readonly Source[]
  readonly loaded: LoadedConfig
  /** Whose layer is among the sources; undefined when none is. */
  readonly conversation: ConversationRef | undefined
  /** SPEC 4.10: what nothing confined may change here. */
  readonly guard: GuardSurvey
  /** Files of MCP clients that servers were imported from: the client starts what they say. */
  readonly clientFiles?: readonly string[]
}

export interface ProjectOptions {
  /** Where the person stands, as the kernel names it: without links. */
  readonly cwd: string
  readonly surroundings: Surroundings
  /** The `--cfg` arguments, in order. */
  readonly cfg: readonly string[]
  /** SPEC 2: the layer of the conversation that the command is about. */
  readonly conversation?: ConversationLayer | undefined
  /** Profiles that come with Cordon, where they are asked for. */
  readonly shipped?: readonly Source[]
  /** What a command's own flags add, as the last layer. */
  readonly flags?: (workspace: Workspace) => readonly Source[]
  /**
   * `allow`: without a mark the repository around is taken, or the current directory, as it is, with nothing but defaults.
   * `here`: the current directory, whatever lies around it.
   */
  readonly unmarked?: 'refuse' | 'allow' | 'here'
  /** SPEC 4.11: what is told once is not told, and so still to be told. */
  readonly quiet?: boolean
  /** Which marks make a workspace; by default those that this user made or used (docs/decisions/0128). */
  readonly marks?: MarksThatCount
  /** SPEC 2.1. Absent: the files are needed, and nobody can be asked about them. */
  readonly trust?: TrustTerms | undefined
  /** The workspace, where it was looked for already. */
  readonly found?: FoundWorkspace
}

/** No directory upwards is marked by `.cordon/`. */
export class NoWorkspaceError extends CordonError {
  readonly code = 'NO_WORKSPACE'
  constructor(cwd: string, fix = 'run `cordon init` in the directory you want to work in') {
    super(`no workspace at or above ${show(cwd)}\n  fix: ${fix}`)
  }
}

/** Between one look at it and the next, somebody put a link where a directory was. */
class ExchangedError extends CordonError {
  readonly code = 'NO_WORKSPACE'
  constructor(path: string) {
    super(`${show(path)} leads elsewhere by now\n  fix: start again, and see who changes it`)
  }
}

/**
 * Reads with the process's authority, and takes of the files what is trusted (SPEC 2.1). Throws ConfigError with every
 * problem of every layer, NotTrustedError when the files are needed.
 */
export async function openAmbientProject(options: ProjectOptions): Promise<Project> {
  const { workspace, isMarked } = options.found ?? findWorkspace(options)
  // Before anything of it is read: what a killed run left is not to be obeyed.
  const finished = finishKilledRuns(workspace.unfinished)
  const found = readAmbientSources(placesOf(workspace, options))
  const guard = guardOf(workspace, options)
  const gate = await passGate(
    workspace,
    options.surroundings,
    found,
    options.conversation,
    guard,
    options.trust,
  )
  const all = isWhole(gate)
  const sources = withConversation(
    [BUILT_IN_TOOLS, ...(options.shipped ?? []), ...gate.sources],
    gate.conversation,
    { all },
  )
  const loaded = load(sources, { all })
  const root = openAmbientRoot(workspace.root)
  if (root.path !== workspace.root) throw new ExchangedError(workspace.root)
  const imported = importedFiles(options.surroundings)
  return {
    workspace,
    root,
    cwd: options.cwd,
    sources,
    loaded,
    conversation: options.conversation?.ref,
    guard,
    clientFiles: imported.files,
    waiting: gate.waiting,
    unreadable: gate.unreadable,
    notices: [
      ...(isMarked || options.quiet ? [] : newlyWide(workspace, options)),
      ...workspace.passedOver.map(notInEffect),
      ...finished,
      ...gate.notices,
      ...incompleteNotices(loaded),
      ...imported.notices,
    ],
  }
}

/** SPEC 2: every command validates all of it. */
function load(sources: readonly Source[], { all }: { readonly all: boolean }): LoadedConfig {
  const loaded = mergeSources(sources, { all })
  refuseForeignDefault(loaded)
  return loaded
}

const notInEffect = (dir: string): string =>
  `${show(dir)} is marked as a workspace, and not in effect; if it is yours: run \`cordon init\` in it`

/** A person's own file may be a link, to where their dotfiles are kept: so each is named beside its directory. */
export const guardOf = (workspace: Workspace, { cwd, surroundings }: ProjectOptions): GuardSurvey => {
  const { user, 'user-workspace': local } = layerFile(workspace, surroundings)
  const secret = secretDirs(surroundings, cwd)
  return new GuardSurvey({
    root: workspace.root,
    cwd,
    home: surroundings.home,
    own: [dirname(user), ...secret, userCacheDir(surroundings)],
    secret,
    installed: [packagesDir(surroundings)],
    ownFiles: [user, local],
    gitConfigs: gitConfigsOf(surroundings),
    wasAround: (dir) => wasNoted(AROUND, dir as CanonicalPath, surroundings),
    noteAround: (dir) => void isNews(AROUND, dir as CanonicalPath, surroundings),
    knownBelow: (place) => notedDirectories(WORK, place as CanonicalPath, surroundings),
    noteBelow: (place, dirs) => noteDirectories(WORK, place as CanonicalPath, dirs, surroundings),
    gitlinksOfOthers: () => foundByOthers(workspace.unfinished).gitlinks,
  })
}

/** That others' repositories or projects lie below a directory (decision 0475). */
const AROUND = 'repositories'
/** Which directories below one somebody's work is in. */
const WORK = 'work'

/**
 * Where git looks for what holds in every repository. Its variables add to that and take nothing away: a client hands us those
 * that a server's entry has, and the git that the person starts later has others.
 */
function gitConfigsOf({ home, env }: Surroundings): readonly string[] {
  const xdg = env['XDG_CONFIG_HOME'] || join(home, '.config')
  const all = ['/etc/gitconfig', join(xdg, 'git/config'), join(home, '.gitconfig')]
  const named = [env['GIT_CONFIG_SYSTEM'], env['GIT_CONFIG_GLOBAL']].flatMap((path) => path || [])
  return [...new Set([...all, ...named])].filter((path) => path.startsWith('/'))
}

/** The project as it would be if everything were trusted: to check it, never to run anything (SPEC 2.1). */
export function withWaiting(project: Project): Project {
  if (project.unreadable.length > 0) throw new ConfigError(project.unreadable)
  if (project.waiting.length === 0) return project
  const all = project.waiting.flatMap((item) => item.sources)
  const foreign = all.filter(({ layer }) => layer === 'conversation')
  const files = all.filter(({ layer }) => layer !== 'conversation')
  // Among the directories' files the deeper one comes later; all else is put in its place by its layer.
  const others = [...project.sources, ...files].toSorted((a, b) => depthOf(a) - depthOf(b))
  const sources = withConversation(others, foreign, { all: true })
  return { ...project, sources, loaded: load(sources, { all: true }), waiting: [] }
}

const depthOf = (source: Source): number =>
  source.layer === 'directory' && 'text' in source ? (source.path?.split('/').length ?? 0) : 0

/** With the conversation's deltas, as far as they speak of what is configured. */
function withConversation(
  others: readonly Source[],
  conversation: readonly Source[],
  { all }: { readonly all: boolean },
): readonly Source[] {
  if (conversation.length === 0) return others
  const { config } = mergeSources(others, { all })
  const current = withoutGone(conversation, {
    tools: new Set(Object.keys(config.conversation.tools)),
    servers: new Set(Object.keys(config.providers.mcp)),
  })
  return [...others, ...current] // merging puts every layer in its place
}

type Start = Pick<ProjectOptions, 'cwd' | 'surroundings' | 'unmarked' | 'marks'>

export const requireWorkspace = (place: Start): Workspace => findWorkspace(place).workspace

export interface FoundWorkspace {
  readonly workspace: Workspace
  /** By a mark that counts. */
  readonly isMarked: boolean
}

export function findWorkspace({ cwd, surroundings, unmarked, marks }: Start): FoundWorkspace {
  const workspace = openWorkspace(cwd, surroundings, marks)
  refuseOwn(cwd, surroundings)
  if (workspace && unmarked !== 'here') return { workspace: fit(workspace, cwd), isMarked: true }
  if (unmarked === undefined || unmarked === 'refuse') {
    const [mark] = marksThatDoNotCount(cwd, surroundings)
    throw new NoWorkspaceError(cwd, mark && `${notInEffect(mark)}, or work there`)
  }
  const root = unmarked === 'here' ? cwd : unmarkedRoot(cwd as CanonicalPath, surroundings)
  const here = fit(unmarkedWorkspace(root, surroundings), cwd)
  refuseHome(here.root, surroundings)
  refuseSecrets(here.root, surroundings)
  refuseShared(here.root)
  return { workspace: here, isMarked: false }
}

/**
 * SPEC, "Words". The nearest repository around that is a fit workspace: it is what git itself takes, and the least of those
 * there are. But a directory from here up to the outermost for which this person keeps something of their own stays the
 * workspace that it was: a `.git` that a command made must not take the next one away from it (decision 0268).
 */
function unmarkedRoot(cwd: CanonicalPath, surroundings: Surroundings): CanonicalPath {
  const around = repositoriesAround(cwd, surroundings).filter((each) => whyNoWorkspace(each) === undefined)
  const outermost = around.at(-1)
  if (outermost === undefined || outermost === cwd) return cwd
  const between = upwards(cwd).filter((dir) => below(outermost, dir) !== undefined)
  return between.find((dir) => isKept(dir, surroundings)) ?? around[0]!
}

/** Said once: it is more than the directory one stands in. */
function newlyWide({ root }: Workspace, { cwd, surroundings }: ProjectOptions): readonly string[] {
  if (root === cwd) return []
  const around = repositoriesAround(cwd as CanonicalPath, surroundings)
  if (!around.includes(root) || !isNews('wide', root, surroundings)) return []
  return [
    `the workspace is ${show(root)}, the git repository around here; with --here it is just this directory`,
  ]
}

/** SPEC 4.9: a directory where secrets live is a workspace only if somebody marked it. A link in a recipe or a task may have led here. */
function refuseSecrets(directory: string, { home }: Pick<Surroundings, 'home'>): void {
  const pattern = SENSITIVE.find(
    (each) => each.startsWith('~/') && below(join(home, each.slice(2)), directory) !== undefined,
  )
  if (pattern !== undefined)
    throw new NoWorkspaceError(
      directory,
      `start in a project's directory; secrets live here (${pattern}). If you mean it: run \`cordon init\` here`,
    )
}

/** SPEC 4.10: where approvals and keys are kept nothing is granted, so nothing could be done there. */
function refuseOwn(cwd: string, surroundings: Surroundings): void {
  const own = secretDirs(surroundings, cwd).map((dir) => trailOf('/', dir).at(-1)?.path ?? dir)
  if (own.some((dir) => below(dir, cwd) !== undefined))
    throw new NoWorkspaceError(
      cwd,
      "start in a project's directory; Cordon keeps its approvals and keys here",
    )
}

/** `/tmp` and its like, where everybody may make files and nobody removes another's: there lies what other programs are at. */
function refuseShared(directory: string): void {
  const mode = lookAt(directory)?.mode ?? 0
  if ((mode & SHARED) === SHARED)
    throw new NoWorkspaceError(
      directory,
      "start in a directory of your own; this one is everybody's, and what other programs keep in it would be given away. If you mean it: run `cordon init` here",
    )
}

/** Sticky, and writable for all. */
const SHARED = 0o1002

/** A home, or what is above it, is no workspace: who types a command there does not mean everything they own. */
export function refuseHome(directory: string, { home }: Pick<Surroundings, 'home'>): void {
  const real = trailOf('/', home).at(-1)?.path ?? home
  if ([home, real].some((path) => below(directory, path) !== undefined))
    throw new NoWorkspaceError(
      directory,
      "start in a project's directory; your home, and what is above it, would give away all you have",
    )
}

/** Checked for a marked directory as well: the mark may have come with the files. */
function fit(workspace: Workspace, cwd: string): Workspace {
  // The kernel names the current directory without links. If the root is not above it now, somebody put a link there since.
  if (below(workspace.root, cwd) === undefined) throw new ExchangedError(cwd)
  refuseUnfit(workspace.root)
  return workspace
}

export function refuseUnfit(directory: string): void {
  const unfit = whyNoWorkspace(directory)
  if (unfit !== undefined) throw new UnplannableError(unfit)
}

/** SPEC 2: where the layers of this workspace are read from. */
export function placesOf(
  workspace: Workspace,
  { cwd, surroundings, cfg, flags = () => [] }: ProjectOptions,
): Parameters<typeof readAmbientSources>[0] {
  return {
    root: workspace.root,
    cwd,
    userConfigFile: userConfigFile(surroundings),
    userWorkspaceDir: workspace.local,
    env: surroundings.env,
    cfg,
    flags: flags(workspace),
    strangerIn: (stat) => strangerIn(stat, surroundings),
  }
}

/** The files a person edits, by the layer they make. */
export const layerFile = (
  workspace: Workspace,
  surroundings: Surroundings,
): Record<EditableLayer, string> => ({
  user: userConfigFile(surroundings),
  workspace: join(workspace.shared, 'config.toml'),
  'user-workspace': join(workspace.local, 'config.toml'),
})

export type EditableLayer = 'user' | 'workspace' | 'user-workspace'
