import { readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { lookAt, show } from '@cordon/policy'
import type { Replaced } from '@cordon/sandbox'
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
  try {
    const stats = lookAt(path)
    const now = contentOf(path)
    const mode = stats?.isFile() ? stats.mode & 0o777 : 0o600
    if (same(now, was) && (stats === undefined || stats.isFile())) {
      replaceDurably(path, content, { mode, keptMode: mode, temp: tempFor(path) })
      return startsOthers(was, content)
        ? `${shown} names other programs to start than before (mcpServers, hooks): look at it before you start its program without Cordon`
        : undefined
    }
    if (same(now, content)) return undefined
    const aside = freeName(path)
    replaceDurably(aside, content, { mode, keptMode: mode, temp: tempFor(path) })
    return `${shown} was changed outside as well, and stays; what the command made of it is ${show(aside)}`
  } catch (error) {
    return `${shown} could not be written back to ${show(dirname(path))}: ${error instanceof Error ? error.message : String(error)}`
  }
}

const same = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === undefined || b === undefined ? a === b : a.equals(b)

function freeName(path: string): string {
  for (let n = 1; ; n++) if (!lookAt(`${path}.from-cordon-${n}`)) return `${path}.from-cordon-${n}`
}

/** A name that no other program uses: the person's programs write in this directory, too. */
const tempFor = (path: string): string => join(dirname(path), `.${basename(path)}.cordon-${process.pid}`)
