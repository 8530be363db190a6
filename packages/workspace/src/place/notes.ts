import { appendFileSync, existsSync, lstatSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { type CanonicalPath } from '@cordon/policy'
import { makePrivateDirectory } from '../directories.ts'
import { idOfPath } from './identity.ts'
import { placesOf } from './local-place.ts'
import { type Surroundings } from './surroundings.ts'

/** Whose notes. */
type User = Omit<Surroundings, 'uid'>

/**
 * Whether this was said about a directory before; from now on it was. In the user's place, by its path. Where nothing can
 * be kept it is said every time.
 */
export function isNews(what: string, root: CanonicalPath, around: User): boolean {
  if (wasNoted(what, root, around)) return false
  append(noteOf(what, root, around), [root]) // where it cannot be kept, it is news again the next time
  return true
}

/** Whether it was, without a change. The note's name is short, and others may have the same: what stands in it decides. */
export const wasNoted = (what: string, root: CanonicalPath, around: User): boolean =>
  `\n${textOf(noteOf(what, root, around))}`.includes(`\n${lineOf(root)}`)

/** Directories that were noted of a place. */
export const notedDirectories = (what: string, place: CanonicalPath, around: User): readonly string[] =>
  textOf(noteOf(what, place, around))
    .split('\n')
    .flatMap(textIn)

/**
 * Adds to them, as far as there is room. Where there is none, those that are gone are forgotten first. Who writes at the same
 * moment may lose what the other one added: it is seen again at the next start.
 */
export function noteDirectories(
  what: string,
  place: CanonicalPath,
  dirs: readonly string[],
  around: User,
): 'kept' | 'not-all' {
  const before = new Set(dirs.length === 0 ? [] : notedDirectories(what, place, around))
  const more = [...new Set(dirs)].filter((dir) => !before.has(dir))
  if (more.length === 0) return 'kept'
  const note = noteOf(what, place, around)
  if (before.size + more.length <= MOST_DIRECTORIES) return append(note, more) ? 'kept' : 'not-all'
  const still = [...before].filter(isThere)
  const all = [...still, ...more].slice(0, MOST_DIRECTORIES)
  const isDone = still.length < before.size ? replace(note, all) : append(note, all.slice(still.length))
  return isDone && still.length + more.length <= MOST_DIRECTORIES ? 'kept' : 'not-all'
}

const MOST_DIRECTORIES = 5000

/** What cannot be looked at is not gone: a command may have closed a directory around it. */
function isThere(dir: string): boolean {
  try {
    return lstatSync(dir, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

/** Mostly there is none, and an error costs more than the question. */
function textOf(note: string): string {
  try {
    return existsSync(note) ? readFileSync(note, 'utf8') : ''
  } catch {
    return ''
  }
}

/** A line that a full disk cut off is none, and the next one is not to be glued to it. */
function append(note: string, texts: readonly string[]): boolean {
  try {
    makePrivateDirectory(dirname(note))
    const isCut = !`\n${textOf(note)}`.endsWith('\n')
    appendFileSync(note, `${isCut ? '\n' : ''}${texts.map(lineOf).join('')}`, { mode: 0o600 })
    return true
  } catch {
    return false
  }
}

function replace(note: string, texts: readonly string[]): boolean {
  try {
    replaceDurably(note, texts.map(lineOf).join(''), { mode: 0o600 })
    return true
  } catch {
    return false
  }
}

/** A path may have a newline in it. */
const lineOf = (text: string): string => `${JSON.stringify(text)}\n`

function textIn(line: string): readonly string[] {
  try {
    const text: unknown = JSON.parse(line)
    return typeof text === 'string' ? [text] : []
  } catch {
    return [] // as where two lines were glued together
  }
}

const noteOf = (what: string, root: CanonicalPath, around: User): string =>
  join(placesOf(around), '.said', `${what}-${idOfPath(root)}`)
