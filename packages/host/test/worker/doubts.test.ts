import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { writeHostileWorker } from './hostile.ts'
import { statFields } from '@cordon/workspace'
import { family, launchers, textOf } from './seen.ts'
import { SessionPlace, untilGone } from './support.ts'

/** A worker in the place of the one that makes files; it may write everywhere but in `denied`, which is not there. */
const CONFIG = `
[conversation.tools.fs_create_file]
timeout_secs = 200
access.fs = [{ path = ".", read = true, write = true, execute = true }, { path = "denied" }]
`
const place = (): SessionPlace => new SessionPlace({ '.cordon/config.toml': CONFIG, 'a.txt': 'a' })
const call = (path: string): object => ({ path, content: 'x' })
const DONE = { type: 'success', content: [{ type: 'text', text: 'done' }] }
const failed = (message: string): object => ({ type: 'error', message, trace: [], transient: false })

/** What the caller gets, and that the worker is not there afterwards. */
const MISDEEDS: Readonly<Record<string, object>> = {
  twice: failed('the tool cannot be understood: 135 bytes behind a frame'),
  garbage: failed("the tool's answer has 1751477356 bytes, too many to be read (max_output_bytes = 1048576)"),
  endless: failed("the tool's answer has 4294967295 bytes, too many to be read (max_output_bytes = 1048576)"),
  'another call': failed('the tool cannot be understood: its answer is none to this call'),
  'no answer': failed('the tool cannot be understood: its answer has the wrong shape'),
  unforeseen: failed('internal error: x'),
  complains: DONE,
  'leaves a program': DONE,
  'leaves a file open': DONE,
  'needs much memory': DONE,
  'makes what is denied': DONE,
  exits: failed('the tool ended with 3 and said nothing'),
  dies: failed('the tool was ended by SIGSEGV and said nothing'),
}

/** None goes because it was idle for so long: what ends it is that it was looked at. */
const LOOKED_AT = { idleMilliseconds: 3_600_000 }

test('decision 0200: a worker that did one thing it should not is never asked again', async () => {
  await using where = place()
  const session = where.session(LOOKED_AT, writeHostileWorker(where.base))
  for (const [misdeed, reply] of Object.entries(MISDEEDS)) {
    expect((await session.call('fs_create_file', call('well'))).reply, misdeed).toEqual(DONE)
    const [before] = launchers()
    const outcome = await session.call('fs_create_file', call(misdeed))
    expect({ misdeed, reply: outcome.reply }).toEqual({ misdeed, reply })
    await untilGone(before)
  }
})

test('decision 0253: a worker that reads answers first, is then looked at and stopped, and only then asked again', async () => {
  const config = `[conversation.tools.fs_read_file]\naccess.fs = [{ path = ".", read = true, execute = true }]\n`
  await using where = new SessionPlace({ '.cordon/config.toml': config, 'a.txt': 'a' })
  const session = where.session(LOOKED_AT, writeHostileWorker(where.base))
  const read = async (path: string): Promise<unknown> => (await session.call('fs_read_file', { path })).reply
  for (const misdeed of ['complains', 'leaves a program', 'leaves a file open', 'needs much memory']) {
    expect(await read('well')).toEqual(DONE)
    const [before] = launchers()
    expect([misdeed, await read(misdeed)]).toEqual([misdeed, DONE])
    expect([misdeed, await read('well')]).toEqual([misdeed, DONE])
    await untilGone(before)
  }
  const [launcher] = launchers()
  const state = (): string | undefined => statFields(family(launcher!).at(-1)!)[0]
  await expect.poll(state).toBe('T')
})

test('SPEC 4.3 what a call made at a denied path is moved aside before its result is there', async () => {
  await using where = place()
  const session = where.session({}, writeHostileWorker(where.base))
  const { end } = await session.call('fs_create_file', call('makes what is denied'))
  const denied = { path: join(where.root, 'denied'), movedTo: join(where.root, 'denied.denied-by-cordon-1') }
  expect(end?.exit.createdDenied).toEqual([denied])
  expect(existsSync(denied.path)).toBe(false)
  expect(readFileSync(join(denied.movedTo, 'x'), 'utf8')).toBe('x')
})

test('decision 0200: between two calls nothing happens inside, so what appears then is a person’s and stays', async () => {
  await using where = place()
  const session = where.session({}, writeHostileWorker(where.base))
  await session.call('fs_create_file', call('ticks'))
  const ticks = (): number => statSync(join(where.root, 'ticks')).size
  const before = ticks()
  await setTimeout(300)
  expect(ticks()).toBe(before)
  // A person makes what the tool may not.
  mkdirSync(join(where.root, 'denied'))
  writeFileSync(join(where.root, 'denied/mine'), 'mine')
  const { workspace } = await where.project()
  const records = readdirSync(workspace.unfinished).map((name) => join(workspace.unfinished, name))
  expect(records.map((record) => readFileSync(record, 'utf8')).join('')).toBe('')
  await session.close()
  expect(readdirSync(workspace.unfinished)).toEqual([])
  expect(launchers()).toEqual([])
  expect(readFileSync(join(where.root, 'denied/mine'), 'utf8')).toBe('mine')
})

test('a call that takes too long, or is cancelled, ends its worker', async () => {
  await using where = place()
  where.write('.cordon/config.toml', CONFIG.replace('200', '1'))
  const session = where.session({}, writeHostileWorker(where.base))
  const timeout = await session.call('fs_create_file', call('hangs'))
  expect(textOf(timeout)).toBe('the tool was stopped after 1 s (timeout_secs)')
  expect(launchers()).toEqual([])
  where.write('.cordon/config.toml', CONFIG)
  await session.call('fs_create_file', call('well'))
  const cancel = new AbortController()
  const hanging = session.call('fs_create_file', call('hangs'), { signal: cancel.signal })
  await setTimeout(200)
  cancel.abort()
  const outcome = await hanging
  expect([outcome.cancelled, textOf(outcome)]).toEqual([true, 'the call was cancelled'])
  expect(launchers()).toEqual([])
})

test('bounds: so many calls, so old, so long without one', async () => {
  await using where = place()
  const hostile = writeHostileWorker(where.base)
  const started = async (bounds: object, calls: number): Promise<number> => {
    const session = where.session(bounds, hostile)
    const seen = new Set<number>()
    for (let i = 0; i < calls; i++) {
      await session.call('fs_create_file', call('well'))
      for (const pid of launchers()) seen.add(pid)
      if ('idleMilliseconds' in bounds) while (launchers().length > 0) await setTimeout(5)
    }
    await session.close()
    return seen.size
  }
  expect(await started({}, 4)).toBe(1)
  expect(await started({ calls: 2 }, 5)).toBe(3) // each is gone after its second call
  expect(await started({ milliseconds: 0 }, 2)).toBe(0)
  expect(await started({ idleMilliseconds: 20 }, 2)).toBe(2)
})
