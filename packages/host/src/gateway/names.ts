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
  /** In words for people: what could be given no name, and whose it is. */
  readonly problems: readonly { readonly server: string; readonly text: string }[]
}

/**
 * SPEC 5.5. A tool that is configured has the name it is configured under. Every other one is named by `nameApart`, and local
 * tools keep their names.
 */
export function nameTools({ conversation, providers }: Config, offers: readonly Offered[]): Naming {
  const configured = new Map<string, ConfiguredTool>()
  for (const [name, config] of Object.entries(conversation.tools)) {
    if (config.source.kind !== 'mcp') continue
    const { server, tool: remote = name } = config.source
    configured.set(keyOf(server, remote), { name, config })
  }
  const tools: NamedTool[] = []
  const rest: Remote[] = []
  for (const { server, tools: remotes } of offers)
    for (const remote of remotes) {
      const known = configured.get(keyOf(server, remote))
      if (!known) rest.push({ server, remote })
      else if (known.config.enable) tools.push({ ...known, server, remote })
    }
  const { named, nameless } = nameApart(conversation.defaults.enable ? rest : [], {
    servers: Object.keys(providers.mcp),
    taken: Object.keys(conversation.tools),
  })
  return {
    tools: [...tools, ...named.map((each) => ({ ...each, config: undefined }))],
    problems: nameless.map(({ server, remote }) => ({
      server,
      text: `tool ${remote} of MCP server ${server} has no name that is free`,
    })),
  }
}

/** As the configuration names it. A server's name has no dot in it. */
export const sourceOf = (server: string, remote: string): string => `mcp.${server}.${remote}`

/** Which tool it is, whatever it is called: names change when a server comes or goes, and this does not (decision 0381). */
export const identityOf = ({ name, source }: { readonly name: string; readonly source: string }): string =>
  source.startsWith('mcp.') ? source : `${source}.${name}`

/** The server that has it, and what it is called there; undefined for tools of the workspace, and ours. */
export function serverOf(source: string): Remote | undefined {
  const [kind, server, ...remote] = source.split('.')
  return kind === 'mcp' && server !== undefined ? { server, remote: remote.join('.') } : undefined
}

/** For a person: of a tool with another name than its server's also what it is there. */
export function titleOf({ name, source }: { readonly name: string; readonly source: string }): string {
  const own = serverOf(source)
  return !own || name === own.remote || name === `${own.server}_${own.remote}` ? name : `${name} (${source})`
}

/** What a server has, by the name that it has there. */
export interface Remote {
  readonly server: string
  readonly remote: string
}

/**
 * SPEC 5.5: each keeps its own name, unless somebody else has that as well: then it is prefixed by its server. What begins with
 * a server's name is that server's, and where one server's name begins another's (`a` and `a_b`), the longer one's: nobody else
 * is called so, or is in its owner's way. What has no name then is called by nobody: it could be taken for another. Pure, and
 * the same in every order: which name is whose does not depend on who was faster.
 */
export function nameApart<T extends Remote>(
  all: readonly T[],
  { servers, taken = [] }: { readonly servers: readonly string[]; readonly taken?: readonly string[] },
): { readonly named: readonly (T & { readonly name: string })[]; readonly nameless: readonly T[] } {
  const used = new Set(taken.map(fold))
  const isOf = (name: string, server: string): boolean => fold(name).startsWith(fold(`${server}_`))
  const candidates = [...Map.groupBy(all, ({ remote }) => fold(remote))].flatMap(([folded, same]) =>
    same.map((each) => {
      const { server, remote } = each
      const isAnothers = servers.some((other) => other !== server && isOf(remote, other))
      const isFree = same.length === 1 && !used.has(folded) && !isAnothers
      return { ...each, name: isFree ? remote : `${server}_${remote}` }
    }),
  )
  const isAnothers = ({ name, server }: (typeof candidates)[number]): boolean =>
    servers.some((other) => other.length > server.length && isOf(name, other))
  const groups = [
    ...Map.groupBy(
      candidates.filter((each) => !isAnothers(each)),
      ({ name }) => fold(name),
    ),
  ]
  const named = groups.flatMap(([folded, same]) => (same.length === 1 && !used.has(folded) ? same : []))
  return { named, nameless: candidates.filter((each) => !named.includes(each)) }
}

/** Names that differ by case alone are the same to whoever reads them. */
const fold = (name: string): string => name.toLowerCase()

interface ConfiguredTool {
  readonly name: string
  readonly config: ToolConfig
}

const keyOf = (server: string, remote: string): string => `${server}\0${remote}`
