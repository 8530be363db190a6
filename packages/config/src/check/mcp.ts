import { type EnvRule, isEnvName, quote } from '@cordon/policy'
import { type McpServerConfig, type Named, type ToolConfig } from '../config.ts'
import { cellAt } from '../merge/cell.ts'
import { DEFAULT_SERVER } from '../defaults.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { readAccess } from './access.ts'
import { type Findings, tableOf } from './findings.ts'

/** SPEC 5.1. Reads the servers before the tools, which refer to them. */
export function readServers(findings: Findings): Named<McpServerConfig> {
  const servers = Object.create(null) as Record<string, McpServerConfig>
  for (const [name, value] of Object.entries(tableOf(tableOf(findings.values['providers'])['mcp']))) {
    const path = ['providers', 'mcp', name]
    const fields = tableOf(value)
    const key = formatKeyPath(path)
    if (!/^[A-Za-z0-9_-]+$/.test(name) || name.length > 64)
      findings.add(path, `${quote(name)} is not a server name`, 'use letters, digits, _ and -')
    // What was granted to a server that is gone, or waits for trust, grants nothing, and must not stop everything else.
    if (Object.keys(fields).length > 0 && Object.keys(fields).every((each) => each === 'access')) {
      readAccess(findings, [...path, 'access'])
      findings.warn(path, `\`${key}\` grants something to a server that nobody defines`, 'take it out')
      continue
    }
    if (fields['command'] === undefined)
      findings.addIncomplete(
        path,
        path,
        `\`${key}\` has no \`command\``,
        'write the program that starts it: command = "npx"',
      )
    if (fields['spare'] === true && fields['stateful'] !== false)
      findings.warn(
        [...path, 'spare'],
        `\`${key}.spare\` does nothing: a stateful server has its process for the whole session`,
        'take it out, or set stateful = false',
      )
    servers[name] = {
      ...DEFAULT_SERVER,
      ...(fields as Partial<McpServerConfig>),
      variables: readVariables(findings, [...path, 'variables']),
      ...(fields['access'] === undefined ? {} : { access: readAccess(findings, [...path, 'access']) }),
    } as McpServerConfig
  }
  return servers
}

/** SPEC 5.2: `variables` is the old spelling of exact `access.env` reads. */
function readVariables(findings: Findings, path: readonly string[]): EnvRule[] {
  const cell = cellAt(findings.root, path)
  if (cell?.kind !== 'rules') return []
  const key = formatKeyPath(path)
  findings.warn(
    path,
    `\`${key}\` is deprecated`,
    `write [[${formatKeyPath(path.slice(0, -1))}.access.env]] with name = "…" and read = true for each`,
  )
  return cell.elements.flatMap(({ value, written }, i) => {
    if (typeof value !== 'string') return []
    if (isEnvName(value) && !value.includes('*'))
      return [{ name: value, read: true, origin: written.originText }]
    findings.add(
      [...path, i],
      `\`${key}[${i}]\`: ${quote(value)} is not a variable name`,
      'write exact names',
    )
    return []
  })
}

/** SPEC 5.2: access is declared where there is a process to hold it, and nowhere else. */
export function checkWhereAccessIs(
  findings: Findings,
  servers: Named<McpServerConfig>,
  tools: Named<Pick<ToolConfig, 'source'>>,
): void {
  for (const [name, { source }] of Object.entries(tools)) {
    const entry = ['conversation', 'tools', name]
    const path = [...entry, 'access']
    if (source.kind !== 'mcp' || !servers[source.server]?.stateful) continue
    if (cellAt(findings.root, path))
      findings.addIncomplete(entry, path, statefulText(formatKeyPath(path), source.server))
  }
  for (const [name, server] of Object.entries(servers)) {
    const entry = ['providers', 'mcp', name]
    const path = [...entry, 'access']
    if (server.stateful || !cellAt(findings.root, path)) continue
    const itsTools = Object.entries(tools).filter(
      ([, { source }]) => source.kind === 'mcp' && source.server === name,
    )
    const surfaces = itsTools.map(([tool]) => formatKeyPath(['conversation', 'tools', tool, 'access']))
    findings.addIncomplete(entry, path, statelessText(formatKeyPath(path), name, surfaces))
  }
}

/** SPEC 5.2. */
const statefulText = (key: string, server: string): string => `\`${key}\` is not enforceable on a tool
       from a stateful MCP server.

  The \`${server}\` server runs as one shared process, so per-tool confinement
  cannot be applied. Declare access for the whole server:

      [${formatKeyPath(['providers', 'mcp', server, 'access'])}]

  Or set \`stateful = false\` on the server to give each tool call its own
  sandboxed process.
`

const statelessText = (
  key: string,
  server: string,
  surfaces: readonly string[],
): string => `\`${key}\` is not enforceable on a
       stateless MCP server.

  The \`${server}\` server runs as a fresh process for each tool call, so there is no
  shared process that access for the whole server could confine. Declare access for
  each tool:

${(surfaces.length === 0 ? ['conversation.tools.<tool>.access'] : surfaces).map((surface) => `      [${surface}]`).join('\n')}

  Or set \`stateful = true\` on the server to run all its tools in one shared
  sandboxed process.
`
