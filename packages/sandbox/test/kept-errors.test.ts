import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { IDENTITIES, makeWorld, removeWorlds, start, type World } from './confine.ts'

afterAll(removeWorlds)

const WHOLE = Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join('')
const TAIL = 64 * 1024

/** None of one that has ended itself, either. */
const childrenOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  } catch {
    return ''
  }
}

/** SPEC 4.7: stderr passes through the launcher, and the end of it is looked at when the program fails. */
describe.each(IDENTITIES)('errors that are kept, as $name', (who) => {
  const run = async (script: string, world: World = makeWorld(who)) => {
    const { stdout, stderr, stdin, exit } = start({ who, world, script, spawn: { keepErrors: true } })
    stdin?.end()
    const [out, err, end] = await Promise.all([text(stdout!), text(stderr!), exit])
    return { out, err, code: end.code, signal: end.signal, said: end.said }
  }

  test('arrive as they were written, and the end of them is told', async () => {
    const ended = { out: 'out\n', err: 'err\n', code: 7, signal: null, said: 'err\n' }
    expect(await run('echo out; echo err >&2; exit 7')).toEqual(ended)
    expect(await run('exit 7')).toEqual({ out: '', err: '', code: 7, signal: null, said: '' })
    expect(await run('echo err >&2; kill -TERM $$')).toMatchObject({ signal: 'SIGTERM', said: 'err\n' })
  })

  test('with the output they are one stream, in the order it was written', async () => {
    const script = 'echo one; echo two >&2; echo three; exit 7'
    const keep = { keepErrors: true, keepOutput: 'with errors' } as const
    const { stdout, stderr, stdin, exit } = start({ who, world: makeWorld(who), script, spawn: keep })
    stdin?.end()
    const all = 'one\ntwo\nthree\n'
    const [out, err, { said }] = await Promise.all([text(stdout!), text(stderr!), exit])
    expect({ out, err, said }).toEqual({ out: '', err: all, said: all })
  })

  test('with the output apart, each goes where it goes, and both are told', async () => {
    const keep = { keepErrors: true, keepOutput: 'apart' } as const
    const script = 'seq 1 100000; printf two >&2; echo three; exit 7'
    const { stdout, stderr, stdin, exit } = start({ who, world: makeWorld(who), script, spawn: keep })
    stdin?.end()
    const [out, err, { said, code }] = await Promise.all([text(stdout!), text(stderr!), exit])
    expect({ out, err, code }).toEqual({ out: `${WHOLE}three\n`, err: 'two', code: 7 })
    expect(said).toBe(`${`${WHOLE}three\n`.slice(-TAIL)}\ntwo`)
  })

  test('output apart that nobody reads ends the program, by SIGPIPE as without us', async () => {
    const keep = { keepErrors: true, keepOutput: 'apart' } as const
    const { stdout, stderr, stdin, exit } = start({
      who,
      world: makeWorld(who),
      script: 'exec yes',
      spawn: keep,
    })
    stdin?.end()
    await once(stdout!, 'data')
    stdout!.destroy()
    const [err, { signal }] = await Promise.all([text(stderr!), exit])
    expect({ err, signal }).toEqual({ err: '', signal: 'SIGPIPE' })
  })

  test('of many the last 64 KiB are kept, and all are passed on in order', async () => {
    const ended = await run('seq 1 100000 >&2; exit 1')
    expect(ended.err).toBe(WHOLE)
    expect(ended.said).toBe(WHOLE.slice(-TAIL))
  })

  test('whatever they say, they are no part of the report', async () => {
    const forged = '\\n\\nexit code=0\\n\\nfailed exec item=0 errno=1\\nusage peak_kib=99999999 tmp_full=1\\n'
    expect(await run(`printf '${forged}' >&2; exit 9`)).toMatchObject({
      code: 9,
      said: '\n\nexit code=0\n\nfailed exec item=0 errno=1\nusage peak_kib=99999999 tmp_full=1\n',
    })
    // Nor can the program write to the report itself: it is not among its descriptors.
    const listing = await run('echo "exit code=0" >&3; ls /proc/self/fd; exit 9')
    expect([listing.code, listing.out]).toEqual([9, '0\n1\n2\n3\n']) // 3 is the directory that ls itself has open
  })

  test('that nobody takes end with the signal that ends the call', async () => {
    const world = makeWorld(who)
    const confined = start({
      who,
      world,
      script: 'echo up; seq 1 100000 >&2; echo done > done; exit 3',
      spawn: { keepErrors: true },
    })
    confined.stdin?.end()
    confined.stderr!.pause()
    await once(confined.stdout!, 'data')
    confined.kill('SIGTERM')
    // Only then: a pipe without a reader would let the program go on to its own end.
    await vi.waitFor(() => expect(childrenOf(confined.pid)).toBe(''), { timeout: 60_000 })
    confined.stderr!.destroy()
    expect((await confined.exit).signal).toBe('SIGTERM')
  })
})

test('the host’s environment, arguments and open files are nowhere inside', async () => {
  const [who] = IDENTITIES
  const world = makeWorld(who!)
  const left = join(world.dir, 'left-open')
  writeFileSync(left, 'left')
  const fd = openSync(left, 'r')
  process.env['HOST_SECRET'] = 'hunter2'
  const { stdout, stderr, stdin, exit } = start({
    who: who!,
    world,
    script: `env; tr '\\0' ' ' < /proc/1/cmdline; cat /proc/1/environ /proc/1/mem /proc/self/environ; cat <&${fd}; ls /proc/self/fd`,
  })
  stdin?.end()
  const [out] = await Promise.all([text(stdout!), text(stderr!), exit])
  delete process.env['HOST_SECRET']
  expect(out).not.toMatch(/hunter2|left|vitest/)
  expect(out).toContain('PATH=')
})
