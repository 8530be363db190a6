import { ClosedError, isFields, lookAt } from '@cordon/policy'
import type { Collection } from './collection.ts'
import { named } from './git-settings.ts'
import { readText } from './read.ts'

/**
 * What of a command, as a shell gets it, can name a file: a path, or a name with a dot (`sh clean.sh`); also between the shell's
 * punctuation, and after `--option=`. A word like `clean` in `git-lfs clean` is none.
 */
export const filesNamedIn = (command: string): readonly string[] =>
  [...new Set([...command.split(/[\s"']+/), ...command.split(/[\s"'`!;&|<>(){}$=\\]+/)])].filter((word) =>
    /[/.]/.test(word),
  )

/** A word need not be a file that anybody means: one in a closed directory is no reason to start nothing. */
export function guardProgram(path: string, found: Collection): void {
  try {
    if (lookAt(path)?.isDirectory() !== true) found.add('/', path, 'told')
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error
    found.holdClosed(error.closed)
  }
}

/** Settings of agents that name programs, below a project or the home. All of them are guarded, or read-only in the agent's profile. */
const SETTINGS: readonly string[] = [
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.codex/config.toml',
  '.codex/hooks.json',
  '.gemini/settings.json',
  '.copilot/settings.json',
  '.copilot/mcp-config.json',
  '.cursor/hooks.json',
]

/** Keys of those, whatever is around them, whose value is a command or a part of one. */
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
])

/** A command may write such settings where there are none: it must not fill the list. */
const MOST_WORDS = 200

/**
 * Decision 0594: files that an agent's settings have run by themselves (a status line, hooks, `notify`) are guarded like the
 * settings, wherever they are named by a path. `home`: where `~` leads.
 */
export function guardNamedInSettings(dir: string, home: string, found: Collection): void {
  for (const name of SETTINGS) {
    const file = found.fileAt(dir, name)
    if (file === undefined) continue
    const read = readText(file)
    if ('unknown' in read) {
      found.miss(file, `${read.unknown}, so programs that it names are not guarded`)
      continue
    }
    const commands = name.endsWith('.json') ? commandsIn(read.text) : quotedIn(read.text)
    const words = [...new Set(commands.flatMap((each) => filesNamedIn(withPlaces(each))))]
    if (words.length > MOST_WORDS) found.miss(file, 'names very many files, so not all of them are guarded')
    for (const word of words.slice(0, MOST_WORDS))
      for (const path of named(word, dir, home)) guardProgram(path, found)
  }
}

/** What stands for the home and for the project's directory, also in quotes of its own: names that hold no space. */
const withPlaces = (command: string): string =>
  command
    .replaceAll(/"?\$(?:HOME\b|\{HOME\})"?/g, '~')
    .replaceAll(/"?\$(?:[A-Z]+_PROJECT_DIR\b|\{[A-Z]+_PROJECT_DIR\})"?/g, '.')

function commandsIn(text: string): readonly string[] {
  try {
    return stringsBelow(JSON.parse(text), false)
  } catch {
    return quotedIn(text) // with comments, say, which the agent may pass over
  }
}

function stringsBelow(value: unknown, isCommand: boolean): readonly string[] {
  if (typeof value === 'string') return isCommand ? [value] : []
  if (Array.isArray(value)) return value.flatMap((each) => stringsBelow(each, isCommand))
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => stringsBelow(inner, isCommand || COMMANDS.has(key)))
}

/** Everything between quotes: more than is meant, and nothing that is meant is missed. */
const quotedIn = (text: string): readonly string[] =>
  [...text.matchAll(/"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'/g)].map(([, double, single]) => double ?? single ?? '')
