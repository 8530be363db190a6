import { join } from 'node:path'
import {
  ConfigError,
  type ConfigProblem,
  readAmbientSources,
  readAmbientText,
  type Source,
} from '@cordon/config'
import {
  type ApprovalStore,
  type ConfigTrust,
  type Surroundings,
  type Workspace,
  type ServerSeen,
} from '@cordon/workspace'
import { BUILT_IN_TOOLS } from '../built-in-tools.ts'
import { definedServers } from '../mcp/define.ts'
import { guardOf, placesOf, type ProjectOptions, requireWorkspace } from '../project.ts'
import { storeOf } from './gate.ts'
import { finishKilledRuns } from '../confine/unfinished.ts'
import { withGuarded } from './guarded.ts'
import { admittedSources, isOfFiles, itemsOf, sortItems, type TrustItem, type Waiting } from './items.ts'

/** `cordon trust`: what speaks for the files here, and what was trusted elsewhere in the workspace (decision 0127). */
export interface TrustSurvey {
  readonly trusted: readonly (TrustItem & { readonly was: ConfigTrust })[]
  readonly waiting: readonly Waiting[]
  /** Trusted before, and not on the way from the root to here, or gone. */
  readonly elsewhere: readonly Elsewhere[]
  /** What counts already: what a person said, and what is trusted. */
  readonly inEffect: readonly Source[]
  /** The MCP servers that were used here, as they were accepted, and what is new about them. */
  readonly servers: readonly ServerSeen[]
  /** Of them, those that some file still defines, whether it is trusted or not. */
  readonly defined: ReadonlySet<string>
  readonly unreadable: readonly ConfigProblem[]
  readonly warnings: readonly string[]
  readonly root: string
  readonly store: ApprovalStore
}

interface Elsewhere {
  readonly was: ConfigTrust
  readonly state: 'trusted' | 'changed' | 'missing'
}

/** Reads what waits, and trusts nothing. What a killed run left is no file to be asked about. */
export async function surveyTrust(options: ProjectOptions & { readonly pid: number }): Promise<TrustSurvey> {
  const workspace = requireWorkspace(options)
  const finished = finishKilledRuns(workspace.unfinished)
  const { sources, problems } = readAmbientSources({ ...placesOf(workspace, options), env: {} })
  const mistyped = problems.filter(({ origin }) => origin.layer === 'command-line')
  if (mistyped.length > 0) throw new ConfigError(mistyped)
  const store = storeOf(workspace, options.surroundings, options)
  const approvals = await store.read()
  const { trusted, waiting } = sortItems(itemsOf(sources, options.conversation), approvals)
  const inEffect = [BUILT_IN_TOOLS, ...admittedSources({ sources }, trusted)]
  const guarded = <T extends TrustItem>(items: readonly T[]): readonly T[] =>
    withGuarded(items, guardOf(workspace, options), workspace, inEffect)
  const here = new Set([...trusted, ...waiting].map(({ path }) => path))
  const paths = new Set(approvals.configs.map(({ path }) => path))
  return {
    trusted: guarded(trusted).map((item) => ({ ...item, was: approvals.lastTrusted(item.path)! })),
    waiting: guarded(waiting),
    elsewhere: [...paths]
      .filter((path) => !here.has(path))
      .map((path) => ({ was: approvals.lastTrusted(path)!, state: stateOf(workspace, path, approvals) })),
    inEffect,
    servers: approvals.servers,
    defined: new Set(sources.flatMap((source) => ('text' in source ? definedServers(source.text) : []))),
    unreadable: problems.filter(isOfFiles),
    warnings: [...finished, ...approvals.warnings],
    root: workspace.root,
    store,
  }
}

function stateOf(
  { root }: Workspace,
  path: string,
  approvals: Parameters<typeof sortItems>[1],
): Elsewhere['state'] {
  // What another conversation says is not read for this; that it is trusted is all there is to know.
  if (path.startsWith('conversations/')) return 'trusted'
  const read = readAmbientText({ layer: 'directory', label: path, file: join(root, path) })
  if (read.kind === 'missing') return 'missing'
  return read.kind === 'text' && approvals.trusts(path, read.text) ? 'trusted' : 'changed'
}

/** The workspace's own file, by the path it is trusted under. */
const WORKSPACE_FILE = '.cordon/config.toml'

/**
 * SPEC 2.1: a person has changed the workspace's file through Cordon, and it was trusted or missing before. Called after the
 * write: a kill between the two leaves a file that is not trusted, and never one that nobody saw and that is.
 */
export const keepTrusted = (
  workspace: Workspace,
  {
    surroundings,
    trust,
  }: { readonly surroundings: Surroundings; readonly trust?: { readonly pid: number } | undefined },
  text: string,
): Promise<void> =>
  storeOf(workspace, surroundings, { pid: trust?.pid ?? 0 }).trust([{ path: WORKSPACE_FILE, text }])
