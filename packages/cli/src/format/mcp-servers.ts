import {
  type AddedServer,
  CLIENT_TITLES,
  type ClientSurvey,
  type EntryStyle,
  type ImportedFile,
  type ImportPlan,
  type ImportStep,
  launchOf,
  leftOverLines,
  lookAlike,
  looksSecret,
  needsDirectory,
  type ServerView,
  shownInHome,
  type TakenOut,
  typedPath,
  type Undone,
  type Updated,
  reachRecipe,
  reachText,
  recipeLines,
  unreachedPlaces,
} from '@cordon/host'
import { shellWord, show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

const commandLine = (line: readonly string[]): string => line.map(shellWord).join(' ')

/** What a server may touch, in a few words. */
function accessWords({ stateful, access, variables, confined }: ServerView): string {
  if (!confined) return 'everything (the sandbox is off)'
  if (!stateful) return 'by tool'
  const paths = access?.fs ?? []
  const hosts = (access?.net ?? []).filter(({ allow }) => allow).map(({ host }) => show(host))
  return [
    paths.length === 0 ? 'the workspace' : paths.map(({ path }) => show(path)).join(' '),
    hosts.length === 0 ? 'no network' : hosts.join(' '),
    ...(variables.length === 0 ? [] : [variables.map(show).join(' ')]),
  ].join(', ')
}

const packageWords = ({ installed }: ServerView): string =>
  installed ? `${show(installed.name)} ${show(installed.version)}` : ''

function stateWords({ state, stateful, optional }: ServerView, style: Stream['style']): string {
  const words = [stateful ? 'stateful' : 'stateless', ...(optional ? ['optional'] : [])]
  return state === 'in effect' ? words.join(', ') : style('yellow', state)
}

export function formatServers(servers: readonly ServerView[], { style }: Pick<Stream, 'style'>): string {
  const rows = servers.map((server) => [
    show(server.name),
    stateWords(server, style),
    accessWords(server),
    packageWords(server) || show(server.line[0]!.split('/').at(-1)!),
    show(server.defined),
  ])
  const [head = '', ...body] = formatTable([
    ['NAME', 'STATE', 'ACCESS', 'PROGRAM', 'DEFINED'],
    ...rows,
  ]).split('\n')
  return `${style('bold', head)}\n${body.join('\n')}`
}

export function formatServer(server: ServerView, { style }: Pick<Stream, 'style'>): string {
  const { installed, clients } = server
  const lines = [
    ['command', commandLine(server.line)],
    ...(installed
      ? [
          ['package', `${show(installed.name)} ${show(installed.version)} (${installed.from})`],
          ['integrity', show(installed.integrity)],
          ['scripts', installed.scripts],
        ]
      : []),
    [
      'process',
      server.stateful ? 'one for the session (stateful)' : 'a fresh one for every call (stateless)',
    ],
    ['access', accessWords(server)],
    ['optional', server.optional ? 'yes' : 'no'],
    ['defined', `${show(server.defined)} (${server.layer})`],
    ['state', server.state],
    ...clients.map(({ title, file, written }) => [
      'client',
      `${title}, ${show(file)}${written ? '' : ' (it still starts it itself)'}`,
    ]),
  ]
  return `${style('bold', show(server.name))}\n${lines.map(([key = '', value = '']) => `  ${`${key}:`.padEnd(11)}${value}\n`).join('')}`
}

export const serverJson = ({
  installed,
  access,
  clients,
  ...server
}: ServerView): Record<string, unknown> => ({
  ...server,
  paths: (access?.fs ?? []).map(({ path, grants }) => ({ path, grants: [...grants] })),
  hosts: (access?.net ?? []).map(({ host, allow }) => ({ host, allow })),
  package: installed ?? null,
  clients,
})

export function formatAdded(
  name: string,
  { file, line, installed }: AddedServer,
  place: Pick<ImportLook, 'root' | 'home'>,
): string {
  const from = installed
    ? `  installed ${show(installed.name)} ${show(installed.version)}, ${show(installed.integrity)}\n  install scripts: ${installed.scripts}\n`
    : ''
  const out = unreached(name, line.slice(1), place).map((each) => `  ${each}\n`)
  // What looks like a secret is warned about, and not printed once more (decision 0500).
  const shown = line.map((word, i) => (i > 0 && looksSecret(word, line[i - 1]) ? '…' : word))
  return `added ${show(name)} to ${show(file)}\n  ${commandLine(shown)}\n${from}${out.join('')}`
}

export const formatRemoved = (
  name: string,
  { file, tools, swept, stays, named, links }: TakenOut & { readonly file: string },
  home: string,
): string =>
  [
    `removed ${show(name)} from ${show(file)}`,
    ...toolLines(tools),
    ...swept.map((each) => `  and what it was granted from ${show(each)}`),
    ...stayLines(name, stays, home),
    ...namedLines(named, home),
    ...linkLines(links, home),
    '',
  ].join('\n')

const linkLines = (links: TakenOut['links'], home: string): readonly string[] =>
  links.map(
    (link) =>
      `  the link ${shownInHome(link, home)} stays; if nothing else needs it: rm ${typedPath(link, home)}`,
  )

const toolLines = (tools: TakenOut['tools']): readonly string[] =>
  tools.length === 0
    ? []
    : [
        `  and the entr${tools.length === 1 ? 'y' : 'ies'} of its tool${tools.length === 1 ? '' : 's'} ${tools.map(show).join(', ')}`,
      ]

const namedLines = (named: TakenOut['named'], home: string): readonly string[] =>
  named.length === 0
    ? []
    : [
        '  entries of its tools for other workspaces stay, and are an error there:',
        ...leftOverLines(named, home).map((line) => `  ${line}`),
      ]

const stayLines = (name: string, stays: TakenOut['stays'], home: string): readonly string[] =>
  stays.length === 0
    ? []
    : [
        `  what ${show(name)} is granted elsewhere stays, and the next server of that name would be asked about it:`,
        ...leftOverLines(stays, home).map((line) => `  ${line}`),
      ]

export function formatUpdated(name: string, updated: Updated): string {
  switch (updated.kind) {
    case 'current':
      return `${show(name)} is ${show(updated.installed.name)} ${show(updated.installed.version)}, and there is no other\n`
    case 'refused':
      return `${show(name)} stays ${show(updated.from.version)}; ${show(updated.to.version)} was not accepted (--yes, or a terminal)\n`
    case 'updated':
      return `${show(name)} is now ${show(updated.to.name)} ${show(updated.to.version)}, ${show(updated.to.integrity)}\n  was ${show(updated.from.version)}; changed ${show(updated.file)}\n`
  }
}

interface ImportLook {
  /** The workspace; undefined: there is none here. */
  readonly root: string | undefined
  readonly home: string
  readonly style: EntryStyle
  readonly write: boolean
  /** Whether a client that asks for `cordon` finds one. */
  readonly isOnPath: boolean
}

export function formatImport(
  survey: ClientSurvey,
  plan: ImportPlan,
  done: readonly ImportedFile[] | undefined,
  look: ImportLook,
): string {
  const parts = [
    ...plan.files.map((each, i) => formatFile(each, done?.[i], look)),
    ...survey.problems.map((problem) => `not read: ${problem.message}\n`),
    ...survey.unnamed.map(
      (file) =>
        `${show(file)} has servers${plan.files.length > 0 ? ', too' : ''}; it may have come with the project's files\n  to import it: cordon mcp import ${look.write ? '--write ' : ''}${shellWord(file)}\n`,
    ),
  ]
  if (parts.length > 0) return parts.join('\n')
  return [
    'no file of a client was found; looked for:',
    ...survey.lookedFor.map((file) => `  ${shownInHome(file, look.home)}`),
    "another one, or a project's: cordon mcp import FILE\n",
  ].join('\n')
}

function formatFile(
  { file, steps }: ImportPlan['files'][number],
  done: ImportedFile | undefined,
  look: ImportLook,
): string {
  const { place, read } = file
  const at = shownInHome(place.file, look.home)
  const link = read.real === place.file ? '' : ` (a link to ${shownInHome(read.real, look.home)})`
  const lines = steps.flatMap((step) => stepLines(step, done, look, at))
  const others =
    file.elsewhere === 0
      ? []
      : [`  ${file.elsewhere} more are kept there for other directories; import them from those`]
  const isChanged = steps.some(({ kind }) => kind === 'take' || kind === 'known')
  const empty = steps.length === 0 && others.length === 0 ? ['  no servers'] : []
  return [
    `${CLIENT_TITLES[place.client]}: ${at}${link}`,
    ...(needsDirectory(place, look.style) && isChanged
      ? [
          `  warning: Claude Desktop starts servers in no project, where Cordon finds no workspace${look.write ? ', so its file was not changed' : ''}; say which it is: cordon mcp import --write --for DIRECTORY ${at}`,
        ]
      : []),
    ...(place.scope === 'project' && isChanged && !look.isOnPath
      ? [
          `  warning: a project's file says only \`cordon\`, and there is none in your PATH: the client could not start it; put ${shownInHome(look.style.program, look.home)} there`,
        ]
      : []),
    ...lines,
    ...others,
    ...empty,
    ...afterwards(file, steps, done, look),
    '',
  ].join('\n')
}

function stepLines(
  step: ImportStep,
  done: ImportedFile | undefined,
  look: ImportLook,
  at: string,
): readonly string[] {
  const title = `  ${show(step.server.name)}`
  switch (step.kind) {
    case 'remote':
      return [`${title}: left alone: it is remote (a URL), and no process here could be confined`]
    case 'wrapped':
      return [
        `${title}: behind Cordon already`,
        ...(look.style.directory === undefined
          ? []
          : ['    to change how it is started, take it back first: cordon mcp import --undo']),
      ]
    case 'left':
      return [`${title}: left alone: ${step.why.replaceAll('\n', '\n    ')}`]
    case 'known':
      return [`${title}: imported before, as ${step.name}`]
    case 'take': {
      const result = done?.servers.find(({ server }) => server === step.server)
      if (result?.failed !== undefined)
        return [`${title}: left alone: ${result.failed.replaceAll('\n', '\n    ')}`]
      const alike = step.wanted && lookAlike(step.wanted)
      const { command, args } = step.launch
      const pin = result?.installed
      const names = step.variables.map(({ name, filledBy, from }) =>
        filledBy === 'file'
          ? name
          : `${name} (filled in by the client${from.length === 0 ? '' : `: ${from.join(' ')}`})`,
      )
      const values = step.variables.some(({ filledBy }) => filledBy === 'file')
        ? `; values stay in ${at}`
        : ''
      return [
        `${title}: ${done ? 'taken' : 'would be taken'} as ${step.name} (${LAYERS[step.layer]})`,
        `    ${commandLine([command, ...(args ?? [])])}`,
        ...(step.wanted && !pin
          ? [
              `    its package ${show(step.wanted.name)} would be installed, pinned, and started without npx or a network`,
            ]
          : []),
        ...(pin ? [`    installed ${show(pin.name)} ${show(pin.version)}, pinned by its integrity`] : []),
        ...(alike === undefined
          ? []
          : [
              `    warning: ${show(step.wanted!.name)} is nearly ${alike}: make sure that it is the one you mean`,
            ]),
        `    access: the workspace, no network${names.length === 0 ? '' : `, ${names.join(', ')}${values}`}`,
        ...unreached(step.name, step.places, look).map((line) => `    ${line}`),
        ...step.notes.map((note) => `    note: ${note}`),
      ]
    }
  }
}

/** SPEC 5.4: what it is pointed to and will not reach, and the commands that grant it. */
function unreached(
  name: string,
  words: readonly string[],
  { root, home }: Pick<ImportLook, 'root' | 'home'>,
): readonly string[] {
  const places = unreachedPlaces(words, { root, home })
  if (places.length === 0) return []
  const recipe = reachRecipe(`providers.mcp.${name}.access`, places, { root, home, hasRules: false })
  return [`warning: ${reachText(places, home)}`, ...recipeLines(recipe)]
}

const LAYERS = {
  user: 'for all workspaces',
  'user-workspace': 'for this workspace',
  workspace: "in the workspace's file",
} as const

/** What was done to the client's file, or what is to be put there. */
function afterwards(
  { place, servers }: ImportPlan['files'][number]['file'],
  steps: readonly ImportStep[],
  done: ImportedFile | undefined,
  look: ImportLook,
): readonly string[] {
  const at = shownInHome(place.file, look.home)
  if (done?.backup !== undefined)
    return [
      `  changed ${at}; restart the client`,
      `  backup: ${shownInHome(done.backup, look.home)}`,
      '  to take it back: cordon mcp import --undo',
    ]
  const ready = steps.flatMap((step) => {
    if (step.kind !== 'take' && step.kind !== 'known') return []
    const isFine =
      done?.servers.some(({ server, failed }) => server === step.server && failed === undefined) ?? true
    return isFine ? [[step.server, launchOf(step.name, place.scope, look.style)] as const] : []
  })
  if (ready.length === 0 || servers.length === 0 || needsDirectory(place, look.style)) return []
  const snippet = ready.map(([server, { command, args }]) =>
    place.file.endsWith('.toml')
      ? `    [${server.path.join('.')}]\n    command = ${JSON.stringify(command)}\n    args = ${JSON.stringify(args)}`
      : `    ${JSON.stringify(server.name)}: { "command": ${JSON.stringify(command)}, "args": ${JSON.stringify(args)} }`,
  )
  return [`  put this into ${at} (env and all else stays as it is), or run again with --write:`, ...snippet]
}

export const importJson = (
  survey: ClientSurvey,
  plan: ImportPlan,
  done: readonly ImportedFile[] | undefined,
): Record<string, unknown> => ({
  files: plan.files.map(({ file, steps }, i) => ({
    client: file.place.client,
    file: file.place.file,
    backup: done?.[i]?.backup ?? null,
    servers: steps.map((step) => stepJson(step, done?.[i])),
  })),
  problems: survey.problems.map(({ file, message }) => ({ file, message })),
  unnamed: survey.unnamed,
})

function stepJson(step: ImportStep, done: ImportedFile | undefined): Record<string, unknown> {
  const { name } = step.server
  if (step.kind === 'left') return { name, result: 'left', why: step.why }
  if (step.kind !== 'take' && step.kind !== 'known') return { name, result: step.kind }
  const result = done?.servers.find(({ server }) => server === step.server)
  if (result?.failed !== undefined) return { name, result: 'left', why: result.failed }
  return {
    name,
    result: step.kind === 'known' ? 'known' : done ? 'taken' : 'would be taken',
    server: step.name,
    ...(step.kind === 'take' ? { variables: step.variables.map((variable) => variable.name) } : {}),
    package: result?.installed ?? null,
    entry: result?.launch ?? null,
  }
}

export const formatUndone = (undone: readonly Undone[], home: string): string =>
  undone
    .map(({ file, how, left, removed, tools, swept, stays, named, kept, links, backups }) =>
      [
        `${shownInHome(file, home)}: ${HOW[how]}`,
        ...left.map((path) => `  ${show(path)} was changed by somebody else since, and is left as it is`),
        ...backups.map(
          (copy) =>
            `  what it was is kept, because not all of it is there any more: ${shownInHome(copy, home)}`,
        ),
        ...(removed.length === 0 ? [] : [`  no longer configured: ${removed.join(', ')}`]),
        ...toolLines(tools),
        ...swept.map((each) => `  and what was granted to them was taken out of ${shownInHome(each, home)}`),
        ...stayLines(removed.join(', '), stays, home),
        ...namedLines(named, home),
        ...kept.map(
          (name) =>
            `  ${name} stays configured, because you changed it since; to remove it: cordon mcp rm ${name}`,
        ),
        ...linkLines(links, home),
        '',
      ].join('\n'),
    )
    .join('')

const HOW = {
  exact: 'as it was, to the byte',
  entries: 'the client has changed it since; its changes stay, and our entries are as they were',
  untouched: 'it was not changed, or is as it was already',
  gone: 'it is gone',
} as const
