import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { resolve } from 'node:path'
import { CordonError, show } from '@cordon/policy'

/** There is no such command. */
export class ProgramNotFoundError extends CordonError {
  readonly code = 'PROGRAM_NOT_FOUND'
  constructor(program: string, why: string) {
    super(`cannot start ${show(program)}: ${why}`)
  }
}

/** There is one, and it cannot be executed. */
export class NotExecutableError extends CordonError {
  readonly code = 'NOT_EXECUTABLE'
  constructor(program: string, why: string) {
    super(`cannot start ${show(program)}: ${why}`)
  }
}

export interface ResolvedProgram {
  /** As it is started: a link keeps its name, since programs look at how they were called. */
  readonly exe: string
  /** The program and every interpreter it names by `#!`, each as found and as it really is. */
  readonly files: readonly { readonly found: string; readonly real: string }[]
}

/** An interpreter of an interpreter of a script: more is a mistake. */
const MOST_INTERPRETERS = 4

export function resolveProgram(
  argv0: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): ResolvedProgram {
  const path = env['PATH'] ?? ''
  const exe = findProgram(argv0, cwd, path)
  const files: { found: string; real: string }[] = []
  for (let next: string | undefined = exe; next !== undefined && files.length < MOST_INTERPRETERS;) {
    const real = realpathSync.native(next)
    files.push({ found: next, real })
    const interpreter = readInterpreter(real)
    next = interpreter === undefined ? undefined : findQuietly(interpreter, cwd, path)
  }
  return { exe, files }
}

/** Where the program is; throws the reason when there is none to start. */
export function findProgram(name: string, cwd: string, path: string): string {
  if (name === '') throw new ProgramNotFoundError(name, 'it has no name')
  if (name.includes('/')) {
    const absolute = resolve(cwd, name)
    if (isProgram(absolute)) return absolute
    const stats = statSync(absolute, { throwIfNoEntry: false })
    if (stats)
      throw new NotExecutableError(name, stats.isDirectory() ? 'it is a directory' : 'it is not executable')
    throw new ProgramNotFoundError(name, 'it does not exist')
  }
  const places = path
    .split(':')
    .filter((dir) => dir.startsWith('/'))
    .map((dir) => `${dir}/${name}`)
  const found = places.find(isProgram)
  if (found !== undefined) return found
  const closed = places.find((each) => existsSync(each))
  if (closed !== undefined) throw new NotExecutableError(name, `${show(closed)} is not executable`)
  throw new ProgramNotFoundError(name, 'it is in no directory of PATH')
}

function findQuietly(name: string, cwd: string, path: string): string | undefined {
  try {
    return findProgram(name, cwd, path)
  } catch {
    return undefined // exec reports it, with the script's own name
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** The program a `#!` line names; behind `env`, the one that env will find. */
function readInterpreter(file: string): string | undefined {
  const [program, ...words] = firstLine(file)
  if (program === undefined || !program.endsWith('/env')) return program
  return words.find((word) => !word.startsWith('-') && !word.includes('='))
}

/** What the kernel itself starts for a script; undefined where it is none, or may not be read. */
export const kernelInterpreter = (file: string): string | undefined => firstLine(file)[0] || undefined

function firstLine(file: string): readonly string[] {
  let fd
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK) // it may have become a pipe by now
  } catch {
    return [] // executable and not readable: then it is no script
  }
  try {
    if (!fstatSync(fd).isFile()) return []
    const bytes = Buffer.alloc(256)
    const text = bytes.toString('latin1', 0, readSync(fd, bytes, 0, bytes.length, 0))
    if (!text.startsWith('#!')) return []
    return text.slice(2).split('\n', 1)[0]!.trim().split(/\s+/)
  } finally {
    closeSync(fd)
  }
}
