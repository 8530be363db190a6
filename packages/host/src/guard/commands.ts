import { isFields } from '@cordon/policy'

/** A text in settings that is a command, or one word of one. */
export interface Command {
  readonly text: string
  /** Where it may start, beside the project's directory: as the settings say. */
  readonly from: readonly string[]
  /** An element of a list is one word, whatever is in it. */
  readonly isElement: boolean
}

/** What of a command may name a file. */
export interface Word {
  readonly word: string
  /** It has spaces in it, so that it is rather a sentence: it counts where there is such a file. */
  readonly onlyIfThere: boolean
}

/**
 * What of a command, as a shell gets it, can name a file: a path, or a name with a dot (`sh clean.sh`); also between the shell's
 * punctuation, in a list with colons, and after `--option=`, `-option:` or `-o`. A word like `clean` in `git-lfs clean` is none.
 */
export function filesNamedIn(command: string): readonly string[] {
  const text = command.replaceAll(GOES_TO, '$1')
  const pieces = text.split(/(?:[\s"'`!;&|<>(){}$=\\]|:(?!\/\/[^/]))+/) // of a URL nothing is a path
  const glued = pieces.flatMap((piece) => (piece.startsWith('-') ? afterOption(piece) : []))
  return [...new Set([...text.split(/[\s"']+/), ...pieces, ...glued])].filter(isName)
}

/** Of `-r./x.rb`, `-wr./x.rb` and `-rtools/x.rb`, behind one letter and behind all. */
const afterOption = (word: string): readonly string[] => [word.slice(2), word.replace(/^-+[A-Za-z]*/, '')]

/** Where a shell goes first is a directory, and so no program. */
const GOES_TO = /(^|[;&|(\n])[ \t]*(?:cd|pushd)[ \t]+(?:"[^"\n]*"|'[^'\n]*'|[^\s"'\\;&|<>()])+/g

const isName = (word: string): boolean => /[/.]/.test(word) && !word.includes('\0') // with which no path can be asked for

/** The same of a command in an agent's settings: with what stands for known places, in quotes, and as a whole. */
export function wordsOf({ text, isElement }: Command): readonly Word[] {
  if (!isName(text)) return []
  const whole = withPlaces(text)
  const spaced = new Set([whole, ...shellWords(whole.replaceAll(GOES_TO, '$1'))])
  const words = new Set([
    ...filesNamedIn(withPlaces(text.replaceAll(QUOTED_PLACE, '$1'))),
    ...[...spaced].filter((word) => isName(word) && !/\s/.test(word)),
  ])
  const isPath = (word: string): boolean => isElement && word === whole && !PIECE_OF_A_PROGRAM.test(word)
  return [
    ...[...words].map((word) => ({ word, onlyIfThere: false })),
    ...[...spaced].flatMap((word) =>
      isName(word) && !words.has(word) ? [{ word, onlyIfThere: !isPath(word) }] : [],
    ),
  ]
}

/** `my dir/run.sh` is none. */
const PIECE_OF_A_PROGRAM = /^[^/]*$|[\n"'`!;&|<>(){}$=*?,]/

/** Words as a shell takes them apart, without their quotes: `"/my dir/run.sh"`, `/my\ dir/run.sh`. */
const shellWords = (text: string): readonly string[] =>
  [...text.matchAll(/(?:"[^"]*"|'[^']*'|\\[^]|[^\s"'\\;&|<>()])+/g)].map(([word]) =>
    word.replaceAll(/"([^"]*)"|'([^']*)'|\\([^])/g, (_, ...inner: (string | undefined)[]) =>
      inner.slice(0, 3).join(''),
    ),
  )

const PROJECT = String.raw`PWD|[A-Z]+_PROJECT_DIR|workspaceFolder|workspaceRoot|workspacePath`
const HOME = String.raw`HOME|env:HOME|userHome`
/** What a variable is followed by in its braces: `${NAME:-default}`, `${workspaceFolder:name}`. */
const REST = String.raw`(?:[:+=?-][^{}$]*)?`

const PROJECT_PLACE = new RegExp(String.raw`\$(?:(?:${PROJECT})\b|\{(?:${PROJECT})${REST}\})`, 'g')
const HOME_PLACE = new RegExp(String.raw`\$(?:HOME\b|\{(?:${HOME})${REST}\})`, 'g')
const QUOTED_PLACE = new RegExp(`"?(${PROJECT_PLACE.source}|${HOME_PLACE.source})"?`, 'g')

/** What prints the project's directory. */
const PRINTED_PLACE = /\$\((?:git rev-parse --show-toplevel|pwd)\)|`(?:git rev-parse --show-toplevel|pwd)`/g

/** Any other variable that has a path for when it is not set. */
const WITH_DEFAULT = /\$\{\w+:?-([^{}$]*)\}/g

/** With what stands for the home and for the project's directory in the place of their variables; an inner one first. */
export function withPlaces(command: string): string {
  let text = command.replaceAll(PRINTED_PLACE, '.')
  for (let depth = 0; depth < DEEPEST; depth++)
    text = text.replaceAll(HOME_PLACE, '~').replaceAll(PROJECT_PLACE, '.').replaceAll(WITH_DEFAULT, '$1')
  return text
}

const DEEPEST = 3

/** Keys of settings, whatever is around them, whose value is a command or a part of one. */
const COMMANDS: ReadonlySet<string> = new Set([
  'command',
  'args',
  'bash',
  'discoveryCommand',
  'callCommand',
  'apiKeyHelper',
  'awsAuthRefresh',
  'awsCredentialExport',
  'gcpAuthRefresh',
  'otelHeadersHelper',
  // Of Cursor, for a worktree or a machine that it makes.
  'setup-worktree',
  'setup-worktree-unix',
  'install',
  'start',
  // Of what a server, or the agent itself, is given as its environment: what loads or starts a file.
  'NODE_OPTIONS',
  'LD_PRELOAD',
  'LD_AUDIT',
  'BASH_ENV',
  'ENV',
  'PYTHONSTARTUP',
  'PERL5OPT',
  'RUBYOPT',
  'JAVA_TOOL_OPTIONS',
  'GIT_SSH_COMMAND',
  'GIT_ASKPASS',
  'SSH_ASKPASS',
])

/** Keys beside those, whose value is the directory that the command starts in. */
const STARTS: readonly string[] = ['cwd', 'workingDirectory']

/** Of settings in JSON. With comments, say, which an agent may pass over, everything between quotes. */
export function commandsIn(text: string): readonly Command[] {
  try {
    return commandsBelow(JSON.parse(text), { isCommand: false, from: [], isElement: false })
  } catch {
    return quotedIn(text)
  }
}

interface Around {
  readonly isCommand: boolean
  readonly from: readonly string[]
  readonly isElement: boolean
}

function commandsBelow(value: unknown, around: Around): readonly Command[] {
  if (typeof value === 'string')
    return around.isCommand ? [{ text: value, from: around.from, isElement: around.isElement }] : []
  if (Array.isArray(value))
    return value.flatMap((each) => commandsBelow(each, { ...around, isElement: true }))
  if (!isFields(value)) return []
  const starts = STARTS.flatMap((key) => (typeof value[key] === 'string' ? [value[key]] : []))
  const from = starts.length > 0 ? starts : around.from
  return Object.entries(value).flatMap(([key, inner]) =>
    commandsBelow(inner, { isCommand: around.isCommand || COMMANDS.has(key), from, isElement: false }),
  )
}

/**
 * Of text for a model: what its first lines (between `---`, as YAML) have for a command, with all that is indented below it, and what
 * is started for its sake: !`git status`.
 */
export function commandsInProse(text: string): readonly Command[] {
  const head = HEAD.exec(text)?.[1] ?? ''
  const from = startsIn(head)
  const started = [...text.matchAll(STARTED)].map(([, command = '']) => command)
  const named = [...commandsInHead(head)].map((each) => each.replaceAll(/[[\]{},]/g, ' '))
  return [...named, ...started].map((each) => ({ text: each, from, isElement: false }))
}

const HEAD = /^\uFEFF?---[ \t]*\r?\n([^]*?\n)---/
const STARTED = /!`([^`\n]+)`/g
/** At the beginning of a line, or in braces: `- { type: command, command: ./x.sh }`. In a description it is a word like others. */
const KEY = new RegExp(
  String.raw`(?<left>^[ \t]*(?:- +)*|[{,][ \t]*)["']?(?:${[...COMMANDS].join('|')})["']?[ \t]*:`,
)

/** The rest of its line, and the lines that go on with it: further to the right, or elements of its list. */
function* commandsInHead(head: string): Generator<string> {
  let left: number | undefined
  for (const line of head.split(/\r?\n/)) {
    const key = KEY.exec(line)
    if (key && (key.index === 0 || line.includes('{'))) {
      left = key.index === 0 ? key.groups!['left']!.length : line.search(/\S/)
      yield line.slice(key.index + key[0].length)
    } else if (left !== undefined && goesOn(line, left)) yield line
    else left = undefined
  }
}

const goesOn = (line: string, left: number): boolean =>
  line.trim() === '' || line.search(/\S/) > left || (line.search(/\S/) === left && /^[ \t]*- /.test(line))

/** Everything between quotes: more than is meant, and nothing that is meant is missed. */
export function quotedIn(text: string): readonly Command[] {
  const from = startsIn(text)
  return [...text.matchAll(LONG_QUOTED), ...text.matchAll(QUOTED)].map(([, double, single]) => ({
    text: double === undefined ? (single ?? '') : unescaped(double),
    from,
    isElement: false,
  }))
}

const startsIn = (text: string): readonly string[] =>
  [
    ...new Set([...text.matchAll(START)].map(([, double, single, bare]) => double ?? single ?? bare ?? '')),
  ].slice(0, MOST_STARTS)

/** `cwd = "tools"` in TOML, `"cwd": "tools"`, or `cwd: tools`: whose it is, is not asked. */
const START = /\b(?:cwd|workingDirectory)["']?[ \t]*[=:][ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'#,}\]]+))/g
const MOST_STARTS = 10

/** What is not closed goes to the end of its line: so each character is looked at once, whoever wrote it. */
const QUOTED = /"((?:[^"\\\n]|\\[^\n])*)(?:"|\\?$)|'([^'\n]*)(?:'|$)/gm
/** Of TOML, over several lines. */
const LONG_QUOTED = /"""([^]*?)"""|'''([^]*?)'''/g

function unescaped(text: string): string {
  try {
    return !text.includes('\\') ? text : String(JSON.parse(`"${text}"`))
  } catch {
    return text
  }
}
