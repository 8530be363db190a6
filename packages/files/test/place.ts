import { accessSync, constants, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CanonicalPath, parseRelPath, type RelPath } from '@cordon/policy'
import { onTestFinished } from 'vitest'
import { Anchor, FileError } from '../src/index.ts'
import { ExactDirectory } from '../src/exact.ts'
import { VerifiedDirectory } from '../src/verified.ts'

/** Both implementations pass the same suite. */
export const IMPLEMENTATIONS = [
  { name: 'exact', open: (path: string) => new Anchor(ExactDirectory.openAmbient(path)) },
  { name: 'verified', open: (path: string) => new Anchor(VerifiedDirectory.openAmbient(path)) },
] as const

/** In memory where there is such a place: for what is about names, not disks. */
export function fastPlace(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}

/** A directory to work in, and one beside it that nothing may touch. Both go when the test ends. */
export function makePlace(where: string = tmpdir()): { inside: CanonicalPath; outside: CanonicalPath } {
  const base = realpathSync(mkdtempSync(join(where, 'cordon-files-')))
  onTestFinished(() => rmSync(base, { recursive: true, force: true }))
  for (const name of ['inside', 'outside']) mkdirSync(join(base, name))
  return { inside: join(base, 'inside') as CanonicalPath, outside: join(base, 'outside') as CanonicalPath }
}

/** The same with an anchor on it, closed when the test ends. */
export function anchored(open: (path: string) => Anchor): {
  readonly anchor: Anchor
  readonly inside: CanonicalPath
  readonly outside: CanonicalPath
} {
  const { inside, outside } = makePlace()
  const anchor = open(inside)
  onTestFinished(() => anchor.close())
  return { anchor, inside, outside }
}

export const rel = (path: string): RelPath => parseRelPath(path)

/** What a call was refused with: the whole of it. */
export function refusal(act: () => unknown): { code: string; message: string } {
  try {
    act()
  } catch (error) {
    if (error instanceof FileError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('it was not refused')
}

/** Of pieces that count until the next is asked for. */
export async function allOf(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const copies: Buffer[] = []
  for await (const piece of pieces) copies.push(Buffer.from(piece))
  return Buffer.concat(copies)
}

export const openHandles = (): number => readdirSync('/proc/self/fd').length
