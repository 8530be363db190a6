import { join, normalize } from 'node:path'
import { below, ClosedError, lookAt } from '@cordon/policy'
import type { Collection } from './collection.ts'
import { type Command, commandsIn, commandsInProse, quotedIn, withPlaces, wordsOf } from './commands.ts'
import { named } from './git-settings.ts'
import { entryOf } from '@cordon/workspace'
import { entriesOf, readText } from './read.ts'

/** Whose programs these are. */
interface Project {
  readonly dir: string
  /** How many names may still be tried for programs that are named without their endings. */
  readonly tries: { left: number }
}

/** A word need not be a file that anybody means: one in a closed directory is no reason to start nothing. */
export function guardProgram(path: string, project: Project, found: Collection): void {
  try {
    const stats = lookAt(path)
    if (stats?.isDirectory() !== true) found.add('/', path, 'told')
    if (!stats || stats.isDirectory()) guardResolved(path, project, stats ? IN_A_DIRECTORY : [], found)
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error
    found.holdClosed(error.closed)
  }
}

/**
 * What Node takes a name for that is not there, or is a directory. What is not there either is not told when it is new: they are many.
 * The project itself is no program, and `package.json` in it is everybody's.
 */
function guardResolved(
  path: string,
  { dir, tries }: Project,
  inside: readonly string[],
  found: Collection,
): void {
  const name = normalize(path).replace(/(?<=.)\/$/, '')
  if (below(name, dir) !== undefined) return
  for (const each of [...ENDINGS.map((ending) => name + ending), ...inside.map((file) => join(name, file))]) {
    if (tries.left-- <= 0)
      return found.miss(dir, 'names very many programs without endings, so not all of those are guarded')
    if (lookAt(each)?.isDirectory() === false) found.add('/', each, 'told')
  }
}

const ENDINGS = ['.js', '.cjs', '.mjs', '.json', '.node', '.ts']
const IN_A_DIRECTORY = ['index.js', 'package.json']

/**
 * Settings of agents and editors that name programs, below a project or the home; of a directory every file in it, and for `*` each of
 * its entries. All of them are guarded, or read-only in the agent's profile, or told when they change.
 */
const SETTINGS: readonly string[] = [
  '.mcp.json',
  '.claude.json',
  '.claude/settings.json',
  '.claude/settings.local.json',
  '.claude/agents',
  '.claude/commands',
  '.claude/skills/*/SKILL.md',
  '.agents/skills/*/SKILL.md',
  '.codex/config.toml',
  '.codex/hooks.json',
  '.gemini/settings.json',
  '.gemini/extensions/*/gemini-extension.json',
  '.gemini/extensions/*/hooks/hooks.json',
  '.copilot/settings.json',
  '.copilot/mcp-config.json',
  '.copilot/hooks',
  '.cursor/hooks.json',
  '.cursor/mcp.json',
  '.cursor/worktrees.json',
  '.cursor/environment.json',
  '.vscode/mcp.json',
  '.github/hooks',
  '.github/mcp.json',
  '.windsurf/hooks.json',
  '.roo/mcp.json',
  '.kiro/settings/mcp.json',
  '.kiro/hooks',
  '.kiro/agents',
  '.amazonq/mcp.json',
  '.amazonq/cli-agents',
  'opencode.json',
  '.opencode/opencode.json',
]

/** A command may write such settings where there are none: of all together so many files are guarded, of each file or directory at most `MOST_OF_ONE`. */
const MOST = 1000
const MOST_OF_ONE = 200

/**
 * Decision 0594: files that an agent's settings have run by themselves (a status line, hooks, `notify`) are guarded like the
 * settings, wherever they are named by a path. `home`: where `~` leads.
 */
export function guardNamedInSettings(dirs: readonly string[], home: string, found: Collection): void {
  const lists = dirs.flatMap((dir) =>
    SETTINGS.map((name) => filesNamedBy(dir, name, home, found).map((path) => ({ path, dir }))),
  )
  const guarded = new Set<string>()
  const tries = { left: Infinity } // as many as there are files
  // Some of each in turn: what one names in any number keeps none of the others from being guarded.
  const longest = Math.max(...lists.map((list) => list.length))
  for (let rank = 0; rank < longest; rank++)
    for (const { path, dir } of lists.flatMap((list) => list[rank] ?? [])) {
      if (guarded.has(path)) continue
      if (guarded.size === MOST) {
        found.miss(dirs[0]!, 'has settings that name very many files, so not all of those are guarded')
        return
      }
      guarded.add(path)
      guardProgram(path, { dir, tries }, found)
    }
}

/** So many words count, and paths are looked at, and so much text of all files in a directory: whoever wrote them must not keep us busy. */
const MOST_WORDS = 20_000
const MOST_LOOKED = 2000
const LONGEST = 4 * 1024 * 1024

/** Of one name among the settings: of a directory all of its files together. */
function filesNamedBy(dir: string, name: string, home: string, found: Collection): readonly string[] {
  const files = new Set<string>()
  const looked = new Set<string>()
  let textLeft = LONGEST
  let wordsLeft = MOST_WORDS
  for (const settings of settingsIn(dir, name, found)) {
    const read = readText(settings.file)
    if ('unknown' in read) {
      found.miss(settings.file, `${read.unknown}, so programs that it names are not guarded`)
      continue
    }
    textLeft -= read.text.length
    let isAll = textLeft >= 0
    const commands = isAll ? readerOf(settings.name)(read.text) : []
    for (const { paths, onlyIfThere } of wordsIn(commands, dir, home)) {
      isAll = --wordsLeft >= 0 && looked.size < MOST_LOOKED && files.size < MOST_OF_ONE
      if (!isAll) break
      for (const path of paths) {
        if (looked.has(path)) continue
        looked.add(path)
        if (!onlyIfThere || isThere(path)) files.add(path)
      }
    }
    if (isAll) continue
    found.miss(entryOf(dir, name), 'names very many files, so not all of them are guarded')
    break
  }
  return [...files]
}

interface NamedPaths {
  readonly paths: readonly string[]
  readonly onlyIfThere: boolean
}

/** What each word may name, from the project's directory, and from where the settings say that a command starts. */
function* wordsIn(commands: readonly Command[], dir: string, home: string): Generator<NamedPaths> {
  for (const command of commands) {
    const starts = [dir, ...command.from.flatMap((from) => named(withPlaces(from), dir, home))]
    for (const { word, onlyIfThere } of wordsOf(command))
      yield { paths: starts.flatMap((start) => named(word, start, home)), onlyIfThere }
  }
}

interface Settings {
  readonly name: string
  readonly file: string
}

/** Behind links, too: what the agent reads is where they lead. */
function settingsIn(dir: string, name: string, found: Collection): readonly Settings[] {
  const [parent = '', inEach = ''] = name.split('/*')
  const end = found.endOf(dir, parent)
  if (end?.is === 'file' && parent === name) return [{ name, file: end.path }]
  if (end?.is !== 'dir') return []
  const { entries, more } = entriesOf(end.path, MOST_FILES)
  if (more) found.miss(end.path, 'has very many files, so programs that they name are not guarded')
  return entries.flatMap((entry) => {
    const each = `${entry.name}${inEach}`
    const led = found.endOf(end.path, each)
    return led?.is === 'file' ? [{ name: each, file: led.path }] : []
  })
}

const MOST_FILES = 200

const readerOf = (name: string): ((text: string) => readonly Command[]) =>
  name.endsWith('.json') ? commandsIn : /\.md$/i.test(name) ? commandsInProse : quotedIn

/** What may be closed is not known to be missing. */
function isThere(path: string): boolean {
  try {
    return lookAt(path) !== undefined
  } catch (error) {
    if (!(error instanceof ClosedError)) throw error
    return true
  }
}
