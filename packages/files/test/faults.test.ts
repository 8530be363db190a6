import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makePlace } from './place.ts'

const ACTOR = join(import.meta.dirname, 'actor.ts')
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

test.skipIf(!canMount)('a full disk: a clear error, the old content, no leftovers, no open handles', () => {
  const { inside } = makePlace()
  const full = (verb: string, name: string): string =>
    `cannot ${verb} ${name}: it does not fit: the disk is full`
  expect(act(mounted(inside, 'mount -t tmpfs -o size=256k none "$0"'), 'full', inside)).toEqual({
    write: full('write', 'f'),
    create: full('write', 'new'),
    stream: full('write', 'f'),
    append: full('append to', 'log'),
    leaked: 0,
    f: 'old',
    names: ['f'],
  })
})

test.skipIf(!canMount)('a mount below the anchor is entered, and a move across it is refused', () => {
  const { inside } = makePlace()
  writeFileSync(join(inside, 'f'), '')
  for (const name of ['d', 'e']) mkdirSync(join(inside, name))
  expect(act(mounted(inside, 'mount -t tmpfs none "$0/d"'), 'mounts', inside)).toEqual({
    move: 'cannot move d/f: it is on another filesystem',
    moveDirectory: 'cannot move d/e: it is on another filesystem',
    write: 'done',
    read: 'x',
    names: [['d', 'e', 'f'], ['g']],
  })
})

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
