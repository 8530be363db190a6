import { closeSync, renameSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { replaceDurably } from '@cordon/files'
import { below, isFields, lookAt, show } from '@cordon/policy'
import { heldPath, holdAmbientDirectory, nameOf, type OutsideRule } from '@cordon/sandbox'
import { entryOf, reason } from '@cordon/workspace'
import { readBytes, realDirectory } from '../guard/read.ts'
import { freeName } from './write-back.ts'

/**
 * Decision 0593: files of a login, in a place that a program writes, in which one kind of entry is no login. opencode fetches its
 * settings from the address of an entry with the type `wellknown`, and starts the servers that they name.
 */
const LOGINS: readonly string[] = ['.local/share/opencode/auth.json']
const LONGEST = 1024 * 1024

export interface Login {
  readonly path: string
  readonly was: Buffer | undefined
  readonly isLink: boolean
}

/** Of those that these rules let a program write, what they hold before it starts. */
export const loginsIn = (rules: readonly OutsideRule[], home: string): readonly Login[] =>
  LOGINS.flatMap((name) => {
    const dir = realDirectory(dirname(entryOf(home, name)))
    if (dir === undefined) return []
    const path = entryOf(dir, basename(name))
    if (!rules.some((rule) => rule.grants.has('update') && below(nameOf(rule), path) !== undefined)) return []
    const read = readBytes(path, LONGEST)
    const stats = lookAt(path)
    const was = stats && 'bytes' in read ? read.bytes : undefined
    return [{ path, was, isLink: stats?.isSymbolicLink() === true }]
  })

/** A login that became something else is put aside, and the old one back. Returns what a person should know. */
export const settleLogins = (logins: readonly Login[]): readonly string[] =>
  logins.flatMap((login) => {
    try {
      return isStillLogin(login) ? [] : [putBack(login)]
    } catch (error) {
      return [
        `${show(login.path)} may name an address now that its program takes settings from, and could not be put back (${reason(error)}): look at it before you start its program without Cordon`,
      ]
    }
  })

function isStillLogin({ path, was, isLink }: Login): boolean {
  const stats = lookAt(path)
  if (!stats) return true
  if (stats.isSymbolicLink() !== isLink) return false
  const read = readBytes(path, LONGEST)
  if ('unknown' in read) return false
  const before = addressesIn(was)
  return Object.entries(addressesIn(read.bytes)).every(([key, entry]) =>
    isDeepStrictEqual(entry, before[key]),
  )
}

/** What is no JSON here may be some to a more lenient reader: then all of it has to be as it was. */
function addressesIn(content: Buffer | undefined): Readonly<Record<string, unknown>> {
  if (!content) return {}
  try {
    const parsed: unknown = JSON.parse(content.toString('utf8'))
    if (!isFields(parsed)) return {}
    return Object.fromEntries(
      Object.entries(parsed).filter(([, entry]) => isFields(entry) && entry['type'] === 'wellknown'),
    )
  } catch {
    return { '': content.toString('utf8') }
  }
}

function putBack({ path, was, isLink }: Login): string {
  const dir = holdAmbientDirectory(dirname(path))
  try {
    const held = heldPath(dir)
    const name = basename(path)
    const aside = freeName(held, name)
    renameSync(join(held, name), join(held, aside))
    if (was && !isLink)
      replaceDurably(join(held, name), was, {
        mode: 0o600,
        keptMode: 0o600,
        temp: join(held, `.${name}.cordon-${process.pid}`),
      })
    return `${show(path)} named an address that its program takes settings from (wellknown), and programs with them: it is as it was before, and what the command made of it is ${show(join(dirname(path), aside))}`
  } finally {
    closeSync(dir)
  }
}
