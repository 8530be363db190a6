import { lstatSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isAbandoned, isTempName, newTempName } from '@cordon/host'
import { sweepOwn } from '../temporary.ts'
import type { World } from '../world.ts'

const PREFIX = 'cordon-demo-'

/** A name in it says whose it is (decision 0012): a demo that was killed cannot remove its directory, and the next one can. */
export function makePlace(): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), PREFIX)))
  writeFileSync(join(dir, newTempName()), '')
  return dir
}

/** Removes what demos of this person left that do not run any more. */
export const sweepPlaces = ({ uid }: Pick<World, 'uid'>): void =>
  sweepOwn(PREFIX, uid, (dir) => {
    const mark = readdirSync(dir).find(isTempName)
    return mark !== undefined && isAbandoned(mark, lstatSync(join(dir, mark), { bigint: true }), Date.now())
  })
