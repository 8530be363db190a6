import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from './report.ts'
import type { World } from './world.ts'

/**
 * The text as the person leaves it in their editor; undefined when the editor failed. As git does it: `$VISUAL`, else
 * `$EDITOR`, is a command line of the person's own.
 */
export async function editText(world: World, name: string, text: string): Promise<string | undefined> {
  const editor = world.env['VISUAL'] || world.env['EDITOR']
  if (!editor) throw new UsageError('there is no editor\n  fix: export EDITOR=nano, or the one you like')
  const dir = mkdtempSync(join(tmpdir(), 'cordon-edit-'))
  const file = join(dir, name)
  try {
    writeFileSync(file, text, { mode: 0o600 })
    const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], {
      stdio: 'inherit',
      env: world.env,
    })
    const [code] = (await once(child, 'exit')) as [number | null]
    return code === 0 ? readFileSync(file, 'utf8') : undefined
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
