import { lstatSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAbandoned, isTempName, newTempName } from '@cordon/host'
import type { World } from '../world.ts'

const PREFIX = 'cordon-demo-'

/** A name in it says whose it is (decision 0012): a demo that was killed cannot remove its directory, and the next one can. */
export function makePlace(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), PREFIX)))
  writeFileSync(join(dir, newTempName()), '')
  return dir
}

/** Removes what demos of this person left that do not run any more. */
export function sweepPlaces({ uid }: Pick<World, 'uid'>): void {
  const above = tmpdir()
  for (const name of readdirSync(above).filter((each) => each.startsWith(PREFIX))) {
    try {
      if (isLeft(join(above, name), uid)) rmSync(join(above, name), { recursive: true, force: true })
    } catch {
      // gone already, or not to be removed: nothing that the demo is about
    }
  }
}

function isLeft(dir: string, uid: number | undefined): boolean {
  const stats = lstatSync(dir)
  if (!stats.isDirectory() || stats.uid !== uid || (stats.mode & 0o077) !== 0) return false
  const mark = readdirSync(dir).find(isTempName)
  return mark !== undefined && isAbandoned(mark, lstatSync(join(dir, mark), { bigint: true }), Date.now())
}
