import { resolve } from 'node:path'
import { initProject } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { warn } from '../report.ts'

export const register: Register = (parser, world) => {
  parser.argument('[directory]', 'the directory to work in', '.').action(async (directory: string) => {
    const { workspace, configFile, notices } = await initProject(resolve(world.cwd, directory), world, {
      pid: world.pid,
      command: 'cordon init',
    })
    warn(world, notices)
    world.out.write(`workspace at ${show(workspace.root)}\n`)
    world.out.write(configFile ? 'wrote .cordon/config.toml\n' : 'kept .cordon/config.toml as it is\n')
  })
}
