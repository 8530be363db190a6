import type { AccessPolicy, FsRule, NetRule } from '@cordon/policy'
import type { JsonObject } from '@cordon/workspace'

/** A tool that runs in this process. */
export interface BuiltInTool {
  readonly description: string
  /** Whether a person is asked first, unless they say otherwise. */
  readonly run: 'ask' | 'unattended'
  readonly parameters: JsonObject
}

/** SPEC 6.5. Part of the configuration as well (`source = "builtin"`), so that each can be switched off. */
export const BUILT_IN = {
  describe: {
    run: 'unattended', // it reads the policies, and nothing else
    description:
      'Say what tools may touch: which files they may read and change, which hosts they may reach, and whether a person is asked first.',
    parameters: {
      type: 'object',
      properties: {
        tools: {
          type: 'array',
          items: { type: 'string' },
          maxItems: 64,
          description: 'Names of tools; without them, all that have rules of their own.',
        },
      },
      additionalProperties: false,
    },
  },
  refresh_resource: {
    // What counts as attached is what the log says, and a log may have come with the files: the person looks at each.
    run: 'ask',
    description: 'Read an attachment of this conversation again, as it is now.',
    parameters: {
      type: 'object',
      properties: { uri: { type: 'string', description: 'Its URI, as it stands in the conversation.' } },
      required: ['uri'],
      additionalProperties: false,
    },
  },
  ask_user: {
    run: 'unattended', // it is a question already
    description:
      'Ask the person something that only they can know or decide. Not for permission to call a tool.',
    parameters: {
      type: 'object',
      properties: {
        question: { type: 'string', minLength: 1, description: 'The question, in one or two sentences.' },
        options: {
          type: 'array',
          items: { type: 'string', minLength: 1 },
          description: 'What they can choose from; without it, they answer in their own words.',
        },
      },
      required: ['question'],
      additionalProperties: false,
    },
  },
} as const satisfies Readonly<Record<string, BuiltInTool>>

export type BuiltInName = keyof typeof BUILT_IN

export const isBuiltIn = (name: string): name is BuiltInName => Object.hasOwn(BUILT_IN, name)

/** One tool's policy in lines that a model can follow. Paths are the workspace's own: nothing of the host is in it. */
export function describePolicy({ fs, net, env }: AccessPolicy): string[] {
  const written = fs.filter(({ guard }) => guard === undefined)
  const guarded = fs.length - written.length
  return [
    fs.length === 0 ? 'files: everything in the workspace' : `files: ${written.map(fsText).join('; ')}`,
    // Some hundred paths, the same for every tool: who is refused one is told which.
    ...(guarded === 0 ? [] : [`guarded: ${guarded} paths that the host obeys or runs cannot be written`]),
    net.length === 0 ? 'network: any' : `network: ${net.map(netText).filter(Boolean).join('; ') || 'none'}`,
    `variables: ${env.flatMap(({ name, read }) => (read ? [name] : [])).join(', ') || 'none'}`,
  ]
}

const fsText = ({ path, grants }: FsRule): string =>
  `${path}: ${grants.size === 0 ? 'nothing' : [...grants].join(', ')}`

const netText = ({ host, scheme, port, pathPrefix, allow }: NetRule): string =>
  allow
    ? [
        scheme === undefined ? '' : `${scheme}://`,
        host,
        port === undefined ? '' : `:${port}`,
        pathPrefix ?? '',
      ].join('')
    : ''
