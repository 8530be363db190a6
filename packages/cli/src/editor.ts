import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { show } from '@cordon/policy'
import type { World } from './world.ts'

/** What a person left in their editor, or why there is nothing. */
export type EditedText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unchanged' }
  /** In words for them. */
  | { readonly kind: 'failed'; readonly why: string }

/** As git does it: `$VISUAL`, else `$EDITOR`, is a command line of the person's own; without one it is vi. */
export async function editText(world: World, name: string, text: string): Promise<EditedText> {
  const editor = world.env['VISUAL'] || world.env['EDITOR'] || 'vi'
  const dir = mkdtempSync(join(tmpdir(), 'cordon-edit-'))
  const file = join(dir, name)
  try {
    writeFileSync(file, text, { mode: 0o600 })
    const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], {
      stdio: 'inherit',
      env: world.env,
    })
    const [code] = (await once(child, 'exit')) as [number | null]
    if (code === 127)
      return {
        kind: 'failed',
        why: `there is no editor ${show(editor)}\n  fix: export EDITOR=nano, or the one you like`,
      }
    if (code !== 0)
      return { kind: 'failed', why: `the editor ${show(editor)} failed (exit ${code ?? 'by a signal'})` }
    const left = readFileSync(file, 'utf8')
    return left === text ? { kind: 'unchanged' } : { kind: 'text', text: left }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
