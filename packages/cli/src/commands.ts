import { type Command } from './command.ts'

/** In the order of `cordon --help`: what a person does first comes first. */
export const COMMANDS: readonly Command[] = [
  {
    name: 'why',
    summary: 'say which rule decides about a path, a URL or a variable, and how to change it',
    load: () => import('./commands/why.ts'),
  },
]
