import { chmodSync, closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'

/** Linux; Node has no name for it. A directory is held also when its mode lets nobody read it. */
const O_PATH = 0o10000000
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** What lies in it is `${heldPath(dir)}/${name}`, whatever its path has become. */
export const heldPath = (dir: number): string => `/proc/self/fd/${dir}`

/**
 * A directory by its canonical path. The path was one before a command ran: a link on it was put there since, and leads to somebody
 * else's files (decision 0495); the kernel then says another path of what was opened. Throws ENOTDIR or ELOOP for one. The caller
 * closes what it gets.
 */
export function holdAmbientDirectory(path: string): number {
  const dir = openSync(path, DIRECTORY)
  try {
    if (readlinkSync(heldPath(dir)) === path) return dir
  } catch (error) {
    closeSync(dir)
    throw error
  }
  closeSync(dir)
  throw Object.assign(new Error(`ENOTDIR: a part of the path is a link, '${path}'`), { code: 'ENOTDIR' })
}

/** A directory in one that is held; a link is none. */
export const holdBelow = (dir: number, name: string): number =>
  openSync(`${heldPath(dir)}/${name}`, DIRECTORY)

/** A directory below one, also where a command took the owner's rights from those in between. */
export function holdReaching(base: string, path: string): number {
  let dir = holdAmbientDirectory(base)
  for (const name of path.slice(base.length).split('/').filter(Boolean)) {
    const above = dir
    try {
      dir = reaching(above, () => holdBelow(above, name))
    } finally {
      closeSync(above)
    }
  }
  return dir
}

/** The same, of a name as the directory has it. */
export const holdEntry = (dir: number, name: Buffer): number =>
  openSync(Buffer.concat([Buffer.from(`${heldPath(dir)}/`), name]), DIRECTORY)

/** Whoever made something in a directory of ours may have taken the owner's rights from it: they come back for a moment. */
export function reaching<T>(dir: number, act: () => T): T {
  try {
    return act()
  } catch (error) {
    const mode = fstatSync(dir).mode & 0o7777
    if (!REFUSED.has((error as NodeJS.ErrnoException).code) || (mode & 0o700) === 0o700) throw error
    const held = heldPath(dir)
    chmodSync(held, mode | 0o700)
    try {
      return act()
    } finally {
      chmodSync(held, mode)
    }
  }
}

const REFUSED = new Set<string | undefined>(['EACCES', 'EPERM'])

/**
 * Whether an error says that there is nothing by a path. Where we may not look, something could be; but not where another user
 * keeps us out, and with us the process that we started (decision 0510). A link of ours leads there, too, and is something.
 */
export function isNowhere(path: string, error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENAMETOOLONG') return path.split('/').some((name) => Buffer.byteLength(name) > LONGEST_NAME)
  return GONE.has(code) || (code === 'EACCES' && ownerOfNearest(path) !== process.geteuid?.())
}

/** NAME_MAX, of every filesystem here: nothing has a longer one. A long path may be reached from a directory on its way. */
const LONGEST_NAME = 255

const GONE = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'ELOOP'])

/** Of the path itself, or of the nearest above it that can be looked at. */
function ownerOfNearest(path: string): number {
  try {
    return lstatSync(path).uid
  } catch {
    return ownerOfNearest(dirname(path))
  }
}
