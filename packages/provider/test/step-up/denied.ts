import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Command } from '../../src/commands.ts'
import { delegateOn } from '../../src/tokens/delegation.ts'
import { SigningKey } from '../../src/tokens/key.ts'
import { content, send, type Sent } from '../place.ts'
import { STEP_UP, type StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: a no holds, for everything that would come to the same. */
export function testDenied(at: StepUpPlace): void {
  const { file, remove, asked } = at

  test('no is remembered', async () => {
    const path = file()
    const id = await asked(path)
    await at.admin.decide(id, 'deny')
    const { status, code, message } = await remove(path)
    expect({ status, code, message }).toEqual({
      status: 403,
      code: 'step_up_denied',
      message: 'a person said no to this; it holds for an hour',
    })
    await expect(at.admin.decide(id, 'approve')).rejects.toThrow(`the approval ${id} is denied already`)
  })

  test('no is for what it would come to, however it is spelled and by whichever key of the app', async () => {
    const careful = await at.place.agent(`careful${at.next()}`, STEP_UP)
    const second = SigningKey.generate()
    const [root] = careful.delegations
    const link = delegateOn(careful.key, [root!], {
      audience: second.did,
      prefix: root!.prefix,
      command: '/filesystem',
      expires: Math.floor(at.place.clock() / 1000) + 60,
    })
    const [path, text] = [file('x'), file('x')]
    const dir = join(at.place.files, `d${at.next()}`)
    mkdirSync(dir)
    const to = join(at.place.files, `free${at.next()}`)
    const denied: readonly [Command, object, readonly object[]][] = [
      ['/filesystem/file/move', { path, destination: to }, [{ overwrite: false }, { overwrite: true }]],
      ['/filesystem/file/delete', { path }, [{ if_match: content('x').sha256 }]],
      ['/filesystem/dir/delete_recursive', { path: dir }, [{ dry_run: false }]],
      [
        '/filesystem/file/edit',
        { path: text, edits: [{ old: 'x', new: 'y' }] },
        [
          { edits: [{ old: 'x', new: 'y', all: true }] },
          {
            edits: [
              { old: 'x', new: 'z' },
              { old: 'z', new: 'y' },
            ],
          },
        ],
      ],
    ]
    for (const [command, args, others] of denied) {
      const ask = (more: object = {}): Promise<Sent> => send(careful, command, { ...args, ...more })
      await at.admin.decide(String((await ask()).error['approval']), 'deny')
      for (const more of [{}, ...others])
        expect([command, more, (await ask(more)).code]).toEqual([command, more, 'step_up_denied'])
      const byAnother = await send(careful, command, { ...args }, { key: second, chain: [root!, link] })
      expect(byAnother.code).toBe('step_up_denied')
    }
    // Another wish is another question.
    const another = { path: text, edits: [{ old: 'x', new: 'another' }] }
    expect((await send(careful, '/filesystem/file/edit', another)).code).toBe('step_up_required')
  })
}
