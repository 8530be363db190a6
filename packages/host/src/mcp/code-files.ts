import { readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, resolve } from 'node:path'
import { refuseClosed, shellWord } from '@cordon/policy'

/** The files that an interpreter is told of up to the one it runs. */
export interface CodeFiles {
  /** The file that it is told to run, as it really is. */
  readonly entry: string | undefined
  /** That one, and all before it, as they really are. */
  readonly files: readonly string[]
  /** The same by the paths that are named, which may lead through links. */
  readonly named: readonly string[]
  /** Whether the program is the interpreter; otherwise it may start one, as `nice` and `npx` do. */
  readonly isInterpreter: boolean
}

/**
 * SPEC 4.10: which words of a command line are code. What an option's value is and what the file to run cannot be told apart
 * for every interpreter: `node --env-file .env server.js`, `python3 -W ignore server.py`, `deno run server.ts`, and a file
 * called `ignore` or `run` is soon made. So every file counts, up to one that can only be the file to run (decision 0335).
 */
export function codeFiles(argv: readonly string[], cwd: string): CodeFiles {
  const at = argv.findIndex((word) => INTERPRETER.test(basename(word)))
  if (at < 0) return { entry: undefined, files: [], named: [], isInterpreter: false }
  const flags = FLAGS.find(({ of }) => of.test(basename(argv[at]!)))?.flags
  const words = argv.slice(at + 1)
  const files: string[] = []
  const named: string[] = []
  let entry: string | undefined
  const python = PYTHON.test(basename(argv[at]!))
  for (const [i, word] of words.entries()) {
    if (python && entry === undefined && MODULE.test(word)) {
      // What comes after the module is its own.
      for (const name of isSafe(words.slice(0, i + 1)) ? [] : moduleFiles(moduleOf(words, i), cwd)) {
        const file = realFile(name)
        if (file === undefined) continue
        files.push(file)
        named.push(name)
        entry = file
      }
      break
    }
    const { path, option } = readWord(word)
    const name = resolve(cwd, path)
    const file = realFile(name)
    if (file === undefined) continue
    files.push(file)
    named.push(name)
    const before = words[i - 1] ?? ''
    if (option !== undefined || LOADS.test(before)) continue
    const mayBeValue = before.startsWith('-') && !before.includes('=') && !(flags?.test(before) ?? false)
    const isEntry = isCode(path) && !mayBeValue
    if (isEntry || entry === undefined || (isCode(path) && !isCode(entry))) entry = file
    if (isEntry) break
  }
  return { entry, files: [...new Set(files)], named, isInterpreter: at === 0 }
}

/** SPEC 5: another server that may write the workspace would have this one's access. */
export function importsHere(line: readonly string[]): string[] {
  const begins = looksHere(line)
  if (!begins) return []
  const safe = [...begins, '-P', ...line.slice(begins.length)].map(shellWord).join(' ')
  return [
    `${begins.map(shellWord).join(' ')} -m looks for what is imported in the workspace first: whoever may write there can have the server run other code, with its access\n` +
      `  fix: where it is not to be found there: ${safe} (Python 3.11 or newer), or the program that the server has`,
  ]
}

/**
 * With `-m` Python looks into the current directory first, for the module and for all that it imports: by which words such a
 * command line begins, up to the module. Undefined: it does not, or is told not to (`-P`, `-I`).
 */
function looksHere(argv: readonly string[]): readonly string[] | undefined {
  const at = argv.findIndex((word) => PYTHON.test(basename(word)))
  const words = argv.slice(at + 1)
  const m = at < 0 ? -1 : words.findIndex((word, i) => MODULE.test(word) && words.slice(0, i).every(isOption))
  return m < 0 || isSafe(words.slice(0, m + 1)) ? undefined : [...argv.slice(0, at + 1), ...words.slice(0, m)]
}

const PYTHON = /^(?:python|pypy)[\d.]*$/
const MODULE = /^-[A-Za-z]*m/
const isOption = (word: string): boolean => word.startsWith('-')

/** Told to look for modules only where they are installed. */
const isSafe = (options: readonly string[]): boolean =>
  options.some((word) => /^-[A-Za-ln-z]*[PI]/.test(word))

const moduleOf = (words: readonly string[], i: number): string =>
  words[i]!.replace(MODULE, '') || (words[i + 1] ?? '')

/** Every file of the directory that would be imported for `a.b`: `a` as a package, and `b` in it as what is run. */
function moduleFiles(module: string, cwd: string): readonly string[] {
  const parts = module.split('.')
  return parts.flatMap((part, i) => {
    const dir = resolve(cwd, ...parts.slice(0, i))
    const inside = ['__init__.py', '__main__.py'].map((name) => resolve(dir, part, name))
    const alone = namesIn(dir).filter((name) => name.startsWith(`${part}.`) && /\.(?:pyc?|so)$/.test(name))
    return [
      ...(i === parts.length - 1 ? inside : inside.slice(0, 1)),
      ...alone.map((name) => resolve(dir, name)),
    ]
  })
}

function namesIn(dir: string): readonly string[] {
  try {
    return readdirSync(dir)
  } catch (error) {
    refuseClosed(dir, error)
    return []
  }
}

/** A file that an interpreter is told to run by a name that only code has, and that is not there. */
export function missingEntry(argv: readonly [string, ...string[]], cwd: string): string | undefined {
  const { isInterpreter, entry } = codeFiles(argv, cwd)
  if (!isInterpreter || entry !== undefined) return undefined
  return argv.slice(1).find((word) => !word.startsWith('-') && isCode(word))
}

/**
 * Pure. What of a command line is another program in every directory: the command, or the first file that an interpreter would
 * look for where it is started, up to one that has a whole path.
 */
export function relativeCode(argv: readonly string[]): string | undefined {
  const [command = ''] = argv
  if (command.includes('/') && !isAbsolute(command)) return command
  const at = argv.findIndex((word) => INTERPRETER.test(basename(word)))
  const words = at < 0 ? [] : argv.slice(at + 1)
  for (const [i, word] of words.entries()) {
    const { path, option } = readWord(word)
    const isPlain = option === undefined && !(words[i - 1] ?? '').startsWith('-')
    if (isAbsolute(path) && option === undefined && (isPlain || isCode(path))) return undefined
    if (path.startsWith('-') || isAbsolute(path) || /^[a-z]+:/.test(path)) continue
    const isNested = isPlain && path.includes('/') && !path.startsWith('@')
    if (isCode(path) || /^\.{1,2}(?:\/|$)/.test(path) || isNested) return path
  }
  return undefined
}

const INTERPRETER =
  /^(?:node|nodejs|bun|deno|python[\d.]*|pypy[\d.]*|ruby|perl|php|java|sh|bash|dash|zsh|tsx)$/

/** Options of interpreters whose value is code that runs first. */
const LOADS = /^(?:-r|--require|--import|--loader|--experimental-loader|--preload|-javaagent)$/

/** Options that have no value, or only one behind `=`: a file after one of them is the file to run. */
const FLAGS = [
  { of: /^(?:python|pypy)/, flags: /^-[uBEIOsSqv]+$/ },
  {
    of: /^(?:node|nodejs|tsx)$/,
    flags: /^--(?:inspect|inspect-brk|enable-source-maps|no-warnings|trace-warnings|no-deprecation)$/,
  },
  { of: /^(?:perl|ruby)$/, flags: /^-w$/ },
  { of: /^java$/, flags: /^-jar$/ },
  { of: /^deno$/, flags: /^(?:-A|-q|--quiet|--no-prompt|--allow-(?:all|read|write|net|env|run|sys|ffi))$/ },
]

/** A file that is run, by its name. */
export const isCode = (path: string): boolean => /\.(?:[cm]?[jt]sx?|py|rb|php|pl|sh|jar)$/.test(path)

/** `--option=value`, `-javaagent:value`, `-r./file`, or the word itself. */
function readWord(word: string): { readonly path: string; readonly option: string | undefined } {
  const [, option, value = word] = /^(--?[\w-]+)[=:](.*)$/s.exec(word) ?? /^(-r)([./].*)$/s.exec(word) ?? []
  return { path: value.replace(/^file:\/\//, ''), option }
}

/** Any word may be meant: one that is too long for a name, or is kept from us by another user, is no file. */
export function realFile(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? realpathSync.native(path) : undefined
  } catch (error) {
    refuseClosed(path, error)
    return undefined
  }
}
