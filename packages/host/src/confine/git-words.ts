import { dirname, join, resolve } from 'node:path'
import { type AccessPolicy, below, shellWord, show } from '@cordon/policy'
import { fromHere } from '../outside/place.ts'
import { ask, type Hint, type HintFacts } from './hint.ts'
import type { PathMention } from './mentions.ts'
import { isDeniedOnPurpose } from './outside-hints.ts'

/** How git was called: the words from its command on, and what the options before it say of where it works. */
export interface GitCall {
  /** Of every `-C`, in their order: each counts from the one before. */
  readonly directories: readonly string[]
  /** Whether the repository was named, so that git looks for none. */
  readonly isNamed: boolean
  readonly words: readonly string[]
}

/** Undefined when another program is started. */
export function parseGitCall([program = '', ...words]: readonly string[]): GitCall | undefined {
  if (!/(?:^|\/)git$/.test(program)) return undefined
  const directories: string[] = []
  let isNamed = false
  let at = 0
  for (; words[at]?.startsWith('-'); at++) {
    const word = words[at]!
    isNamed ||= /^--(?:git-dir|work-tree)(?:=|$)/.test(word)
    if (word === '-C') directories.push(words[at + 1] ?? '')
    if (TAKES_ONE.test(word)) at++
  }
  return { directories, isNamed, words: words.slice(at) }
}

const TAKES_ONE = /^(?:-C|-c|--git-dir|--work-tree|--namespace|--config-env|--exec-path)$/

/** What git says of a repository elsewhere that it cannot use: it never calls it a file, and of a push only the end names it. */
export function repositoriesMissed(said: string, argv: readonly string[]): readonly PathMention[] {
  const isPush = parseGitCall(argv)?.words[0] === 'push'
  return [
    ...[...said.matchAll(NO_REPOSITORY)].map(([, path = '']): PathMention => ({
      path,
      trouble: 'absent',
      ...(isPush ? { writes: 'content' as const } : {}),
    })),
    ...[...said.matchAll(NOT_UNPACKED)].map(([, path = '']): PathMention => ({ path, trouble: 'read-only' })),
  ]
}

const NO_REPOSITORY = /'([^'\n]+)' does not appear to be a git repository/g
const NOT_UNPACKED = /\(unpacker error\)\n(?:.*\n)?error: failed to push some refs to '([^'\n]+)'/g

/**
 * Git that finds no repository, where there is one on the host around the directory it works in, and no rule shows it. Its files
 * belong to it: without them git would take each for deleted.
 */
export function unseenRepository(said: string, argv: readonly string[], facts: HintFacts): Hint[] {
  const { directories = [], isNamed = false } = parseGitCall(argv) ?? {}
  if (isNamed || !NO_REPOSITORY_HERE.test(said)) return []
  const { root, cwd, exists } = facts
  let at = resolve(cwd, ...directories)
  while (at !== root.path && below(root.path, at) !== undefined && !exists(join(at, '.git'))) at = dirname(at)
  const git = exists(join(at, '.git')) ? below(root.path, join(at, '.git')) : undefined
  const found = git === undefined ? undefined : ask('read', git, facts)
  if (git === undefined || !found || found.allowed) return []
  const isMeant = found.rule?.axis === 'fs' && isDeniedOnPurpose(found.rule.rule)
  return [
    {
      about: git,
      text: `there is a repository around it on the host, and ${show(git)} is not granted: ${found.because}`,
      fix: isMeant ? undefined : `--read ${shellWord(fromHere(at, cwd))}`,
      question: found.question,
      audience: 'person',
    },
  ]
}

const NO_REPOSITORY_HERE = /\bnot a git repository \(or any /

/** SPEC 4.10: what no flag lets git do inside, because a directory that is guarded would be made or removed; else undefined. */
export function whyOutside(
  argv: readonly string[],
  { code, said }: { readonly code: number | null; readonly said: string },
  { cwd, exists }: { readonly cwd: string; readonly exists: (path: string) => boolean },
): string | undefined {
  // `git worktree prune` complains, and succeeds.
  if (code === 0 && !HELD.test(said)) return undefined
  const call = parseGitCall(argv)
  const [command, sub = ''] = call?.words ?? []
  if (command === 'worktree' && sub === 'remove')
    return `${WORKTREES}, with --force if it has begun to delete files`
  if (command === 'worktree' && /^(?:move|prune)$/.test(sub)) return WORKTREES
  if (command !== 'submodule') return undefined
  const isMade =
    sub === 'add' ||
    (sub === 'update' && ((HELD.test(said) && !MODULE_CONFIG.test(said)) || !hasModules(call!, cwd, exists)))
  return isMade ? MODULES : undefined
}

/** `git submodule update` writes to the configuration of a submodule. Of several nobody knows which one. */
export function submoduleConfig(
  argv: readonly string[],
  { fs }: Pick<AccessPolicy, 'fs'>,
): readonly PathMention[] {
  const [command, sub, ...words] = parseGitCall(argv)?.words ?? []
  if (command !== 'submodule' || sub !== 'update') return []
  const configs = fs.flatMap(({ path, guard }) =>
    guard !== undefined && /^\.git\/modules\/.+\/config$/.test(path) ? [path] : [],
  )
  const named = configs.filter((path) => words.some((word) => path === `.git/modules/${word}/config`))
  const [only, ...others] = named.length > 0 ? named : configs
  return only === undefined || others.length > 0 ? [] : [{ path: only, trouble: 'busy' }]
}

const HELD = /Device or resource busy|Read-only file system/
/** That one is there, and a flag lets it be written. */
const MODULE_CONFIG = /\.git\/modules\/\S+\/config: Device or resource busy/
const WORKTREES =
  'git keeps what a worktree obeys in .git/worktrees, which is guarded and not changed inside: run it outside'
const MODULES =
  'git keeps what a submodule obeys in .git/modules, which is guarded and not made inside: run it outside'

const hasModules = ({ directories }: GitCall, cwd: string, exists: (path: string) => boolean): boolean =>
  exists(join(resolve(cwd, ...directories), '.git/modules'))

/** The directory that `git worktree add` makes. */
export function newWorktree(argv: readonly string[]): string | undefined {
  const { directories = [], words: [command, sub, ...words] = [] } = parseGitCall(argv) ?? {}
  if (command !== 'worktree' || sub !== 'add') return undefined
  const isValue = (at: number): boolean => /^(?:-[bB]|--reason)$/.test(words[at - 1] ?? '')
  const path = words.find((word, at) => !word.startsWith('-') && !isValue(at))
  return path && [...directories, path].reduce((dir, next) => (next.startsWith('/') ? next : join(dir, next)))
}

/**
 * A `git worktree add` whose directory could not be made leaves its new branch, and one whose directory is gone with the private
 * home its name as well: the commands that take them away, before the same is tried again. `-d` keeps a branch with work on it.
 */
export function afterLostWorktree(argv: readonly string[], was: 'refused' | 'gone'): readonly string[] {
  const call = parseGitCall(argv)
  if (call?.words[0] !== 'worktree' || call.words[1] !== 'add') return []
  const git = ['git', ...call.directories.flatMap((dir) => ['-C', shellWord(dir)])].join(' ')
  const named = call.words.indexOf('-b')
  const branch = named < 0 ? undefined : call.words[named + 1]
  return [
    ...(was === 'gone' ? [`${git} worktree prune`] : []),
    ...(branch === undefined ? [] : [`${git} branch -d ${shellWord(branch)}`]),
  ]
}
