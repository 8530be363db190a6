import { runtimeOfCommand } from '@cordon/host'
import type { Register } from '../command.ts'
import {
  repeatable,
  standingIn,
  withConfigOptions,
  type WorkspaceOption,
  workspaceOption,
} from '../options.ts'
import type { DoctorOptions } from '../mcp-doctor.ts'
import type { ServeOptions } from '../mcp.ts'
import type { RunOptions } from '../run-command.ts'
import { registerServers } from './mcp-servers.ts'
import { runOrShow, type ShowableOptions, withRunOptions } from './run.ts'

export const register: Register = (parser, world) => {
  registerServe(parser, world)
  registerWrap(parser, world)
  registerDoctor(parser, world)
  registerServers(parser, world)
}

const registerServe: Register = (parser, world) => {
  withConfigOptions(
    parser
      .command('serve')
      .description('be an MCP server: the tools here and every configured server, each confined'),
    'none',
  )
    .addOption(workspaceOption())
    .addOption(
      repeatable('--server <name>', 'only this server, and no tool of the workspace; may be repeated'),
    )
    .option('--http', 'listen on this machine (streamable HTTP) instead of standard input and output')
    .option('--port <number>', 'with --http: the port (default: 7421)')
    .addHelpText(
      'after',
      `
A client's configuration starts it:
  { "mcpServers": { "cordon": { "command": "cordon", "args": ["mcp", "serve", "--workspace", "/my/project"] } } }

Tools run as conversation.tools says. A client that cannot ask you (no
elicitation) is refused what has run mode "ask", which is the default; where the
client itself asks before each call, let it:
  cordon mcp serve --cfg 'conversation.tools.*.run=unattended'`,
    )
    .action(async (options: ServeOptions & WorkspaceOption) => {
      const { serve } = await import('../mcp.ts')
      await serve(standingIn(world, options), options)
    })
}

const registerWrap: Register = (parser, world) => {
  const wrap = parser.command('wrap')
  withRunOptions(wrap)
    .description('confine one MCP server in place, for a client’s own configuration')
    .addOption(workspaceOption())
    .addHelpText(
      'after',
      `
Takes the options of \`cordon run\`. In a client's configuration, put it before
the server's command:
  "command": "cordon", "args": ["mcp", "wrap", "--env", "GITHUB_TOKEN", "--allow-net", "api.github.com", "--", "github-mcp-server", "stdio"]`,
    )
    .action((words: string[], options: ShowableOptions & WorkspaceOption) => {
      const inside = standingIn(world, options)
      const { cwd, home } = inside
      const runtime: RunOptions['runtime'] = (command, root) => runtimeOfCommand(command, cwd, { root, home })
      return runOrShow(wrap, inside, words, { ...options, runtime })
    })
}

const registerDoctor: Register = (parser, world) => {
  withConfigOptions(
    parser
      .command('doctor')
      .description('start a server confined, say what it was refused, and find the least that lets it work'),
    'none',
  )
    .argument('[server]', 'a server of providers.mcp; by default each of them')
    .addOption(workspaceOption())
    .option('--call <tool>', 'call this tool of it, too')
    .option('--args <json>', 'with --call: its arguments (default: {})')
    .addHelpText(
      'after',
      `
At a terminal, each line that would allow something is asked about, and the
server is tried again with it; at the end what you accepted can be written into
your own configuration of this workspace. Without a terminal, the lines are
printed.

Exit code: 0 when every server did what it was asked, 1 when one did not.`,
    )
    .action(async (server: string | undefined, options: DoctorOptions & WorkspaceOption) => {
      const { doctor } = await import('../mcp-doctor.ts')
      await doctor(standingIn(world, options), server, options)
    })
}
