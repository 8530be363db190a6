import { execFile, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { IMPLEMENTATIONS, makePlace, refusal, rel } from './place.ts'

const ACTOR = join(import.meta.dirname, 'children/actor.ts')
const isRoot = process.getuid?.() === 0
const unshare = ['unshare', ...(isRoot ? ['-m'] : ['-r', '-m'])]

const works = (command: string[]): boolean => {
  try {
    execFileSync(command[0]!, command.slice(1), { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Runs `node actor.ts SCENE DIRECTORY` behind the given command. */
function act(before: string[], scene: string, directory: string): unknown {
  const node = [process.execPath, '--conditions=cordon-source', ACTOR, scene, directory]
  const [program = '', ...args] = [...before, ...node]
  return JSON.parse(execFileSync(program, args, { encoding: 'utf8' }))
}

/** In a mount namespace of its own, after the shell commands, in which `$0` is the directory. */
const mounted = (directory: string, script: string): string[] => [
  ...unshare,
  'sh',
  '-ec',
  `${script}; exec "$@"`,
  directory,
]

const canMount = works([...unshare, 'sh', '-c', 'mount -t tmpfs none /mnt'])
const canBeAnother = isRoot && works(['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', 'true'])

test('of several processes that create one name, exactly one succeeds', async () => {
  const { inside } = makePlace()
  const run = promisify(execFile)
  const claim = async (): Promise<{ pid: number; won: number[] }> => {
    const { stdout } = await run(process.execPath, ['--conditions=cordon-source', ACTOR, 'claim', inside])
    return JSON.parse(stdout) as { pid: number; won: number[] }
  }
  const claims = await Promise.all([claim(), claim(), claim()])
  const won = claims.flatMap((each) => each.won).sort((a, b) => a - b)
  expect(won).toEqual(Array.from({ length: 200 }, (_, i) => i))
  for (const { pid, won: names } of claims)
    for (const name of names) expect(readFileSync(join(inside, String(name)), 'utf8')).toBe(String(pid))
  expect(readdirSync(inside)).toHaveLength(200)
})

test.skipIf(!canMount)('a full disk: a clear error, the old content, no leftovers, no open handles', () => {
  const { inside } = makePlace()
  expect(act(mounted(inside, 'mount -t tmpfs -o size=256k none "$0"'), 'full', inside)).toEqual({
    write: full('write', 'f'),
    create: full('write', 'new'),
    stream: full('write', 'f'),
    append: full('append to', 'log'),
    copy: full('write', 'copy'),
    leaked: 0,
    f: 'old',
    names: ['f', 'half'],
  })
})

test.skipIf(!canMount)('a mount below the anchor is entered, and a file moves across it', () => {
  const { inside } = makePlace()
  writeFileSync(join(inside, 'f'), '')
  for (const name of ['d', 'e']) mkdirSync(join(inside, name))
  expect(act(mounted(inside, 'mount -t tmpfs none "$0/d"'), 'mounts', inside)).toEqual({
    move: 'done',
    moveDirectory: 'cannot move d/e: it is on another filesystem',
    write: 'done',
    read: 'x',
    names: [
      ['d', 'e'],
      ['f', 'g'],
    ],
  })
})

test.skipIf(!canMount)('a recursive removal enters no other filesystem, and says what stopped it', () => {
  const { inside } = makePlace()
  mkdirSync(join(inside, 't/m'), { recursive: true })
  const script = 'mount -t tmpfs none "$0/t/m"; echo x > "$0/t/m/f"'
  expect(act(mounted(inside, script), 'removal', inside)).toEqual({
    failed: 'cannot remove t/m: it is on another filesystem',
    files: 0,
    kept: 'x\n',
  })
})

/**
 * Decision 0011: the attacker has a mount namespace of its own, in which the outside is mounted at the path
 * of the workspace. The kernel names what is reached through `/proc/<pid>/root` by that path, so whoever opens
 * first and asks for the path then is fooled.
 */
test.skipIf(!canMount)(
  'a link into a mount namespace where the outside has our path is only a link',
  async () => {
    const { inside, outside } = makePlace()
    writeFileSync(join(outside, 'f'), 'secret')
    const script =
      'mount -t tmpfs none "$0" && mkdir "$0/l" && mount --bind "$1" "$0/l" && echo ready && read x'
    const [program, ...args] = [...unshare, 'sh', '-ec', script, inside, outside]
    const attacker = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    onTestFinished(() => void attacker.kill())
    await new Promise((done) => attacker.stdout.once('data', done))
    const link = `/proc/${String(attacker.pid)}/root${inside}/l`
    symlinkSync(link, join(inside, 'l'))
    // The trick works, or this would prove nothing: the secret is there, under a path of the workspace.
    const fd = openSync(join(inside, 'l/f'), 'r')
    expect(readlinkSync(`/proc/self/fd/${fd}`)).toBe(join(inside, 'l/f'))
    expect(readFileSync(fd, 'utf8')).toBe('secret')
    closeSync(fd)
    for (const { open } of IMPLEMENTATIONS) {
      const anchor = open(inside)
      expect(refusal(() => anchor.readFile(rel('l/f')))).toEqual({
        code: 'FILE_IS_LINK',
        message: 'cannot read l/f: l is a symbolic link, and links are not followed',
      })
      anchor.close()
    }
  },
)

test.skipIf(!canMount)('a read-only filesystem', () => {
  const { inside } = makePlace()
  writeFileSync(join(inside, 'f'), 'old')
  const script = 'mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"'
  expect(act(mounted(inside, script), 'immutable', inside)).toEqual({
    write: 'cannot write f: it is on a read-only filesystem',
    unlink: 'cannot remove f: it is on a read-only filesystem',
    read: 'old',
    names: ['f'],
  })
})

test.skipIf(!canBeAnother)('as an ordinary user among files of others', () => {
  const { inside } = makePlace()
  const at = (path: string): string => join(inside, path)
  for (const name of ['closed', 'unlisted', 'shut', 'shared']) mkdirSync(at(name))
  for (const name of ['private', 'unlisted/f', 'shut/f', 'shared/root', 'shared/group'])
    writeFileSync(at(name), name)
  const modes = { '..': 0o755, private: 0o600, closed: 0o555, unlisted: 0o333, shut: 0o700, shared: 0o777 }
  for (const [name, mode] of Object.entries(modes)) chmodSync(at(name), mode)
  chmodSync(at('shared/group'), 0o6774)
  const user = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  const no = 'is not permitted to this user'
  expect(act(user, 'user', inside)).toEqual({
    read: `cannot read private: it ${no}`,
    write: `cannot write closed/new: it ${no}`,
    list: `cannot list unlisted: it ${no}`,
    readUnlisted: 'unlisted/f',
    writeUnlisted: 'done',
    pass: `cannot read shut/f: it ${no}`,
    walk: expect.stringMatching(/^cannot list (?:shut|unlisted): it is not permitted to this user$/),
    walked: [`cannot list shut: it ${no}`, `cannot list unlisted: it ${no}`],
    // Root's file cannot be hard-linked by this user (fs.protected_hardlinks), and moves nevertheless.
    moveOthers: 'done',
    moveOthersOnto: 'cannot move shared/group: it already exists',
    replaceOthers: 'done',
    // The group is another now, so it gets what everybody had.
    mode: '744',
    names: ['group', 'moved'],
  })
})

const full = (verb: string, name: string): string =>
  `cannot ${verb} ${name}: it does not fit: the disk is full`
