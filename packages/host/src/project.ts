import { join } from 'node:path'
import { type LoadedConfig, mergeSources, readAmbientSources, type Source } from '@cordon/config'
import { CordonError, openAmbientRoot, type Root, show } from '@cordon/policy'
import { openWorkspace, type Surroundings, userConfigFile, type Workspace } from '@cordon/workspace'
import { BUILT_IN_TOOLS } from './built-in-tools.ts'

/** A workspace with its configuration read and merged: what every command that decides something starts from. */
export interface Project {
  readonly workspace: Workspace
  readonly root: Root
  readonly sources: readonly Source[]
  readonly loaded: LoadedConfig
}

export interface ProjectOptions {
  readonly cwd: string
  readonly surroundings: Surroundings
  /** The `--cfg` arguments, in order. */
  readonly cfg: readonly string[]
}

/** No directory upwards is marked by `.cordon/`. */
export class NoWorkspaceError extends CordonError {
  readonly code = 'NO_WORKSPACE'
  constructor(cwd: string) {
    super(
      `no workspace at or above ${show(cwd)}\n  fix: run \`cordon init\` in the directory you want to work in`,
    )
  }
}

/** Reads with the process's authority; throws ConfigError with every problem of every layer. */
export function openAmbientProject(options: ProjectOptions): Project {
  const workspace = requireWorkspace(options)
  const sources = [BUILT_IN_TOOLS, ...readAmbientSources(placesOf(workspace, options))]
  return { workspace, root: openAmbientRoot(workspace.root), sources, loaded: mergeSources(sources) }
}

export function requireWorkspace({ cwd, surroundings }: ProjectOptions): Workspace {
  const workspace = openWorkspace(cwd, surroundings)
  if (!workspace) throw new NoWorkspaceError(cwd)
  return workspace
}

/** SPEC 2: where the layers of this workspace are read from. */
export function placesOf(
  workspace: Workspace,
  { cwd, surroundings, cfg }: ProjectOptions,
): Parameters<typeof readAmbientSources>[0] {
  return {
    root: workspace.root,
    cwd,
    userConfigFile: userConfigFile(surroundings),
    userWorkspaceDir: workspace.local,
    env: surroundings.env,
    cfg,
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
