import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { callMounted, canMount } from './support/mounted.ts'
import { failed, said, Workspace } from './support/workspace.ts'

const denied = (capability: string, target: string) => ({
  type: 'error',
  message: expect.stringMatching(new RegExp(`^access denied: ${capability} on ${target}\n`)) as string,
})

test('creates a file with its missing directories', async () => {
  const workspace = new Workspace()
  expect(await workspace.run('fs_create_file', { path: 'a/b/c.txt', content: 'hi ü\n' })).toEqual(
    said('created a/b/c.txt (6 bytes)'),
  )
  expect(readFileSync(workspace.path('a/b/c.txt'), 'utf8')).toBe('hi ü\n')
  expect(await workspace.run('fs_create_file', { path: 'bin', content: 'AAH/', encoding: 'base64' })).toEqual(
    said('created bin (3 bytes)'),
  )
  expect([...readFileSync(workspace.path('bin'))]).toEqual([0, 1, 255])
  expect(await workspace.run('fs_create_file', { path: 'empty' })).toEqual(said('created empty (0 bytes)'))
})

test('an existing file is replaced only when that was asked for, or answered', async () => {
  const workspace = new Workspace({ a: 'old' })
  chmodSync(workspace.path('a'), 0o640)
  const create = (args: object, answers?: Record<string, unknown>) =>
    workspace.run('fs_create_file', { path: 'a', content: 'new', ...args }, answers ? { answers } : {})
  expect(await create({})).toEqual({
    type: 'needs_input',
    question: {
      id: 'overwrite',
      text: 'a exists (3 bytes). Replace it?',
      answer_type: 'boolean',
      default: false,
      argument: 'overwrite',
    },
  })
  for (const answer of [false, 'yes', 1])
    expect(await create({}, { overwrite: answer })).toEqual(failed('a exists and was not replaced'))
  expect(await create({ overwrite: false }, { overwrite: true })).toEqual(
    failed('a exists and was not replaced'),
  )
  expect(readFileSync(workspace.path('a'), 'utf8')).toBe('old')
  expect(await create({}, { overwrite: true })).toEqual(said('replaced a (3 bytes)'))
  expect(await create({ content: 'newer', overwrite: true })).toEqual(said('replaced a (5 bytes)'))
  expect(readFileSync(workspace.path('a'), 'utf8')).toBe('newer')
  expect(statSync(workspace.path('a')).mode & 0o777).toBe(0o640)
})

test('SPEC 1.8 create for a new file, update for an existing one', async () => {
  const workspace = new Workspace({ 'make/old': 'x', 'change/old': 'x' })
  const access = {
    fs: [{ path: 'make', create: true }, { path: 'change', update: true }, { path: 'make/no' }],
  }
  const create = (path: string) =>
    workspace.run('fs_create_file', { path, content: 'y', overwrite: true }, { access })
  expect(await create('make/new')).toEqual(said('created make/new (1 byte)'))
  expect(await create('change/old')).toEqual(said('replaced change/old (1 byte)'))
  expect(await create('make/old')).toMatchObject(denied('update', 'make/old'))
  expect(await create('change/new')).toMatchObject(denied('create', 'change/new'))
  expect(await create('make/no/x')).toMatchObject(denied('create', 'make/no/x'))
  expect(await create('elsewhere/x')).toMatchObject(denied('create', 'elsewhere/x'))
  expect(readdirSync(workspace.root).sort()).toEqual(['change', 'make'])
  // Decision 0170: the directories on the way to what is granted need no grant of their own, and get nothing else.
  const narrow = { fs: [{ path: 'p/q/file', create: true }] }
  const inNarrow = (path: string) => workspace.run('fs_create_file', { path }, { access: narrow })
  expect(await inNarrow('p/q/other')).toMatchObject(denied('create', 'p/q/other'))
  expect(existsSync(workspace.path('p'))).toBe(false)
  expect(await inNarrow('p/q/file')).toEqual(said('created p/q/file (0 bytes)'))
})

test('links: an inside one is written through, an outside or dangling one is an escape', async () => {
  const workspace = new Workspace({ 'real/a': 'old' })
  symlinkSync('real/a', workspace.path('inside'))
  symlinkSync(join(workspace.outside, 'new'), workspace.path('dangling'))
  const create = (path: string) => workspace.run('fs_create_file', { path, content: 'y', overwrite: true })
  expect(await create('inside')).toEqual(said('replaced inside → real/a (1 byte)'))
  symlinkSync('real/none', workspace.path('dang'))
  expect(await create('./dang')).toEqual(said('created dang → real/none (1 byte)'))
  expect(await create('dangling')).toEqual(failed('path escapes the workspace: dangling'))
  expect(readdirSync(workspace.outside)).toEqual([])
})

test('bad input', async () => {
  const workspace = new Workspace({ file: '' })
  mkdirSync(workspace.path('dir'))
  const create = (args: object) => workspace.run('fs_create_file', args)
  expect(await create({ path: 'dir', overwrite: true })).toEqual(
    failed('dir exists and is not a regular file (directory)'),
  )
  expect(await create({ path: 'file/x' })).toMatchObject({ type: 'error' })
  expect(await create({ path: 'x', content: '!', encoding: 'base64' })).toEqual(
    failed('content is not base64'),
  )
  expect(await create({ path: 'x', content: '\ud800' })).toEqual(failed('content is not valid Unicode'))
  expect(await create({ path: 'x', encoding: 'latin1' })).toEqual(
    failed('invalid arguments: encoding: expected one of "utf-8", "base64", got the string "latin1"'),
  )
  expect(await create({ path: `${'d'.repeat(300)}/x` })).toMatchObject({ type: 'error' })
  expect(readdirSync(workspace.root).sort()).toEqual(['dir', 'file'])
})

test.skipIf(!canMount)('a full disk leaves nothing behind', () => {
  const workspace = new Workspace()
  mkdirSync(workspace.path('disk'))
  const args = { path: 'disk/d/big', content: 'x'.repeat(1_000_000) }
  expect(
    callMounted(workspace, 'mount -t tmpfs -o size=64k none "$0/disk"', [{ tool: 'fs_create_file', args }]),
  ).toEqual([{ said: 'cannot write disk/d/big: it does not fit: the disk is full', changed: [] }])
})
