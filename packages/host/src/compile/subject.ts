import type { AccessConfig, Config, McpServerConfig } from '@cordon/config'
import { type EnvRule, show } from '@cordon/policy'

/** Whatever runs under a policy of its own: a tool, an MCP server, or a profile of `cordon run`. */
export interface Subject {
  readonly kind: 'tool' | 'server' | 'profile'
  readonly name: string
  /** Undefined: no layer declares any, so the defaults of SPEC 4.2 hold. */
  readonly access: AccessConfig | undefined
  /** SPEC 5.2: the deprecated `variables` of a server, as the rules they stand for. */
  readonly variables: readonly EnvRule[]
  /** Where its access is written in the config, for errors and suggested edits. */
  readonly key: readonly string[]
}

/** The profile that the flags of `cordon run` build on, without `--tool` or `--profile`. Nobody else may use the name. */
export const PLAIN = 'cordon run'

/** For people. A profile's name is whatever the workspace's files say, and must not redraw the terminal. */
export const labelOf = ({ kind, name }: Pick<Subject, 'kind' | 'name'>): string =>
  kind === 'profile' && name === PLAIN ? 'this command' : `${kind} ${show(name)}`

/** The server whose process a subject is; undefined: none. */
export function serverOf(
  subject: Pick<Subject, 'kind' | 'name'>,
  config: Config,
): McpServerConfig | undefined {
  const name = serverNameOf(subject, config)
  return name === undefined ? undefined : config.providers.mcp[name]
}

/** By its name. */
export function serverNameOf(
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
  { conversation }: Config,
): string | undefined {
  if (kind === 'server') return name
  const source = kind === 'tool' ? conversation.tools[name]?.source : undefined
  return source?.kind === 'mcp' ? source.server : undefined
}

/** SPEC 3.1: all of them are compiled, and all errors reported, before anything runs. */
export const subjectsOf = (config: Config): Subject[] => [
  ...toolSubjects(config),
  ...serverSubjects(config),
  ...Object.entries(config.profiles).map(([name, { access }]): Subject => {
    return { kind: 'profile', name, access, variables: [], key: ['profiles', name, 'access'] }
  }),
]

/** Local tools, and tools of stateless servers: each call is a process of its own (SPEC 5.2). */
function toolSubjects({ conversation, providers }: Config): Subject[] {
  return Object.entries(conversation.tools).flatMap(([name, { source, access }]): Subject[] => {
    const key = ['conversation', 'tools', name, 'access']
    switch (source.kind) {
      case 'local':
        return [{ kind: 'tool', name, access, variables: [], key }]
      case 'mcp': {
        const server = providers.mcp[source.server]
        if (!server || server.stateful) return []
        return [{ kind: 'tool', name, access, variables: server.variables, key }]
      }
      case 'builtin':
        return []
    }
  })
}

/**
 * Every server: a stateful one runs under its policy. A stateless one is asked for its tools under the default policy, and so
 * runs a tool that nobody configured (SPEC 5.1).
 */
const serverSubjects = ({ providers }: Config): Subject[] =>
  Object.entries(providers.mcp).map(([name, { access, variables }]) => {
    return { kind: 'server', name, access, variables, key: ['providers', 'mcp', name, 'access'] }
  })
