import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { parseGitCall } from './git-words.ts'
import type { Mentions } from './mentions.ts'

interface Surroundings {
  readonly cwd: string
  readonly home: string
  /** Whether there is such a file on the host. */
  readonly exists: (path: string) => boolean
}

/**
 * SPEC 4.7: a program names paths from where it works, which is not always where the command was started. Where it is not known
 * where that is, a relative path is left out: a flag for another file of the same name is worse than none (decision 0511).
 */
export function fromItsDirectory(
  mentions: Mentions,
  argv: readonly string[],
  { cwd, home, exists }: Surroundings,
): Mentions {
  const works = worksIn(argv, cwd, home)
  const paths = mentions.paths.flatMap((mention) => {
    // What stands on the command line is meant from where the command was started.
    if (
      (mention.trouble === 'unsaid' && !mention.inScript) ||
      isAbsolute(mention.path) ||
      mention.path.startsWith('~')
    )
      return [mention]
    if (!works || (works.until && !isOnlyIn(mention.path, works.until))) return []
    const meant = resolve(baseOf(mention.path, works, exists), mention.path)
    return [meant === resolve(cwd, mention.path) ? mention : { ...mention, path: meant }]
  })
  return { ...mentions, paths }
}

interface Works {
  readonly directory: string
  /** `top`: git goes to the top of the repository, and names paths from there. */
  readonly names: 'from here' | 'from the top' | 'as named'
  /** A script that goes elsewhere later: only what it names before, and not afterwards, is known to be meant from here. */
  readonly until?: { readonly before: string; readonly after: string }
}

function isOnlyIn(
  path: string,
  { before, after }: { readonly before: string; readonly after: string },
): boolean {
  const words = (text: string): readonly string[] => text.split(/[\s;&|<>()'"]+/)
  return words(before).includes(path) && !words(after.replace(/^\s*cd\s+\S+/, '')).includes(path)
}

/** Whoever names a path in `.git` is git, which looks for the repository around. */
function baseOf(path: string, { directory, names }: Works, exists: Surroundings['exists']): string {
  const isOfGit = path === '.git' || path.startsWith('.git/')
  if (names === 'as named' || (names === 'from here' && !isOfGit)) return directory
  return repositoryAround(directory, exists) ?? directory
}

function repositoryAround(directory: string, exists: Surroundings['exists']): string | undefined {
  if (exists(join(directory, '.git'))) return directory
  return directory === '/' ? undefined : repositoryAround(dirname(directory), exists)
}

/** Undefined: it is not known. */
function worksIn(argv: readonly string[], cwd: string, home: string): Works | undefined {
  const git = parseGitCall(argv)
  if (git) {
    const directory = resolve(cwd, ...git.directories)
    if (git.isNamed) return { directory, names: 'as named' }
    return { directory, names: /^(?:init|clone)$/.test(git.words[0] ?? '') ? 'from here' : 'from the top' }
  }
  const [program = '', ...words] = argv
  const flag = SHELLS.test(basename(program)) ? words.findIndex((word) => /^-\w*c$/.test(word)) : -1
  if (flag >= 0) return worksInScript(words[flag + 1] ?? '', cwd, home)
  if (DIRECTORY_FIRST.test(basename(program)) && words[0] === '-C' && !words.includes('-C', 1))
    return { directory: resolve(cwd, words[1] ?? ''), names: 'from here' }
  return words.some((word) => MOVES.test(word)) ? undefined : { directory: cwd, names: 'from here' }
}

const SHELLS = /^(?:sh|bash|dash|zsh|ksh|ash)$/
/** They go there before they do anything. */
const DIRECTORY_FIRST = /^(?:g?make|ninja|(?:bsd)?tar)$/
/** As programs call the option that takes them elsewhere. */
const MOVES = /^(?:-C|--(?:directory|chdir|cwd|prefix|work-tree|git-dir)(?:=.*)?)$/

/** `cd DIR && …` at the start is followed, and a script of one command is read as that command. */
function worksInScript(script: string, cwd: string, home: string): Works | undefined {
  const { to, rest } = FIRST_CD.exec(script)?.groups ?? {}
  if (to !== undefined && rest !== undefined) {
    const directory = wordOf(to, home)
    return directory === undefined ? undefined : worksInScript(rest, resolve(cwd, directory), home)
  }
  const words = script
    .trim()
    .split(/\s+/)
    .map((word) => wordOf(word, home))
  if (words.every((word) => word !== undefined)) return worksIn(words, cwd, home)
  const at = script.search(GOES)
  if (at < 0) return { directory: cwd, names: 'from here' }
  return {
    directory: cwd,
    names: 'from here',
    until: { before: script.slice(0, at), after: script.slice(at) },
  }
}

const FIRST_CD = /^\s*cd\s+(?:--\s+)?(?<to>'[^']*'|"[^"]*"|[^\s;&|'"]+)\s*(?:&&|;|\n)(?<rest>.*)$/s
const GOES =
  /\b(?:cd|pushd|chdir)\b|(?<!\S)(?:-C|--(?:directory|chdir|cwd|prefix|work-tree|git-dir))(?![\w-])/

/** A word of the shell as the shell reads it; undefined where that takes more than its text. */
function wordOf(word: string, home: string): string | undefined {
  const plain = word.replace(/^(?:~|\$HOME|\$\{HOME\}|"\$HOME"|"\$\{HOME\}")(?=\/|$)/, home)
  const quoted = /^'([^'$`\\]*)'$|^"([^"$`\\]*)"$/.exec(
    plain.replace(/^"\$(?:HOME|\{HOME\})(?=\/|"$)/, `"${home}`),
  )
  if (quoted) return quoted[1] ?? quoted[2]
  return /[$`'"\\*?[\]{}()<>|&;#!]/.test(plain) ? undefined : plain
}
