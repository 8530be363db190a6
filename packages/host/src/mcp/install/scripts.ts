import { text } from 'node:stream/consumers'
import { CAPABILITIES, type NetRule, openAmbientRoot, parseHost, ROOT, show } from '@cordon/policy'
import { userDataDir } from '@cordon/workspace'
import { join } from 'node:path'
import { DEFAULT_ENV } from '../../compile/defaults.ts'
import { startConfined } from '../../confine/start.ts'
import { lastWords } from './command.ts'
import { InstallError, type InstallWorld } from './packages.ts'

/** Install scripts are programs of strangers: they have the package's own directory, and the registry it came from. */
export async function runScripts(dir: string, registry: string, world: InstallWorld): Promise<void> {
  const { surroundings, signal } = world
  const root = openAmbientRoot(dir)
  const program = await startConfined({
    argv: ['npm', 'rebuild', '--foreground-scripts', '--no-audit', '--no-fund'],
    cwd: root.path,
    root,
    home: surroundings.home,
    env: { ...surroundings.env },
    policy: {
      fs: [{ path: ROOT, grants: new Set(CAPABILITIES), external: false, origin: ORIGIN }],
      net: [hostOf(registry)],
      env: DEFAULT_ENV,
    },
    sandbox: { mode: 'enforce', sensitive: [], guard: [], limits: {}, unix_sockets: 'pairs' },
    unfinished: join(userDataDir(surroundings), 'mcp', 'unfinished'),
    signal,
  })
  program.stdin.end()
  const [, said, end] = await Promise.all([text(program.stdout), text(program.stderr), program.ended])
  if (end.exit.code === 0) return
  const refused = end.refused.map(({ reason }) => `\n  refused: ${show(reason)}`).join('')
  throw new InstallError(`an install script failed, confined${lastWords(said)}${refused}`)
}

const ORIGIN = 'cordon mcp add --scripts'

function hostOf(registry: string): NetRule {
  const url = URL.canParse(registry) ? new URL(registry) : undefined
  const host = url && parseHost(url.hostname)
  if (!url || !host) throw new InstallError(`the registry ${show(registry)} is not a URL`)
  const port = url.port === '' ? {} : { port: Number(url.port) }
  return { host, scheme: url.protocol.slice(0, -1), ...port, allow: true, origin: ORIGIN }
}
