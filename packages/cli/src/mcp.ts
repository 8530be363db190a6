import {
  compileProject,
  Gateway,
  openAmbientProjectIn,
  ofServers,
  openSecret,
  type Project,
  serveHttp,
  sandboxOff,
  serveStdio,
  NO_SERVERS,
} from '@cordon/host'
import { show } from '@cordon/policy'
import { choiceOf, type ConfigOptions } from './options.ts'
import { installation, trustTerms } from './project.ts'
import { UsageError, warn } from './report.ts'
import type { World } from './world.ts'

declare const CORDON_VERSION: string

export interface ServeOptions extends ConfigOptions {
  readonly server: readonly string[]
  readonly http?: boolean
  readonly port?: string
}

/** `cordon mcp serve` (SPEC 5.5), until the client is gone or somebody wants us to end. */
export async function serve(world: World, options: ServeOptions): Promise<void> {
  if (options.port !== undefined && !options.http) throw new UsageError('--port is for --http')
  const gateway = await openGateway(world, options)
  const ended = new AbortController()
  const stop = world.onInterrupt(() => ended.abort())
  try {
    if (options.http) await listen(world, gateway, parsePort(options.port), ended.signal)
    else await serveStdio(gateway, { input: world.input, output: world.out.sink }, ended.signal)
  } finally {
    stop()
  }
  // The client's end of standard input may still be open.
  world.end(0)
}

/** SPEC 2.1: with somebody at a terminal the files are asked about; without, what waits is left out, and said to wait. */
async function openGateway(world: World, options: ServeOptions): Promise<Gateway> {
  const { cwd, pid, uid, home, session } = world
  // Standard input is the client's, unless it is a terminal.
  const reviewer = world.reviewer
  const person = options.http ? world.person : undefined
  const trust = trustTerms({ pid, reviewer }, reviewer ? 'files' : 'nothing')
  const place = { cwd, surroundings: world, cfg: options.cfg, unmarked: 'allow', trust } as const
  const project = await openAmbientProjectIn(place, world, choiceOf(options, 'none'))
  warn(world, [...project.notices, ...sandboxOff(project.loaded, 'tools and servers run')])
  const compiler = { pid, uid, home, session, person }
  const served = options.server.length === 0 ? undefined : knownServers(project, options.server)
  const policies = await compileProject(project, compiler, served ? ofServers(served, project) : {})
  warn(world, policies.warnings)
  return new Gateway({
    project,
    policies,
    compiler,
    installation: installation(world),
    surroundings: world,
    version: CORDON_VERSION,
    only: served,
    audience: {
      warn: (text) => warn(world, [text]),
      notice: (texts) => warn(world, texts),
      ...(world.err.isTerminal
        ? {
            waiting: (server, seconds) =>
              seconds >= 2 && world.err.write(`starting ${server}: ${seconds} s\r`),
          }
        : {}),
    },
  })
}

function knownServers({ loaded, waiting }: Project, names: readonly string[]): readonly string[] {
  const known = Object.keys(loaded.config.providers.mcp)
  const unknown = names.find((name) => !known.includes(name))
  if (unknown === undefined) return names
  const others = known.length === 0 ? NO_SERVERS : `there are: ${known.join(', ')}`
  const untrusted =
    waiting.length === 0 ? '' : '\n  files that are not trusted may have it: see `cordon trust`'
  throw new UsageError(`no MCP server is named ${show(unknown)}; ${others}${untrusted}`)
}

async function listen(world: World, gateway: Gateway, port: number, signal: AbortSignal): Promise<void> {
  const { workspace } = gateway.options.project
  const token = openSecret(workspace, 'gateway.token')
  const http = await serveHttp(gateway, { port, token })
  world.err.write(`listening on ${http.url}\n  Authorization: Bearer ${token}\n`)
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  await http.close()
}

function parsePort(text = '7421'): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new UsageError(`--port ${show(text)}: expected a number from 0 to 65535`)
}
