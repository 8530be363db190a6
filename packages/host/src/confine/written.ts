import { basename, resolve } from 'node:path'
import { newWorktree, parseGitCall } from './git-words.ts'
import type { Mentions, PathMention } from './mentions.ts'

/**
 * SPEC 4.7: a file that is not there inside is missed in the same words by who wants to read it and by who wants to write it.
 * What the command line says of it tells them apart: the redirections of a shell, and the programs that only write.
 */
export function withWritten(
  mentions: Mentions,
  argv: readonly string[],
  place: { readonly cwd: string; readonly home: string },
): Mentions {
  const written = writtenBy(argv, place)
  const started = new Set(
    scriptsIn(argv)
      .flatMap(startedIn)
      .map((path) => absolute(path, place)),
  )
  const made = new Set(directoriesMade(argv).map((path) => absolute(path, place)))
  if (written.size + started.size === 0) return mentions
  const paths = mentions.paths.map((mention): PathMention => {
    const path = absolute(mention.path, place)
    const writes = mention.writes ?? written.get(path)
    return {
      ...mention,
      ...(writes === undefined ? {} : { writes }),
      ...(started.has(path) ? { runs: true } : {}),
      ...(made.has(path) ? { isDirectory: true } : {}),
    }
  })
  return { ...mentions, paths }
}

/** Where a script on the command line writes to. Only what is written out there: of a variable nobody knows what it holds. */
export const writtenInScripts = (argv: readonly string[]): readonly PathMention[] =>
  scriptsIn(argv)
    .flatMap(byScript)
    .map(([path, writes]): PathMention => ({ path: plain(path), trouble: 'unsaid', writes, inScript: true }))
    .filter(({ path }) => path !== '' && !/[$`*?{}\\]/.test(path))

/** What a command line says it writes, by its absolute path. */

/** `entry`: it is removed or replaced, which is written in its directory. */
type Writes = 'content' | 'entry'

export function writtenBy(
  argv: readonly string[],
  place: { readonly cwd: string; readonly home: string },
): ReadonlyMap<string, Writes> {
  const found = [...byProgram(argv), ...scriptsIn(argv).flatMap(byScript)]
  return new Map(found.map(([path, writes]) => [absolute(path, place), writes]))
}

const scriptsIn = (argv: readonly string[]): readonly string[] => {
  const words = argv.slice(1, MOST_WORDS)
  const given = SHELL.test(basename(argv[0] ?? '')) ? words.findIndex((word) => /^-\w*c$/.test(word)) + 1 : 0
  return words
    .filter((word, at) => /\s|\(/.test(word) || (given > 0 && at === given))
    .map((script) => script.slice(0, LONGEST))
}

const SHELL = /^(?:sh|bash|dash|zsh|ksh|ash)$/

/** The paths that stand where a shell expects a program. */
const startedIn = (script: string): readonly string[] =>
  [
    ...script.matchAll(
      /(?:^|[;&|(\n]|\b(?:then|do|else|exec|env|time|nohup)\s)\s*((?:~|\$HOME|\.{0,2})\/[^\s;&|<>()'"]+)/g,
    ),
  ].map(([, path = '']) => path)

const MOST_WORDS = 200
const LONGEST = 10_000

function absolute(path: string, { cwd, home }: { readonly cwd: string; readonly home: string }): string {
  return resolve(cwd, plain(path).replace(/^~(?=\/|$)/, home))
}

/** Without quotes, and the home as people write it. */
const plain = (path: string): string =>
  path.replaceAll(/["']/g, '').replace(/^(?:\$HOME|\$\{HOME\})(?=\/|$)/, '~')

type Found = readonly [path: string, writes: Writes]

function byProgram([program = '', ...words]: readonly string[]): readonly Found[] {
  const name = basename(program)
  const names = words.filter((word) => !word.startsWith('-'))
  if (/^(?:touch|tee|truncate|mkdir)$/.test(name)) return names.map((path) => [path, 'content'])
  if (/^(?:rm|rmdir|unlink|shred)$/.test(name)) return names.map((path) => [path, 'entry'])
  if (/^(?:bsd)?tar$/.test(name)) return archiveOf(words).map((path) => [path, 'content'])
  if (name === 'zip') return names.slice(0, 1).map((path) => [path, 'content'])
  const worktree = newWorktree([program, ...words])
  if (worktree !== undefined) return [[worktree, 'content']]
  if (OUTPUTS.test(name) || parseGitCall([program, ...words])?.words[0] === 'archive')
    return outputOf(words).map((path) => [path, 'content'])
  if (name === 'mv') return names.map((path, at) => [path, at < names.length - 1 ? 'entry' : 'content'])
  if (/^(?:cp|ln|install|rsync)$/.test(name)) return names.slice(-1).map((path) => [path, 'content'])
  if (name === 'dd')
    return words.flatMap((word) => (word.startsWith('of=') ? [[word.slice(3), 'content']] : []))
  if (name === 'sed' && words.some((word) => /^(?:-\w*i|--in-place)/.test(word)))
    return names.map((path) => [path, 'entry'])
  return []
}

function directoriesMade([program = '', ...words]: readonly string[]): readonly string[] {
  const worktree = newWorktree([program, ...words])
  if (worktree !== undefined) return [worktree]
  return basename(program) === 'mkdir' ? words.filter((word) => !word.startsWith('-')) : []
}

/** Whose `-o` names the file to be written: of `grep`, `ps` and `ssh` it is something else. */
const OUTPUTS =
  /^(?:(?:[\w.]+-)*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|as)(?:-[\d.]+)?|rustc|go|sort|curl|pandoc|dot)$/

/** `-o FILE`, `-oFILE`, `--output FILE`, `--output=FILE`; of several letters, as in `curl -sSLo FILE`, the last. */
const outputOf = (words: readonly string[]): readonly string[] =>
  words.flatMap((word, at) =>
    /^(?:-[A-Za-z]*o|--output)$/.test(word)
      ? words.slice(at + 1, at + 2)
      : (/^(?:-o=?|--output=)(.+)$/s.exec(word)?.slice(1) ?? []),
  )

/** `tar cf FILE`, `tar -czf FILE`, `tar -c --file=FILE`: only who makes or extends one writes it. */
function archiveOf(words: readonly string[]): readonly string[] {
  const letters = [words[0] ?? '', ...words.slice(1).filter((word) => /^-\w/.test(word))]
  if (!letters.some((word) => /^-?\w*[cru]/.test(word)) && !words.includes('--create')) return []
  const at = words.findIndex((word, i) => (i === 0 ? /^-?\w*f$/ : /^-\w*f$/).test(word))
  const named = words.flatMap((word) => /^--file=(.+)$/s.exec(word)?.slice(1) ?? [])
  return at < 0 ? named : [...words.slice(at + 1, at + 2), ...named]
}

const byScript = (script: string): readonly Found[] =>
  WRITERS.flatMap((shape) => [...script.matchAll(shape)].map(([, path = '']): Found => [path, 'content']))

/** In shells `> file` and `tee file`; in Python `open("file", "w")`; in Node `writeFileSync("file"`. */
const WRITERS = [
  /(?<![<=>-])>{1,2}\|?\s*((?:"[^"\n]*"|'[^'\n]*'|[^\s;&|<>()'"])+)/g,
  /\btee\s+(?:-a\s+)?((?:"[^"\n]*"|'[^'\n]*'|[^\s;&|<>()'"])+)/g,
  /\bopen\(\s*["']([^"'\n]+)["']\s*,\s*["'][bt]?[wax+]/g,
  /\b(?:writeFile|appendFile|createWriteStream|mkdir)(?:Sync)?\(\s*["'`]([^"'`\n]+)["'`]/g,
]
