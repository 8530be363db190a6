import { run } from './cli.ts'
import { type Command, QUERY, RUN, TOOL } from './command.ts'
import { openAmbientWorld } from './world.ts'

/** Not in main.ts, so that `cordon --version` loads nothing of it. */
export const start = (version: string): Promise<void> => run(COMMANDS, openAmbientWorld(), version)

/** In the order of `cordon --help`: what a person does first comes first. */
const COMMANDS: readonly Command[] = [
  { ...RUN, load: () => import('./commands/run.ts') },
  {
    name: 'demo',
    summary: 'show a whole conversation with a recorded model: two minutes, no key, nothing left behind',
    load: () => import('./commands/demo.ts'),
  },
  {
    name: 'init',
    summary: 'make the current directory a workspace',
    load: () => import('./commands/init.ts'),
  },
  { ...QUERY, load: () => import('./commands/query.ts') },
  {
    name: 'models',
    summary: 'list the models that are configured and can be reached',
    load: () => import('./commands/models.ts'),
  },
  {
    name: 'trust',
    summary: 'show what the files of a workspace would grant, and let them, or not',
    load: () => import('./commands/trust.ts'),
  },
  {
    name: 'why',
    summary: 'say which rule decides about a path, a URL or a variable, and how to change it',
    load: () => import('./commands/why.ts'),
  },
  { ...TOOL, load: () => import('./commands/tool.ts') },
  {
    name: 'profile',
    summary: 'list, show and copy the profiles of cordon run',
    load: () => import('./commands/profile.ts'),
  },
  {
    name: 'policy',
    summary: 'explain and compile what tools may touch',
    load: () => import('./commands/policy.ts'),
  },
  {
    name: 'doctor',
    summary: 'say what this machine can hold, what is lost, and how to get it',
    load: () => import('./commands/doctor.ts'),
  },
  {
    name: 'config',
    summary: 'show, explain, check and change the configuration',
    load: () => import('./commands/config.ts'),
  },
  {
    name: 'mcp',
    summary: 'confine MCP servers, and offer them and the tools here to any MCP client',
    load: () => import('./commands/mcp.ts'),
  },
  {
    name: 'mount',
    summary: 'let tools reach a place outside the workspace, through a link in it',
    load: () => import('./commands/mount.ts'),
  },
  {
    name: 'conversation',
    summary: 'list, show, search, fork and remove conversations',
    load: () => import('./commands/conversation.ts'),
  },
  {
    name: 'attachment',
    summary: 'attach files, URLs and the output of commands to a conversation',
    load: () => import('./commands/attachment.ts'),
  },
  {
    name: 'provider',
    summary: 'let agents elsewhere use files of this host, by signed and recorded requests',
    load: () => import('./commands/provider.ts'),
  },
  {
    name: 'audit',
    summary: 'check, show and export what the provider recorded',
    load: () => import('./commands/audit.ts'),
  },
  {
    name: 'gc',
    summary: 'remove stored content that no conversation needs any more',
    load: () => import('./commands/gc.ts'),
  },
]
