import { join } from 'node:path'
import { type LoadedConfig, mergeSources, readAmbientSources, type Source } from '@cordon/config'
import { below, CordonError, openAmbientRoot, type Root, show } from '@cordon/policy'
import {
  type ConversationRef,
  openWorkspace,
  type Surroundings,
  unmarkedWorkspace,
  userConfigFile,
  type Workspace,
} from '@cordon/workspace'
import { BUILT_IN_TOOLS } from './built-in-tools.ts'
import { type ConversationLayer, withoutGone } from './conversation/layer.ts'

/** A workspace with its configuration read and merged: what every command that decides something starts from. */
export interface Project {
  readonly workspace: Workspace
  readonly root: Root
  readonly sources: readonly Source[]
  readonly loaded: LoadedConfig
  /** Whose layer is among the sources; undefined when none is. */
  readonly conversation: ConversationRef | undefined
}

export interface ProjectOptions {
  readonly cwd: string
  readonly surroundings: Surroundings
  /** The `--cfg` arguments, in order. */
  readonly cfg: readonly string[]
  /** SPEC 2: the layer of the conversation that the command is about. */
  readonly conversation?: ConversationLayer | undefined
  /** What a command's own flags add, as the last layer. */
  readonly flags?: (workspace: Workspace) => readonly Source[]
  /** `allow`: without a workspace the current directory is taken as it is, with nothing but defaults. */
  readonly unmarked?: 'refuse' | 'allow'
}

/** No directory upwards is marked by `.cordon/`. */
export class NoWorkspaceError extends CordonError {
  readonly code = 'NO_WORKSPACE'
  constructor(cwd: string, fix = 'run `cordon init` in the directory you want to work in') {
    super(`no workspace at or above ${show(cwd)}\n  fix: ${fix}`)
  }
}

/** Reads with the process's authority; throws ConfigError with every problem of every layer. */
export function openAmbientProject(options: ProjectOptions): Project {
  const workspace = requireWorkspace(options)
  const others = [BUILT_IN_TOOLS, ...readAmbientSources(placesOf(workspace, options))]
  const sources = withConversation(others, options.conversation)
  return {
    workspace,
    root: openAmbientRoot(workspace.root),
    sources,
    loaded: mergeSources(sources),
    conversation: options.conversation?.ref,
  }
}

/** With the conversation's deltas, as far as they speak of what is configured. */
function withConversation(
  others: readonly Source[],
  conversation: ConversationLayer | undefined,
): readonly Source[] {
  if (!conversation || conversation.sources.length === 0) return others
  const { config } = mergeSources(others)
  const current = withoutGone(conversation.sources, {
    tools: new Set(Object.keys(config.conversation.tools)),
    servers: new Set(Object.keys(config.providers.mcp)),
  })
  return [...others, ...current] // merging puts every layer in its place
}

export function requireWorkspace({
  cwd,
  surroundings,
  unmarked,
}: Pick<ProjectOptions, 'cwd' | 'surroundings' | 'unmarked'>): Workspace {
  const workspace = openWorkspace(cwd, surroundings)
  if (workspace) return workspace
  if (unmarked !== 'allow') throw new NoWorkspaceError(cwd)
  const here = unmarkedWorkspace(cwd, surroundings)
  // Nobody said that everything they own is to be a workspace.
  if (below(here.root, surroundings.home) !== undefined)
    throw new NoWorkspaceError(
      cwd,
      "start in a project's directory; your home, and what is above it, would give away all you have",
    )
  return here
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
