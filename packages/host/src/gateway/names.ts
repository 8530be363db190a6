import type { Config, ToolConfig } from '@cordon/config'

/** A tool of a server under the name that the client calls it by. */
export interface NamedTool {
  /** What the client calls it. */
  readonly name: string
  readonly server: string
  /** What the server calls it. */
  readonly remote: string
  /** What the configuration says of this very tool; undefined: nothing. */
  readonly config: ToolConfig | undefined
}

export interface Offered {
  readonly server: string
  readonly tools: readonly string[]
}

export interface Naming {
  readonly tools: readonly NamedTool[]
  /** In words for people: what could be given no name. */
  readonly problems: readonly string[]
}

/**
 * SPEC 5.5. A tool that is configured has the name it is configured under. Every other one keeps its own, unless somebody
 * else has that as well: then it is prefixed by its server. Local tools keep their names. Pure, and the same in every order
 * of start: which name is whose does not depend on who was faster.
 */
export function nameTools({ conversation }: Config, offers: readonly Offered[]): Naming {
  const configured = new Map<string, ConfiguredTool>()
  const taken = new Set<string>()
  for (const [name, config] of Object.entries(conversation.tools)) {
    taken.add(name)
    if (config.source.kind !== 'mcp') continue
    const { server, tool: remote = name } = config.source
    configured.set(keyOf(server, remote), { name, config })
  }
  const tools: NamedTool[] = []
  const rest: Pick<NamedTool, 'server' | 'remote'>[] = []
  for (const { server, tools: remotes } of offers)
    for (const remote of remotes) {
      const known = configured.get(keyOf(server, remote))
      if (!known) rest.push({ server, remote })
      else if (known.config.enable) tools.push({ ...known, server, remote })
    }
  const wanted = Map.groupBy(conversation.defaults.enable ? rest : [], ({ remote }) => remote)
  const problems: string[] = []
  for (const [remote, same] of wanted) {
    const isFree = same.length === 1 && !taken.has(remote)
    for (const { server } of same) {
      const name = isFree ? remote : `${server}_${remote}`
      if (!isFree && (taken.has(name) || wanted.has(name)))
        problems.push(`tool ${remote} of MCP server ${server} has no name that is free`)
      else tools.push({ name, server, remote, config: undefined })
    }
  }
  return { tools, problems }
}

interface ConfiguredTool {
  readonly name: string
  readonly config: ToolConfig
}

const keyOf = (server: string, remote: string): string => `${server}\0${remote}`
