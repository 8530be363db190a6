import { randomBytes } from 'node:crypto'
import { linkSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { replaceDurably } from '@cordon/files'

/**
 * Whole copies of clients' files, as they were before we changed them. They hold secrets: one that no record names any more is
 * removed with the next change of the records, whoever left it there. `dir` is where the records are.
 */
const BACKUP = /^[0-9a-f]{12}\.backup(?:\.tmp)?$/
/** What a person was told to be the only copy of something, and no record names. */
const KEPT = /^[0-9a-f]{12}\.kept$/
/** Of one file: the first, which knows nothing of Cordon, and the latest. */
const MOST_OF_ONE = 5
const MOST_KEPT = 20

/** Returns its name. It is written before the record that names it. */
export function writeBackup(dir: string, text: string): string {
  const name = `${randomBytes(6).toString('hex')}.backup`
  replaceDurably(join(dir, name), text, { mode: 0o600 })
  return name
}

export const readBackup = (dir: string, name: string): string => readFileSync(join(dir, name), 'utf8')

export function withBackup([first, ...later]: readonly string[], name: string): readonly string[] {
  return first === undefined ? [name] : [first, ...[...later, name].slice(1 - MOST_OF_ONE)]
}

/** For the person, under another name, which is there before the record is gone that names it. Returns the paths. */
export const keepBackups = (dir: string, names: readonly string[]): string[] =>
  names.map((name) => {
    const kept = join(dir, name.replace(/\.backup$/, '.kept'))
    rmSync(kept, { force: true }) // of one that was killed
    linkSync(join(dir, name), kept)
    return kept
  })

export function sweepBackups(dir: string, named: ReadonlySet<string>): void {
  const all = readdirSync(dir)
  const kept = all
    .filter((name) => KEPT.test(name))
    .map((name) => ({ name, time: statSync(join(dir, name)).ctimeMs }))
    .toSorted((a, b) => b.time - a.time)
    .map(({ name }) => name)
  const left = all.filter((name) => BACKUP.test(name) && !named.has(name))
  for (const name of [...left, ...kept.slice(MOST_KEPT)]) rmSync(join(dir, name), { force: true })
}
