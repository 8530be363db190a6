import { lstatSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sweepOwn } from './temporary.ts'
import type { World } from './world.ts'

const PREFIX = 'cordon-text-'
const NAME = 'query.md'

/** Long enough to come back to it (decision 0395). */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000

/** What a person wrote and could not be used, where they find it again: also after this command has ended. */
export function keepText(text: string): string {
  const file = join(mkdtempSync(join(tmpdir(), PREFIX)), NAME)
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

/** Removes those of this person that nobody came back to. */
export function sweepTexts({ uid }: Pick<World, 'uid'>): void {
  sweepOwn(PREFIX, uid, (dir) => {
    const names = readdirSync(dir)
    return names.join('/') === NAME && lstatSync(join(dir, NAME)).mtimeMs < Date.now() - KEPT_MS
  })
}
