import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { newConfigText, writeConfigFile } from '@cordon/config'
import { type Holder, initWorkspace, type Surroundings, type Workspace } from '@cordon/workspace'
import { writeSchemaBeside } from './schema-file.ts'

export interface Initialised {
  readonly workspace: Workspace
  /** Undefined when the workspace had a configuration already; it is never touched. */
  readonly configFile: string | undefined
}

/** Marks a directory as a workspace and gives it a configuration to start from. Safe to repeat. */
export async function initProject(
  directory: string,
  surroundings: Surroundings,
  holder: Holder,
): Promise<Initialised> {
  const workspace = await initWorkspace(directory, surroundings, holder)
  const file = join(workspace.shared, 'config.toml')
  if (existsSync(file)) return { workspace, configFile: undefined }
  writeConfigFile(file, newConfigText() + STARTER, undefined)
  writeSchemaBeside(file)
  return { workspace, configFile: file }
}

/** Everything here is a comment: an untouched workspace runs on the defaults. */
const STARTER = `
# What a tool may touch. Without rules a tool has the workspace (read, write, execute), no network, and a
# minimal environment. One rule on an axis makes that axis default-deny. Ask with \`cordon why\`.
#
# [[conversation.tools.fs_modify_file.access.fs]]
# path = "."
# read = true
#
# [[conversation.tools.fs_modify_file.access.fs]]
# path = "src"
# read = true
# write = true
`
