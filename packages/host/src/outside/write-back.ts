import { closeSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { lookAt, show } from '@cordon/policy'
import { heldPath, holdAmbientDirectory, type Replaced } from '@cordon/sandbox'
import { reason } from '@cordon/workspace'
import type { ReplacedFile } from './profile.ts'
import { startsOthers } from './started-programs.ts'

/** What the files of a profile held when the command was started, by their path. */
export const contentsOf = (files: readonly ReplacedFile[]): ReadonlyMap<string, Buffer | undefined> =>
  new Map(files.map(({ path }) => [path, contentOf(path)]))

const contentOf = (path: string): Buffer | undefined =>
  lookAt(path)?.isFile() ? readFileSync(path) : undefined

/**
 * SPEC 4.8: a file that changed inside is written back whole, at once, and durably. One that also changed outside
 * meanwhile stays, with the other beside it. Until then the file is what it was, also if we are killed. Returns what a
 * person should know.
 */
export function writeBack(
  results: readonly Replaced[],
  before: ReadonlyMap<string, Buffer | undefined>,
): readonly string[] {
  return results.flatMap((result) => writeOne(result, before.get(result.path)) ?? [])
}

function writeOne({ path, content, errno }: Replaced, was: Buffer | undefined): string | undefined {
  const shown = show(path)
  if (errno === 'ENOENT') return was && `${shown} was removed inside; outside it is as it was`
  if (content === undefined)
    return `${shown} was not written back (${errno ?? 'unknown'}): inside it is no file any more`
  if (same(content, was)) return undefined
  let dir: number | undefined
  try {
    dir = holdAmbientDirectory(dirname(path))
    const now = contentOf(join(heldPath(dir), basename(path)))
    return writeIn(heldPath(dir), { path, content, was, now })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      dir === undefined && LED_AWAY.has(code)
        ? 'a directory on the way to it is a link now, or is gone'
        : reason(error)
    return `${shown} could not be written back to ${show(dirname(path))}: ${why}`
  } finally {
    if (dir !== undefined) closeSync(dir)
  }
}

const LED_AWAY = new Set<string | undefined>(['ENOENT', 'ENOTDIR', 'ELOOP'])

interface Back {
  readonly path: string
  readonly content: Buffer
  readonly was: Buffer | undefined
  readonly now: Buffer | undefined
}

/** In the directory that is held: where its path leads by now is no matter (decision 0495). */
function writeIn(held: string, { path, content, was, now }: Back): string | undefined {
  const name = basename(path)
  const stats = lookAt(join(held, name))
  const mode = stats?.isFile() ? stats.mode & 0o777 : 0o600
  const temp = join(held, `.${name}.cordon-${process.pid}`) // a name that no other program uses: the person's write here, too
  const replace = (as: string): void =>
    replaceDurably(join(held, as), content, { mode, keptMode: mode, temp })
  if (same(now, was) && (stats === undefined || stats.isFile())) {
    replace(name)
    return startsOthers(was, content)
      ? `${show(path)} names other programs to start than before (mcpServers, hooks): look at it before you start its program without Cordon`
      : undefined
  }
  if (same(now, content)) return undefined
  const aside = freeName(held, name)
  replace(aside)
  return `${show(path)} was changed outside as well, and stays; what the command made of it is ${show(join(dirname(path), aside))}`
}

const same = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.equals(b)

/** For what stands beside a file of that name. */
export function freeName(dir: string, name: string): string {
  for (let n = 1; ; n++) if (!lookAt(join(dir, `${name}.from-cordon-${n}`))) return `${name}.from-cordon-${n}`
}
