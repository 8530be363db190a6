import {
  anyText,
  count,
  doc,
  flag,
  type ListMerge,
  listOf,
  namesOf,
  oneOf,
  ruleList,
  type Schema,
  table,
  text,
  whole,
} from './schema.ts'

/**
 * The one definition (decision 0030), as JSON Schema: it validates the merged config, drives the merge, and is
 * printed for editors to complete from. A new key is added here and in config.ts.
 */

const APPEND: ListMerge = { strategy: 'append', decides: 'last', reducible: true }

const fsRule = doc(
  table(
    {
      path: anyText('Workspace-relative prefix; "." is the whole workspace. No wildcards.', 'src'),
      read: flag('Read files, list directories.'),
      write: flag('Short for create, update and delete.'),
      create: flag('Make new files and directories.'),
      update: flag('Change existing files.'),
      delete: flag('Remove files and directories.'),
      execute: flag('Run files as programs.'),
      external: flag('The path is a link that leaves the workspace, on purpose; needs approval.'),
    },
    ['path'],
  ),
  'What may be done below one path. The most specific rule answers alone; what it leaves out is denied.',
)

const netRule = doc(
  table(
    {
      host: anyText('Exact host name or address, without wildcards.', 'api.github.com'),
      scheme: text('Only this scheme.', 'https'),
      port: doc(whole(0, 65535), 'Only this port; else the default one.', 443),
      path_prefix: text('Only below this path, by whole segments.', '/repos'),
      allow: flag('Allow it; false (the default) refuses.'),
    },
    ['host'],
  ),
  'One host that may, or may not, be reached.',
)

const envRule = doc(
  table(
    {
      name: anyText('A variable name, or a prefix with * at its end.', 'GITHUB_TOKEN'),
      read: flag('Let it be seen; false (the default) hides it.'),
    },
    ['name'],
  ),
  'One environment variable, or all with a prefix.',
)

const commandRule = table({
  args: doc(listOf(listOf({ type: 'string' })), 'Allowed argument lists; "**" last allows anything more.', [
    ['log', '**'],
  ]),
  envs: doc(listOf({ type: 'string' }), 'Variables it may be given.', ['GIT_PAGER']),
})

const access = table({
  fs: doc(
    ruleList({ $ref: '#/definitions/fsRule' }, APPEND),
    'Files. Once there is a rule, what no rule covers is denied.',
    [{ path: '.', read: true }],
  ),
  net: doc(
    ruleList({ $ref: '#/definitions/netRule' }, APPEND),
    'Network. Once there is a rule, what no rule covers is denied.',
    [{ host: 'api.github.com', allow: true }],
  ),
  env: doc(
    ruleList({ $ref: '#/definitions/envRule' }, APPEND),
    'Environment variables. Once there is a rule, the others are hidden.',
    [{ name: 'GITHUB_TOKEN', read: true }],
  ),
  commands: doc(namesOf(commandRule), 'Programs it may start, by name. Absent: any.', {
    git: { args: [['log', '**']] },
  }),
})

const runMode = oneOf('ask', 'unattended', 'edit', 'skip')
const scalar: Schema = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] }

const runRule = table(
  {
    path: anyText(
      'Of a shipped tool: the call touches this path of the workspace, or what is below it.',
      'src',
    ),
    arg: anyText('JSON pointer into the arguments.', '/branch'),
    prefix: anyText('The argument starts with this text.', 'src/'),
    equals: doc(scalar, 'The argument is this value.', 'main'),
    pattern: anyText('The argument matches this regular expression.', '^[a-z]+$'),
    mode: doc(runMode, 'What happens then.', 'unattended'),
  },
  ['mode'],
)

/** First match wins, so a list that was appended to an earlier one could never overrule it: replace (0032). */
const FIRST_WINS: ListMerge = { strategy: 'replace', decides: 'first', reducible: true }

const forEveryTool = {
  enable: flag('Offer the tool.'),
  run: doc(
    ruleList({ $ref: '#/definitions/runRule' }, FIRST_WINS, runMode),
    'Ask before each call, run unattended, edit the arguments first, or skip; or rules by argument.',
    'ask',
  ),
  result: doc(
    ruleList({ $ref: '#/definitions/runRule' }, FIRST_WINS, runMode),
    'The same for handing the result over.',
    'unattended',
  ),
  timeout_secs: count('How long one call may take.', 120),
  max_output_bytes: count('How much output is kept.', 1048576),
}

const toolDefaults = doc(table(forEveryTool), 'Defaults of all tools. Access is granted to each by name.')

const tool = table({
  ...forEveryTool,
  source: doc(
    { type: 'string', pattern: '^(?:local|builtin|mcp\\.[A-Za-z0-9_-]+(?:\\..+)?)$' },
    'Where it comes from: "local", "builtin", "mcp.<server>" or "mcp.<server>.<tool>".',
    'local',
  ),
  description: text('What the assistant is told about it.', 'Search the issues.'),
  command: doc(
    {
      anyOf: [
        { type: 'string', minLength: 1 },
        { ...listOf({ type: 'string' }), minItems: 1 },
      ],
    },
    'The words of its command line; no shell reads them.',
    ['python3', 'tools/search.py'],
  ),
  parameters: doc(namesOf({}), 'JSON Schema of its arguments.', { type: 'object' }),
  format_arguments: flag(
    'The tool understands the action `format_arguments`: it is started to say, in its own words, what a call would do.',
  ),
  options: doc(namesOf({}), 'Settings that are handed to the tool as they are.'),
  questions: doc(
    namesOf(
      table({ answer: scalar, text: anyText('Only where the question is put like this.', 'Are you sure?') }),
    ),
    'Answers to what the tool may ask, by question.',
    {
      overwrite: { answer: true },
    },
  ),
  access: { $ref: '#/definitions/access' },
})

const mcpServer = table({
  command: text('The program.', 'npx'),
  arguments: doc(listOf({ type: 'string' }), 'Its arguments.', ['-y', 'some-server']),
  variables: doc(
    ruleList({ type: 'string' }, APPEND),
    'Deprecated: the same as exact access.env rules with read = true.',
    ['GITHUB_TOKEN'],
  ),
  stateful: flag('One process for the session (true), or a fresh one for each call (false).'),
  optional: flag('Go on without it when it does not start.'),
  startup_timeout_secs: count('How long it may take to start.', 60),
  spare: flag('Of a stateless server: keep a fresh process ready for the next call of each tool.'),
  access: { $ref: '#/definitions/access' },
})

const llmProvider = table({
  kind: doc(
    oneOf('anthropic', 'openai', 'google', 'openai-compatible'),
    'Which protocol it speaks.',
    'anthropic',
  ),
  base_url: text('Where it is, when it is not at its usual address.', 'http://127.0.0.1:11434/v1'),
  api_key_env: text('The variable that holds the key.', 'ANTHROPIC_API_KEY'),
  api_key_command: doc(
    { ...listOf({ type: 'string' }), minItems: 1 },
    'A command of yours that prints the key, when the variable is not set. No shell reads it.',
    ['pass', 'show', 'anthropic'],
  ),
  models: doc(
    namesOf(
      table({
        context_tokens: count('How much it takes at once, with its answer.', 200000),
        input_price: doc({ type: 'number', minimum: 0 }, 'Dollars for a million tokens sent.', 3),
        cached_price: doc({ type: 'number', minimum: 0 }, 'The same for tokens it had kept.', 0.3),
        output_price: doc({ type: 'number', minimum: 0 }, 'Dollars for a million tokens received.', 15),
      }),
    ),
    'What is known of single models.',
  ),
})

const assistant = table({
  model: text(
    'Which model answers: the name of a provider, a slash, the name of the model.',
    'anthropic/claude-sonnet-4-5',
  ),
  instructions: text(
    'What the assistant is told after what Cordon says, before the conversation.',
    'Answer in one paragraph.',
  ),
  reasoning: doc(
    oneOf('off', 'low', 'medium', 'high'),
    'How much a model that can should think first.',
    'low',
  ),
  max_steps: count('How often a turn may go back to the model.', 100),
  max_output_tokens: count(
    'How long one answer may be. So much is not sent, at most half of what the model takes.',
    16000,
  ),
  context_tokens: count(
    'How much a model takes at once, with its answer, where it has no figure of its own.',
    128000,
  ),
})

const outsideRule = doc(
  table(
    {
      path: anyText(
        'Absolute, or from the home. With a slash at its end it is a directory, and made if it is missing.',
        '~/.claude/',
      ),
      read: flag('Read files, list directories.'),
      write: flag('Make, change and remove files.'),
      execute: flag('Run files as programs.'),
      replace: flag('A file that programs replace: copied in, and written back whole at the end.'),
    },
    ['path'],
  ),
  'A place outside the workspace, at its own path.',
)

const profile = table({
  description: text('What it is for.', 'Claude Code, with its login and its hosts'),
  access: { $ref: '#/definitions/access' },
  outside: doc(
    ruleList({ $ref: '#/definitions/outsideRule' }, APPEND),
    'Places outside the workspace. Only in your own configuration, not in the files of a workspace.',
    [{ path: '~/shared', read: true }],
  ),
  unix_sockets: doc(
    oneOf('pairs', 'private'),
    'Whether it may make unix sockets of its own. Only in your own configuration, too.',
    'private',
  ),
})

const limit = (what: string, example: number): Schema =>
  count(`${what} Absent: the sandbox's own limit.`, example)

const sandbox = table({
  mode: doc(oneOf('enforce', 'warn', 'off'), 'Refuse, report, or ignore what cannot be held.', 'enforce'),
  sensitive: doc(
    ruleList({ type: 'string', minLength: 1 }, { strategy: 'append', decides: 'first', reducible: false }),
    'More path patterns that are sensitive, beside the built-in ones.',
    ['~/.config/acme/*'],
  ),
  guard: doc(
    ruleList({ type: 'string', minLength: 1 }, { strategy: 'append', decides: 'first', reducible: false }),
    'More paths that nothing confined changes, beside the built-in ones. A rule that names one overrides it.',
    ['Makefile'],
  ),
  unix_sockets: doc(
    oneOf('pairs', 'private'),
    'Unix sockets: pairs only, or also those of its own, with names.',
    'private',
  ),
  limits: table({
    memory_mb: limit(
      'Memory of all its processes together where a cgroup is delegated to you, otherwise of each.',
      4096,
    ),
    processes: limit('Processes and threads.', 512),
    tmp_mb: limit('Size of its private /tmp.', 1024),
    cpu_secs: limit('Processor time of each process, in seconds.', 600),
    open_files: limit('Open files.', 1024),
  }),
})

export const definition = {
  ...table({
    sandbox,
    conversation: table({
      tools: { type: 'object', properties: { '*': toolDefaults }, additionalProperties: tool },
    }),
    providers: table({ mcp: namesOf(mcpServer), llm: namesOf(llmProvider) }),
    assistant,
    profiles: namesOf(profile),
  }),
  /** What stands in several places, so that the printed schema stays small. */
  definitions: { access, fsRule, netRule, envRule, outsideRule, runRule },
} satisfies Schema
