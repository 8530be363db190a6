import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { show } from '@cordon/policy'
import type { World } from './world.ts'

/** What a person left in their editor, or why there is nothing. */
export type EditedText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unchanged' }
  /** In words for them; and the text, as the editor left it. */
  | { readonly kind: 'failed'; readonly why: string; readonly text: string }

/**
 * As git does it: `$VISUAL`, else `$EDITOR`, is a command line of the person's own; without one it is vi. It gets
 * the terminal also where standard input or output is something else.
 */
export async function editText(world: World, name: string, text: string): Promise<EditedText> {
  const editor = world.env['VISUAL'] || world.env['EDITOR'] || 'vi'
  const dir = mkdtempSync(join(tmpdir(), 'cordon-edit-'))
  const file = join(dir, name)
  try {
    writeFileSync(file, text, { mode: 0o600 })
    using terminal = openTerminal()
    const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], {
      stdio: [
        world.inputIsTerminal ? 'inherit' : terminal.fd,
        world.out.isTerminal ? 'inherit' : terminal.fd,
        'inherit',
      ],
      env: world.env,
    })
    const [code] = (await once(child, 'exit')) as [number | null]
    const left = readFileSync(file, 'utf8')
    if (code === 127) {
      const why = `there is no editor ${show(editor)}\n  fix: export EDITOR=nano, or the one you like`
      return { kind: 'failed', why, text: left }
    }
    if (code !== 0) {
      const why = `the editor ${show(editor)} failed (exit ${code ?? 'by a signal'})`
      return { kind: 'failed', why, text: left }
    }
    return left === text ? { kind: 'unchanged' } : { kind: 'text', text: left }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Without a terminal of our own an editor that needs none still has what we have. */
function openTerminal(): Disposable & { readonly fd: number | 'inherit' } {
  try {
    const fd = openSync('/dev/tty', 'r+')
    return { fd, [Symbol.dispose]: () => closeSync(fd) }
  } catch {
    return { fd: 'inherit', [Symbol.dispose]: () => undefined }
  }
}
