import { isUtf8 } from 'node:buffer'
import { fstatSync, readdirSync, readFileSync, readlinkSync, type Stats, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { isAbsolute } from 'node:path'
import { show } from '@cordon/policy'
import { UsageError } from './report.ts'

/** What a process may have been started without, or with bytes that Node cannot represent. Each is looked up when it is needed. */

export function ambientDirectory(): string {
  const cwd = currentDirectory()
  if (cwd.includes('\uFFFD') && !isHere(cwd))
    throw new UsageError(
      `the name of the current directory is not UTF-8, and would be read as another: ${show(cwd)}\n  fix: rename it, or work elsewhere`,
    )
  return cwd
}

function currentDirectory(): string {
  try {
    return process.cwd()
  } catch {
    throw new UsageError('the current directory does not exist any more\n  fix: change to one that does')
  }
}

/** Node writes U+FFFD in names, too, and there may be a directory of that very name. */
function isHere(path: string): boolean {
  const [there, here] = [statSync(path, { throwIfNoEntry: false }), statSync('.')]
  return there?.ino === here.ino && there.dev === here.dev
}

/** HOME, as every program takes it; what the user database says only where HOME is not set. */
export function ambientHome({ HOME = '' }: NodeJS.ProcessEnv): string {
  if (isAbsolute(HOME)) return HOME
  try {
    return userInfo().homedir
  } catch {
    throw new UsageError(
      'there is no home: HOME is not an absolute path, and nobody knows this user\n  fix: set HOME',
    )
  }
}

/** Node writes U+FFFD for every byte that is not UTF-8: what was typed would be taken for another word. */
export function requireExactWords(words: readonly string[]): void {
  if (!words.some((word) => word.includes('\uFFFD'))) return
  const typed = readFileSync('/proc/self/cmdline').toString('latin1').split('\0')
  const changed = typed.map((word) => Buffer.from(word, 'latin1')).find((bytes) => !isUtf8(bytes))
  if (changed)
    throw new UsageError(
      `an argument is not UTF-8, and would be taken for another: ${show(changed.toString())}`,
    )
}

/** Throws unless who started us opened this descriptor. Node's own ones do not count: they are neither files nor sockets, and of a pipe of its own Node holds both ends. */
export function requireOpen(fd: number): void {
  const stats = statOf(fd)
  const isGiven = stats?.isFile() || stats?.isSocket() || stats?.isCharacterDevice()
  if (isGiven || (stats?.isFIFO() && !isOwnPipe(fd))) return
  throw new UsageError(
    `descriptor ${fd} is not open\n  fix: open it where you start cordon: ${fd}> outcome.json`,
  )
}

function statOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd)
  } catch {
    return undefined
  }
}

function isOwnPipe(fd: number): boolean {
  const pipeOf = (name: string): string => readlinkSync(`/proc/self/fd/${name}`)
  const same = readdirSync('/proc/self/fd').filter((name) => {
    try {
      return name !== String(fd) && pipeOf(name) === pipeOf(String(fd))
    } catch {
      return false // the one that lists them
    }
  })
  return same.length > 0 && same.every((name) => Number(name) > 2)
}
