import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { mountsSeen } from '../packages/sandbox/test/mounts.ts'
import { PEOPLE, type Person, Place } from './harness/place.ts'
import { processesWith, until } from './harness/waiting.ts'

/** A user of this file's own: what is left anywhere by one of that number was left by these tests. */
const OWN = 64_323
const OWN_PEOPLE: readonly Person[] = PEOPLE.map((person) =>
  person.uid === undefined ? person : { ...person, uid: OWN, gid: OWN },
)

describe.each(OWN_PEOPLE)('the life of a run, as $name', (person) => {
  test('ten at once, each with its own home, /tmp and processes', async () => {
    const place = new Place(person)
    const script =
      'echo $0 > ~/x; echo $0 > /tmp/x; sleep 0.3; cat ~/x /tmp/x; rm ~/x; echo $0 > out-$0; exit $0'
    const runs = Array.from({ length: 10 }, (_, i) =>
      place.runMeanwhile(['--', 'sh', '-c', script, String(i)]),
    )
    const ended = await Promise.all(runs)
    expect(ended.map(({ code, stdout, stderr }) => ({ code, stdout, stderr }))).toEqual(
      Array.from({ length: 10 }, (_, i) => ({ code: i, stdout: `${i}\n${i}\n`, stderr: '' })),
    )
    expect(filesUnder(place.dir)).toEqual(Array.from({ length: 10 }, (_, i) => `w/out-${i}`))
  })

  test('SIGKILL of the host leaves no process and no file', async () => {
    const place = new Place(person)
    place.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true, write = true, execute = true }, { path = "denied" }]\n',
    )
    const mark = `mark-${process.pid}-${person.uid ?? 'self'}`
    const tmp = place.mkdir(join(place.dir, 'tmp'))
    const before = filesUnder(place.dir)
    const script = 'echo x > ~/x; echo x > /tmp/x; (setsid sleep 300 &); echo ready; sleep 300'
    const child = place.start(
      ['--profile', 'p', '--allow-net', 'https://example.com/x', '--', 'sh', '-c', script, mark],
      { env: place.env({ TMPDIR: tmp }) },
    )
    await once(child.stdout!, 'data')
    expect(processesWith(mark).length).toBeGreaterThan(1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await until(() => processesWith(mark).length === 0)
    // But the record of what the next command has to look for (decision 0136), which then goes too.
    const isRecord = (file: string): boolean => /^home\/\.local\/share\/cordon\/.*\/\.unfinished\//.test(file)
    expect(filesUnder(place.dir).filter((file) => !isRecord(file))).toEqual(before)
    expect(place.run(['--', 'true'])).toMatchObject({ code: 0, stderr: '' })
    expect(filesUnder(place.dir).filter(isRecord)).toEqual([])
    expect(temporaryFilesOf(person.uid)).toEqual([])
  })

  test.each(['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGINT'] as const)('%s reaches the program', async (signal) => {
    const place = new Place(person)
    const script = `trap 'echo got; exit 5' ${signal.slice(3)}; echo ready; while :; do sleep 0.05; done`
    const child = place.start(['--', 'sh', '-c', script])
    let out = ''
    child.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()))
    await once(child.stdout!, 'data')
    child.kill(signal)
    expect(await once(child, 'close')).toEqual([5, null])
    expect(out).toBe('ready\ngot\n')
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    '%s to the group, as timeout sends it, reaches all that the program started, once',
    async (signal) => {
      const place = new Place(person)
      const trap = (who: string): string => `trap 'echo ${who} >> got' ${signal.slice(3)}`
      const script = `${trap('outer')}; sh -c "${trap('inner')}; echo ready; while [ ! -e got ]; do sleep 0.05; done"; sleep 0.3; exit 5`
      const child = place.start(['--', 'sh', '-c', script], { detached: true })
      await once(child.stdout!, 'data')
      process.kill(-child.pid!, signal)
      expect(await once(child, 'close')).toEqual([5, null])
      expect(readFileSync(join(place.root, 'got'), 'utf8').trim().split('\n').toSorted()).toEqual([
        'inner',
        'outer',
      ])
    },
  )

  test('a reader that goes away ends the program, by SIGPIPE as without us', () => {
    const place = new Place(person)
    const status = `{ "$@"; echo $? > status; } | head -n 1; cat status`
    expect(place.shell(status, ['run', '--', 'yes'])).toMatchObject({ stdout: 'y\n141\n' })
    const errors = `{ "$@" 2>&1 >/dev/null; echo $? > status; } | head -n 1; cat status`
    expect(place.shell(errors, ['run', '--', 'sh', '-c', 'yes >&2'])).toMatchObject({ stdout: 'y\n141\n' })
  })

  test('limits: a full /tmp, a memory hog and a fork bomb end with a clear message', () => {
    const place = new Place(person)
    place.config('[sandbox.limits]\ntmp_mb = 8\nmemory_mb = 256\nprocesses = 64\n')
    const full = place.run(['--', 'sh', '-c', 'head -c 20000000 /dev/zero > /tmp/x'])
    expect(full.code).toBe(1)
    expect(full.stderr).toContain(
      'limit: the private /tmp and home are full (limits 8 MiB and 262144 files): they are emptied when the process ends\n',
    )
    const hog = place.run(['--', 'python3', '-c', 'a = []\nwhile True: a.append(b"x" * 1000000)'], {
      env: { PATH: '/usr/bin:/bin' },
    })
    expect(hog.code).toBe(1)
    expect(hog.stderr).toContain('of memory (limit 256 MiB)\n')
    const bomb = place.run(['--', 'python3', '-c', 'import os\nwhile True: os.fork()'], {
      env: { PATH: '/usr/bin:/bin' },
    })
    expect(bomb.code).toBe(1)
    expect(bomb.stderr).toContain(
      'hint: the limit of 64 processes was probably reached\n    to allow it: --cfg sandbox.limits.processes=1024\n',
    )
  })

  test('limits: more files than the private places take end with a clear message, and the host is as before', async () => {
    const place = new Place(person)
    const mounts = mountsSeen(place.dir)
    // Fills all that is private, says so in the workspace, which is the host's, and waits there.
    const script = `
import errno, os, sys, time
def make(path):
    try: os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError as e: return errno.errorcode[e.errno]
os.mkdir('/tmp/many')
made = 0
while made < 300000 and (error := make('/tmp/many/%d' % made)) is None: made += 1
others = [make(os.path.join(dir, 'x')) for dir in (os.environ['HOME'], '/tmp', '/var/tmp', '/dev/shm', '.')]
print(made > 262000, error, others, flush=True)
while not os.path.exists('go'): time.sleep(0.02)
sys.exit(3)
`
    const child = place.start(['--', '/usr/bin/python3', '-c', script])
    const said = Promise.all([text(child.stdout!), text(child.stderr!), once(child, 'close')])
    await until(() => existsSync(join(place.root, 'x')) || child.exitCode !== null)
    // Meanwhile: the real places take files, and another command has private places of its own.
    for (const dir of [tmpdir(), place.home]) {
      const file = join(dir, `room-${process.pid}`)
      writeFileSync(file, 'room', { flag: 'wx' })
      rmSync(file)
    }
    expect(place.run(['--', 'sh', '-c', 'touch /tmp/y ~/y && echo room'])).toMatchObject({ stdout: 'room\n' })
    place.write('go', '')
    const [stdout, stderr, [code]] = await said
    expect({ stdout, stderr, code }).toEqual({
      stdout: "True ENOSPC ['ENOSPC', 'ENOSPC', 'ENOSPC', 'ENOSPC', None]\n",
      stderr:
        'cordon: the command ended with 3\n' +
        '  limit: the private /tmp and home are full (limits 1024 MiB and 262144 files): they are emptied when the process ends\n',
      code: 3,
    })
    expect(filesUnder(place.dir)).toEqual(['w/go', 'w/x'])
    expect(temporaryFilesOf(person.uid)).toEqual([])
    expect(mountsSeen(place.dir)).toEqual(mounts)
  })
})

/** Compiled code of our own program, what the launcher remembers (decision 0402), and where a command could write (0662). */
const OURS: ReadonlySet<string> = new Set([
  'home/.cache',
  'home/.local/share/cordon/names',
  'home/.local/share/cordon/workspace/.said',
])

function filesUnder(dir: string, prefix = ''): string[] {
  return readdirSync(join(dir, prefix), { withFileTypes: true })
    .flatMap((entry) => {
      const path = prefix === '' ? entry.name : `${prefix}/${entry.name}`
      if (OURS.has(path)) return []
      return entry.isDirectory() ? filesUnder(dir, path) : [path]
    })
    .toSorted()
}

/** Root's are everybody's. */
const temporaryFilesOf = (uid: number | undefined): string[] =>
  ['/tmp', '/var/tmp', '/dev/shm']
    .flatMap((dir) => readdirSync(dir).map((name) => join(dir, name)))
    .filter((file) => uid !== undefined && lstatSync(file, { throwIfNoEntry: false })?.uid === uid)
