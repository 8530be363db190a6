import { isAbsolute, join } from 'node:path'
import type { Surroundings } from '@cordon/workspace'

/** The clients whose files we know, and the plain form that many others share. */
export type ClientId = 'claude-code' | 'claude-desktop' | 'cursor' | 'vscode' | 'gemini' | 'codex' | 'plain'

export const CLIENT_TITLES: Readonly<Record<ClientId, string>> = {
  'claude-code': 'Claude Code',
  'claude-desktop': 'Claude Desktop',
  cursor: 'Cursor',
  vscode: 'VS Code',
  gemini: 'Gemini CLI',
  codex: 'Codex',
  plain: 'a client',
}

/** Where a client keeps its servers. */
export interface ClientPlace {
  readonly client: ClientId
  readonly file: string
  /** `project`: it came with the workspace's files, or is shared with them. */
  readonly scope: 'user' | 'project'
}

/** A table of servers in a client's file, and for whom it holds. */
export interface ServerTable {
  readonly path: readonly string[]
  /** `project`: the file is a person's own, this table of it is for one directory. */
  readonly scope: 'user' | 'project'
}

/** A person's own files, whether they exist or not. */
export function userPlaces({ env, home, platform }: Surroundings): readonly ClientPlace[] {
  const at = (client: ClientId, ...parts: string[]): ClientPlace => ({
    client,
    scope: 'user',
    file: join(...(parts as [string])),
  })
  const absolute = (name: string, fallback: string): string => {
    const dir = env[name]
    return dir !== undefined && isAbsolute(dir) ? dir : fallback
  }
  const applications =
    platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : absolute('XDG_CONFIG_HOME', join(home, '.config'))
  return [
    at('claude-code', absolute('CLAUDE_CONFIG_DIR', home), '.claude.json'),
    at('claude-desktop', applications, 'Claude', 'claude_desktop_config.json'),
    at('cursor', home, '.cursor', 'mcp.json'),
    at('vscode', applications, 'Code', 'User', 'mcp.json'),
    at('vscode', applications, 'Code - Insiders', 'User', 'mcp.json'),
    at('gemini', home, '.gemini', 'settings.json'),
    at('codex', absolute('CODEX_HOME', join(home, '.codex')), 'config.toml'),
  ]
}

/** The files that come with a project, whether they exist or not. */
export const projectPlaces = (root: string): readonly ClientPlace[] =>
  PROJECT_FILES.map(([client, name]) => ({ client, scope: 'project', file: join(root, name) }))

const PROJECT_FILES = [
  ['claude-code', '.mcp.json'],
  ['cursor', '.cursor/mcp.json'],
  ['vscode', '.vscode/mcp.json'],
  ['gemini', '.gemini/settings.json'],
  ['codex', '.codex/config.toml'],
] as const

/** Where servers stand in a file of this client; `root` is the workspace's, for what a file keeps by project. */
export function tablesOf(client: ClientId, file: string, root: string | undefined): readonly ServerTable[] {
  const everywhere = (...path: string[]): ServerTable => ({ path, scope: 'user' })
  switch (client) {
    case 'claude-code':
      return [
        everywhere('mcpServers'),
        ...(root === undefined || !file.endsWith('.claude.json')
          ? []
          : [{ path: ['projects', root, 'mcpServers'], scope: 'project' } as const]),
      ]
    case 'vscode':
      return [everywhere('servers'), everywhere('mcp', 'servers')] // the second in settings.json, as it was until 2025
    case 'codex':
      return [everywhere('mcp_servers')]
    case 'claude-desktop':
    case 'cursor':
    case 'gemini':
      return [everywhere('mcpServers')]
    case 'plain':
      return file.endsWith('.toml')
        ? [everywhere('mcp_servers')]
        : [everywhere('mcpServers'), everywhere('servers'), everywhere('mcp', 'servers')]
  }
}
