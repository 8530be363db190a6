import * as z from 'zod/mini'

/**
 * The one definition (decision 0030): it validates the merged config, drives the merge, and is printed as the
 * JSON Schema that editors complete from. A new key is added here and in config.ts.
 */

interface Doc {
  readonly description: string
  /** What to write, for messages and editors. */
  readonly examples?: unknown[]
  [key: string]: unknown
}
export const docs: z.core.$ZodRegistry<Doc> = z.registry<Doc>()

/** How the lists of later layers join those of earlier ones (SPEC 2). */
export interface ListMerge {
  readonly strategy: 'append' | 'replace'
  /** Which of two rules that are equal decides, so that `dedup` keeps that one. */
  readonly decides: 'first' | 'last'
  /** SPEC 4.9: some lists can only grow. */
  readonly reducible: boolean
}
export const listMerges: z.core.$ZodRegistry<ListMerge> = z.registry<ListMerge>()

/** The long form of a rule list. */
export const longForm = <T extends z.core.$ZodType>(value: T) =>
  z.strictObject({
    strategy: z.optional(
      doc(
        z.enum(['append', 'prepend', 'replace']),
        'How this layer joins the rules of earlier layers.',
        'append',
      ),
    ),
    dedup: z.optional(doc(z.boolean(), 'Drop rules that are written twice.', true)),
    value,
  })

function doc<T extends z.core.$ZodType>(schema: T, description: string, example?: unknown): T {
  docs.add(schema, { description, ...(example === undefined ? {} : { examples: [example] }) })
  return schema
}

const APPEND: ListMerge = { strategy: 'append', decides: 'last', reducible: true }

function ruleList<T extends z.core.$ZodType>(
  rule: T,
  merge: ListMerge,
  description: string,
  example: unknown,
) {
  const list = z.union([z.array(rule), longForm(z.array(rule))])
  listMerges.add(list, merge)
  return z.optional(doc(list, description, example))
}

const flag = (description: string) => z.optional(doc(z.boolean(), description, true))
const text = (description: string, example: string) =>
  z.optional(doc(z.string().check(z.minLength(1)), description, example))
const count = (description: string, example: number) =>
  z.optional(doc(z.int().check(z.gte(1), z.lte(2 ** 40)), description, example))

const fsRule = doc(
  z.strictObject({
    path: doc(z.string(), 'Workspace-relative prefix; "." is the whole workspace. No wildcards.', 'src'),
    read: flag('Read files, list directories.'),
    write: flag('Short for create, update and delete.'),
    create: flag('Make new files and directories.'),
    update: flag('Change existing files.'),
    delete: flag('Remove files and directories.'),
    execute: flag('Run files as programs.'),
    external: flag('The path is a link that leaves the workspace, on purpose; needs approval.'),
  }),
  'What may be done below one path. The most specific rule answers alone; what it leaves out is denied.',
)

const netRule = doc(
  z.strictObject({
    host: doc(z.string(), 'Exact host name or address, without wildcards.', 'api.github.com'),
    scheme: text('Only this scheme.', 'https'),
    port: z.optional(
      doc(z.int().check(z.gte(0), z.lte(65535)), 'Only this port; else the default one.', 443),
    ),
    path_prefix: text('Only below this path, by whole segments.', '/repos'),
    allow: flag('Allow it; false (the default) refuses.'),
  }),
  'One host that may, or may not, be reached.',
)

const envRule = doc(
  z.strictObject({
    name: doc(z.string(), 'A variable name, or a prefix with * at its end.', 'GITHUB_TOKEN'),
    read: flag('Let it be seen; false (the default) hides it.'),
  }),
  'One environment variable, or all with a prefix.',
)

const commandRule = z.strictObject({
  args: z.optional(
    doc(z.array(z.array(z.string())), 'Allowed argument lists; "**" last allows anything more.', [
      ['log', '**'],
    ]),
  ),
  envs: z.optional(doc(z.array(z.string()), 'Variables it may be given.', ['GIT_PAGER'])),
})

const access = z.strictObject({
  fs: ruleList(fsRule, APPEND, 'Files. Once there is a rule, what no rule covers is denied.', [
    { path: '.', read: true },
  ]),
  net: ruleList(netRule, APPEND, 'Network. Once there is a rule, what no rule covers is denied.', [
    { host: 'api.github.com', allow: true },
  ]),
  env: ruleList(envRule, APPEND, 'Environment variables. Once there is a rule, the others are hidden.', [
    { name: 'GITHUB_TOKEN', read: true },
  ]),
  commands: z.optional(
    doc(z.record(z.string(), commandRule), 'Programs it may start, by name. Absent: any.', {
      git: { args: [['log', '**']] },
    }),
  ),
})

const RUN_MODES = ['ask', 'unattended', 'edit', 'skip'] as const
const runMode = z.enum(RUN_MODES)

const runRule = z.strictObject({
  arg: doc(z.string(), 'JSON pointer into the arguments.', '/path'),
  prefix: z.optional(doc(z.string(), 'The argument starts with this text.', 'src/')),
  equals: z.optional(
    doc(z.union([z.string(), z.number(), z.boolean()]), 'The argument is this value.', 'main'),
  ),
  pattern: z.optional(doc(z.string(), 'The argument matches this regular expression.', '^[a-z]+$')),
  mode: doc(runMode, 'What happens then.', 'unattended'),
})

/** First match wins, so a list that was appended to an earlier one could never overrule it: replace (0032). */
const run = z.union([runMode, z.array(runRule), longForm(z.array(runRule))])
listMerges.add(run, { strategy: 'replace', decides: 'first', reducible: true })

const forEveryTool = {
  enable: flag('Offer the tool.'),
  run: z.optional(
    doc(
      run,
      'Ask before each call, run unattended, edit the arguments first, or skip; or rules by argument.',
      'ask',
    ),
  ),
  result: z.optional(doc(z.enum(RUN_MODES), 'The same for handing the result over.', 'unattended')),
  timeout_secs: count('How long one call may take.', 120),
  max_output_bytes: count('How much output is kept.', 1048576),
}

const toolDefaults = doc(
  z.strictObject(forEveryTool),
  'Defaults of all tools. Access is granted to each by name.',
)

const tool = z.strictObject({
  ...forEveryTool,
  source: z.optional(
    doc(
      z.string().check(z.regex(/^(?:local|builtin|mcp\.[A-Za-z0-9_-]+(?:\..+)?)$/)),
      'Where it comes from: "local", "builtin", "mcp.<server>" or "mcp.<server>.<tool>".',
      'local',
    ),
  ),
  description: text('What the assistant is told about it.', 'Search the issues.'),
  command: z.optional(
    doc(
      z.union([z.string().check(z.minLength(1)), z.array(z.string()).check(z.minLength(1))]),
      'The words of its command line; no shell reads them.',
      ['python3', 'tools/search.py'],
    ),
  ),
  parameters: z.optional(
    doc(z.record(z.string(), z.unknown()), 'JSON Schema of its arguments.', { type: 'object' }),
  ),
  options: z.optional(
    doc(z.record(z.string(), z.unknown()), 'Settings that are handed to the tool as they are.'),
  ),
  questions: z.optional(
    doc(
      z.record(
        z.string(),
        z.strictObject({ answer: z.optional(z.union([z.string(), z.number(), z.boolean()])) }),
      ),
      'Answers to what the tool may ask, by question.',
      { overwrite: { answer: true } },
    ),
  ),
  access: z.optional(access),
})

const mcpServer = z.strictObject({
  command: text('The program.', 'npx'),
  arguments: z.optional(doc(z.array(z.string()), 'Its arguments.', ['-y', 'some-server'])),
  variables: ruleList(
    z.string(),
    APPEND,
    'Deprecated: the same as exact access.env rules with read = true.',
    ['GITHUB_TOKEN'],
  ),
  stateful: flag('One process for the session (true), or a fresh one for each call (false).'),
  optional: flag('Go on without it when it does not start.'),
  startup_timeout_secs: count('How long it may take to start.', 60),
  access: z.optional(access),
})

const limit = (what: string, example: number) => count(`${what} Absent: the sandbox's own limit.`, example)

export const definition = z.strictObject({
  sandbox: z.optional(
    z.strictObject({
      mode: z.optional(
        doc(z.enum(['enforce', 'warn', 'off']), 'Refuse, report, or ignore what cannot be held.', 'enforce'),
      ),
      sensitive: ruleList(
        z.string().check(z.minLength(1)),
        { strategy: 'append', decides: 'first', reducible: false },
        'More path patterns that are sensitive, beside the built-in ones.',
        ['~/.config/acme/*'],
      ),
      limits: z.optional(
        z.strictObject({
          memory_mb: limit('Memory of all its processes.', 4096),
          processes: limit('Processes and threads.', 512),
          tmp_mb: limit('Size of its private /tmp.', 1024),
          cpu_secs: limit('Processor time.', 600),
          open_files: limit('Open files.', 1024),
        }),
      ),
    }),
  ),
  conversation: z.optional(
    z.strictObject({
      tools: z.optional(z.catchall(z.object({ '*': z.optional(toolDefaults) }), tool)),
    }),
  ),
  providers: z.optional(z.strictObject({ mcp: z.optional(z.record(z.string(), mcpServer)) })),
  profiles: z.optional(z.record(z.string(), z.strictObject({ access: z.optional(access) }))),
})
