import { closeSync, type Dirent, lstatSync, readdirSync, readlinkSync, unlinkSync } from 'node:fs'
import { moveAside } from './aside.ts'
import type { DeniedPath } from './denied-paths.ts'
import { heldPath, holdAmbientDirectory, holdEntry, reaching } from './held-directory.ts'

/** Of one directory tree. A command that fills it with more hides nothing: that is told. */
const MOST_ENTRIES = 200_000

/** The kernel's clock for files is a tick behind. */
const TICK_MS = 100

/**
 * Not entered: git's data, named by its content, of which only the entries are looked at; hooks, which are held; and submodules,
 * which are looked at on their own.
 */
const NOT_ENTERED: ReadonlySet<string> = new Set(['hooks', 'modules'])
const DATA = 'objects'

/**
 * Names files, by any path, whose content the next commit copies into the repository (rerere). A merge of the command's own leaves
 * one, where the person's configuration asks for it; without it git only does not remember how that conflict was resolved.
 */
const NAMES_FILES = /^(?:worktrees\/[^/]+\/)?MERGE_RR$/

/** Git only reads these, and people keep them elsewhere. */
const ONLY_READ: ReadonlySet<string> = new Set(['info/exclude', 'info/attributes'])

/**
 * Decision 0545: git follows links in its own directory, deletes what is behind them and writes through them; it makes none
 * itself. So one that was made since goes, and where it led is told. What no command can set is the time of change: of the
 * link, or of a directory that it came with. Nothing is followed on the way.
 */
export function clearGitState(gitDir: string, since: number): readonly DeniedPath[] {
  const found: DeniedPath[] = []
  let left = MOST_ENTRIES
  const look = (held: number, dir: string, isChanged: boolean): void => {
    for (const entry of reaching(held, () => entriesOf(held))) {
      if (left-- <= 0) return
      const name = `${dir}${entry.name.toString()}`
      const isWanted = entry.isDirectory()
        ? dir !== `${DATA}/` && !NOT_ENTERED.has(name)
        : entry.isSymbolicLink() || NAMES_FILES.test(name)
      if (!isWanted || ONLY_READ.has(name)) continue
      const path = `${gitDir}/${name}`
      try {
        const isNew = isChanged || reaching(held, () => changedAt(held, entry.name)) >= since - TICK_MS
        if (entry.isDirectory())
          using(
            reaching(held, () => holdEntry(held, entry.name)),
            (inner) => look(inner, `${name}/`, isNew),
          )
        else if (isNew && !entry.isSymbolicLink())
          found.push(...reaching(held, () => movedAside(held, entry.name.toString(), path)))
        else if (isNew)
          found.push({ path, movedTo: undefined, linkTo: reaching(held, () => removeLink(held, entry.name)) })
      } catch (error) {
        if (!isGone(error)) found.push({ path, movedTo: undefined, why: codeOf(error) })
      }
    }
  }
  try {
    using(holdAmbientDirectory(gitDir), (held) => look(held, '', false))
  } catch (error) {
    if (!isGone(error)) found.push({ path: gitDir, movedTo: undefined, why: codeOf(error) })
  }
  if (left < 0)
    found.push({ path: gitDir, movedTo: undefined, why: 'it has too many entries to look through' })
  return found
}

/** An empty one names nothing. */
function movedAside(held: number, name: string, path: string): readonly DeniedPath[] {
  const stats = lstatSync(`${heldPath(held)}/${name}`)
  const moved = stats.size === 0 ? undefined : moveAside(heldPath(held), name, path, stats)
  return moved ? [moved] : []
}

/** Names as bytes: one that is not valid UTF-8 would lead nowhere. */
const entriesOf = (held: number): readonly Dirent<Buffer>[] =>
  readdirSync(heldPath(held), { withFileTypes: true, encoding: 'buffer' })

const entryPath = (held: number, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${heldPath(held)}/`), name])

const changedAt = (held: number, name: Buffer): number => lstatSync(entryPath(held, name)).ctimeMs

function removeLink(held: number, name: Buffer): string {
  const target = readlinkSync(entryPath(held, name))
  unlinkSync(entryPath(held, name))
  return target
}

function using(held: number, act: (held: number) => void): void {
  try {
    act(held)
  } finally {
    closeSync(held)
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error)
const isGone = (error: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error))
