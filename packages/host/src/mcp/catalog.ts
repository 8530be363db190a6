import { type AccessConfig, ConfigError, formatOrigin, type LoadedConfig } from '@cordon/config'
import { CordonError, quote } from '@cordon/policy'
import type { Surroundings } from '@cordon/workspace'
import { sandboxOff } from '../confine/sandbox-off.ts'
import { type Project, type ProjectOptions, withWaiting } from '../project.ts'
import { loadAnywhere } from '../settings.ts'
import { CLIENT_TITLES } from './clients/places.ts'
import { type ImportRecord, readRecords } from './clients/records.ts'
import { type InstalledPackage, installedPackageOf } from './install/packages.ts'

/** A configured server, as `cordon mcp ls` and `show` tell of it. */
export interface ServerView {
  readonly name: string
  readonly line: readonly string[]
  readonly stateful: boolean
  readonly optional: boolean
  readonly startupTimeoutSecs: number
  /** Undefined: none is declared, and the defaults of SPEC 4.2 hold. */
  readonly access: AccessConfig | undefined
  readonly variables: readonly string[]
  /** False: the sandbox is off, and it has all rights of the person. */
  readonly confined: boolean
  /** Where its command is written. */
  readonly defined: string
  readonly layer: string
  /** SPEC 2.1: whether it counts, or waits for a person to trust the file. */
  readonly state: 'in effect' | 'waits for trust'
  readonly installed: InstalledPackage | undefined
  /** The clients whose files it was imported from. */
  readonly clients: readonly { readonly title: string; readonly file: string; readonly written: boolean }[]
}

export interface Catalog {
  readonly servers: readonly ServerView[]
  readonly notices: readonly string[]
}

/** After a sentence that says so: what helps. */
export const NO_SERVERS = 'none is configured: cordon mcp add, or cordon mcp import'

class UnknownServerError extends CordonError {
  readonly code = 'UNKNOWN_SERVER'
  constructor(name: string, known: readonly string[]) {
    super(
      `there is no server ${quote(name)}; ${known.length === 0 ? NO_SERVERS : `there are: ${known.join(', ')}`}`,
    )
  }
}

/** Every server that is configured here, also what waits for trust; starts and asks nothing. */
export async function listServers(options: ProjectOptions): Promise<Catalog> {
  const { loaded, project, notices } = await loadAnywhere(options)
  const records = readRecords(options.surroundings)
  const view = (config: LoadedConfig, state: ServerView['state']): readonly ServerView[] =>
    Object.entries(config.config.providers.mcp).map(([name, server]) =>
      viewOf(name, server, config, { state, records, surroundings: options.surroundings }),
    )
  const inEffect = view(loaded, 'in effect')
  const waiting = project ? view(waitingOf(project), 'waits for trust') : []
  const changed = waiting.filter((server) => !inEffect.some((other) => isSame(server, other)))
  return {
    servers: [...inEffect, ...changed].toSorted((a, b) => a.name.localeCompare(b.name)),
    notices: [...notices, ...sandboxOff(loaded, 'tools and servers run')],
  }
}

const isSame = (a: ServerView, b: ServerView): boolean =>
  a.name === b.name && a.defined === b.defined && a.line.join('\0') === b.line.join('\0')

/** As if everything were trusted. What cannot even be read is said where trust is asked for. */
function waitingOf(project: Project): LoadedConfig {
  try {
    return withWaiting({ ...project, unreadable: [] }).loaded
  } catch (error) {
    if (error instanceof ConfigError) return project.loaded
    throw error
  }
}

function viewOf(
  name: string,
  {
    command,
    arguments: args,
    access,
    variables,
    ...server
  }: LoadedConfig['config']['providers']['mcp'][string],
  loaded: LoadedConfig,
  about: {
    readonly state: ServerView['state']
    readonly records: readonly ImportRecord[]
    readonly surroundings: Surroundings
  },
): ServerView {
  const origin = loaded.origin(['providers', 'mcp', name, 'command'])
  const granted = [...variables, ...(access?.env ?? [])].filter(({ read }) => read).map((rule) => rule.name)
  return {
    name,
    line: [command, ...args],
    stateful: server.stateful,
    optional: server.optional,
    startupTimeoutSecs: server.startup_timeout_secs,
    access,
    variables: [...new Set(granted)],
    confined: loaded.config.sandbox.mode !== 'off',
    defined: origin ? formatOrigin(origin) : '',
    layer: origin?.layer ?? '',
    state: about.state,
    installed: installedPackageOf(command, about.surroundings),
    clients: about.records
      .filter((record) => record.servers.some((each) => each.name === name))
      .map(({ client, file, written }) => ({
        title: CLIENT_TITLES[client],
        file,
        written: written !== null,
      })),
  }
}

export function findServer({ servers }: Catalog, name: string): ServerView {
  const found = servers.filter((server) => server.name === name)
  if (found.length === 0)
    throw new UnknownServerError(
      name,
      servers.map((server) => server.name),
    )
  return found.find(({ state }) => state === 'in effect') ?? found[0]!
}
