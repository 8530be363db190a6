import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LockHolder, initWorkspace, type Surroundings, type Workspace } from '@cordon/workspace'
import { finishKilledRuns } from './confine/unfinished.ts'
import { newConfigText, writeConfigFile, writeSchemaBeside } from './config-file.ts'
import { refuseHome, refuseUnfit } from './project.ts'
import { keepTrusted } from './trust/change.ts'

export interface Initialised {
  readonly workspace: Workspace
  /** Undefined when the workspace had a configuration already; it is never touched. */
  readonly configFile: string | undefined
  /** What runs that were killed had left. */
  readonly notices: readonly string[]
}

/** Marks a directory as a workspace and gives it a configuration to start from. Safe to repeat. */
export async function initProject(
  directory: string,
  surroundings: Surroundings,
  holder: LockHolder,
): Promise<Initialised> {
  if (existsSync(directory)) {
    const real = realpathSync.native(directory)
    refuseUnfit(real)
    refuseHome(real, surroundings)
  }
  const workspace = await initWorkspace(directory, surroundings, holder)
  const notices = finishKilledRuns(workspace.unfinished)
  writeIgnore(join(workspace.shared, '.gitignore'))
  const file = join(workspace.shared, 'config.toml')
  if (existsSync(file)) return { workspace, configFile: undefined, notices }
  const text = newConfigText() + STARTER
  writeConfigFile(file, text, undefined)
  await keepTrusted(workspace, { surroundings, trust: holder }, text)
  writeSchemaBeside(file)
  return { workspace, configFile: file, notices }
}

/** What is there already is somebody's own, a link to anywhere as well. */
function writeIgnore(file: string): void {
  try {
    writeFileSync(file, IGNORED, { flag: 'wx' })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}

const IGNORED = `# What Cordon keeps here and is not for a repository; take a line out to share it.
/id
/config.schema.json
/conversations/
/blobs/
*.tmp
`

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
