import { type Command, RUN } from './command.ts'

/** In the order of `cordon --help`: what a person does first comes first. */
export const COMMANDS: readonly Command[] = [
  { ...RUN, load: () => import('./commands/run.ts') },
  {
    name: 'init',
    summary: 'make the current directory a workspace',
    load: () => import('./commands/init.ts'),
  },
  {
    name: 'why',
    summary: 'say which rule decides about a path, a URL or a variable, and how to change it',
    load: () => import('./commands/why.ts'),
  },
  {
    name: 'tool',
    summary: 'run, list and show tools',
    load: () => import('./commands/tool.ts'),
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
    name: 'gc',
    summary: 'remove stored content that no conversation needs any more',
    load: () => import('./commands/gc.ts'),
  },
]
