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
export function nameTools({ conversation, providers }: Config, offers: readonly Offered[]): Naming {
  // What begins with a server's name is that server's: another one cannot be there first.
  const isPrefixed = (remote: string, server: string): boolean =>
    Object.keys(providers.mcp).some((other) => other !== server && fold(remote).startsWith(fold(`${other}_`)))
  const configured = new Map<string, ConfiguredTool>()
  const taken = new Set<string>()
  for (const [name, config] of Object.entries(conversation.tools)) {
    taken.add(fold(name))
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
  const wanted = Map.groupBy(conversation.defaults.enable ? rest : [], ({ remote }) => fold(remote))
  const candidates = [...wanted].flatMap(([folded, same]) =>
    same.map(({ server, remote }): NamedTool => {
      const isFree = same.length === 1 && !taken.has(folded) && !isPrefixed(remote, server)
      return { name: isFree ? remote : `${server}_${remote}`, server, remote, config: undefined }
    }),
  )
  const problems: string[] = []
  for (const [folded, same] of Map.groupBy(candidates, ({ name }) => fold(name))) {
    if (same.length === 1 && !taken.has(folded)) tools.push(...same)
    else
      for (const { server, remote } of same)
        problems.push(`tool ${remote} of MCP server ${server} has no name that is free`)
  }
  return { tools, problems }
}

/** Names that differ by case alone are the same to whoever reads them. */
const fold = (name: string): string => name.toLowerCase()

interface ConfiguredTool {
  readonly name: string
  readonly config: ToolConfig
}

const keyOf = (server: string, remote: string): string => `${server}\0${remote}`
