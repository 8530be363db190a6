import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Anchor, FileError, openAmbientDiskAnchor } from '../src/index.ts'
import { allOf, anchored, IMPLEMENTATIONS, makePlace, openHandles, refusal, rel } from './place.ts'
import { type CanonicalPath } from '@cordon/policy'

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')

/** What a call was refused with, whole. */
async function refused(act: () => Promise<unknown>): Promise<{ code: string; message: string }> {
  try {
    await act()
  } catch (error) {
    if (error instanceof FileError) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('it was not refused')
}

describe.each(IMPLEMENTATIONS)('$name', ({ open }) => {
  test('SPEC 7.2 a copy has the content and the mode, and replaces nothing unless asked', async () => {
    const { anchor, inside } = anchored(open)
    writeFileSync(join(inside, 'a'), 'hello')
    chmodSync(join(inside, 'a'), 0o4751)
    mkdirSync(join(inside, 'd'))
    anchor.list(rel('d')) // its handle is kept from now on
    const before = openHandles()
    expect(await anchor.copy(rel('a'), rel('d/b'))).toEqual({ sha256: sha('hello'), size: 5 })
    expect(readFileSync(join(inside, 'd/b'), 'utf8')).toBe('hello')
    expect(lstatSync(join(inside, 'd/b')).mode & 0o7777).toBe(0o751)
    writeFileSync(join(inside, 'c'), 'old')
    expect(await refused(() => anchor.copy(rel('a'), rel('c')))).toEqual({
      code: 'FILE_EXISTS',
      message: 'cannot copy c: it already exists',
    })
    expect(readFileSync(join(inside, 'c'), 'utf8')).toBe('old')
    await anchor.copy(rel('a'), rel('c'), { replace: 'file' })
    expect(readFileSync(join(inside, 'c'), 'utf8')).toBe('hello')
    expect(readdirSync(inside)).toEqual(['a', 'c', 'd'])
    expect(openHandles()).toBe(before)
  })

  test('a link is never copied from or to, nor anything that is not a regular file', async () => {
    const { anchor, inside, outside } = anchored(open)
    writeFileSync(join(outside, 'secret'), 'secret')
    symlinkSync(join(outside, 'secret'), join(inside, 'leaf'))
    symlinkSync(outside, join(inside, 'dir'))
    writeFileSync(join(inside, 'a'), 'hello')
    execFileSync('mkfifo', [join(inside, 'fifo')])
    const link = 'is a symbolic link, and links are not followed'
    expect(await refused(() => anchor.copy(rel('leaf'), rel('b')))).toEqual({
      code: 'FILE_IS_LINK',
      message: `cannot copy leaf: it ${link}`,
    })
    expect(await refused(() => anchor.copy(rel('dir/secret'), rel('b')))).toEqual({
      code: 'FILE_IS_LINK',
      message: `cannot copy dir/secret: dir ${link}`,
    })
    for (const to of ['leaf', 'dir/new'])
      expect((await refused(() => anchor.copy(rel('a'), rel(to), { replace: 'file' }))).code).toBe(
        'FILE_IS_LINK',
      )
    expect(await refused(() => anchor.copy(rel('fifo'), rel('b')))).toEqual({
      code: 'FILE_NOT_REGULAR',
      message: 'cannot copy fifo: it is not a regular file (fifo)',
    })
    expect((await refused(() => anchor.hash(rel('fifo')))).code).toBe('FILE_NOT_REGULAR')
    expect(readdirSync(outside)).toEqual(['secret'])
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret')
    expect(readdirSync(inside).sort()).toEqual(['a', 'dir', 'fifo', 'leaf'])
  })

  test('SPEC 7.2 If-Match: written only over the expected content, and no temporary file is left', async () => {
    const { anchor, inside } = anchored(open)
    writeFileSync(join(inside, 'f'), 'one')
    const over = (text: string) => ({ expect: { sha256: sha(text) } })
    await anchor.writeStream(rel('f'), [Buffer.from('two')], over('one'))
    anchor.writeFile(rel('f'), 'three', over('two'))
    expect(readFileSync(join(inside, 'f'), 'utf8')).toBe('three')
    const changed = { code: 'FILE_CHANGED', message: 'cannot write f: it does not have the expected content' }
    expect(await refused(() => anchor.writeStream(rel('f'), [Buffer.from('x')], over('one')))).toEqual(
      changed,
    )
    expect(refusal(() => anchor.writeFile(rel('f'), 'x', over('one')))).toEqual(changed)
    expect(refusal(() => anchor.writeFile(rel('g'), 'x', over('one')))).toEqual({
      code: 'FILE_NOT_FOUND',
      message: 'cannot write g: it does not exist',
    })
    expect(readFileSync(join(inside, 'f'), 'utf8')).toBe('three')
    expect(readdirSync(inside)).toEqual(['f'])
  })

  test('If-Match is asked when the stream has ended, not when it began', async () => {
    const { anchor, inside } = anchored(open)
    writeFileSync(join(inside, 'f'), 'one')
    const source = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('mine')
      writeFileSync(join(inside, 'f'), "somebody else's")
    }
    expect(
      (await refused(() => anchor.writeStream(rel('f'), source(), { expect: { sha256: sha('one') } }))).code,
    ).toBe('FILE_CHANGED')
    expect(readFileSync(join(inside, 'f'), 'utf8')).toBe("somebody else's")
    expect(readdirSync(inside)).toEqual(['f'])
  })

  test('a copy or a hash that is stopped leaves nothing', async () => {
    const { anchor, inside } = anchored(open)
    writeFileSync(join(inside, 'big'), '')
    truncateSync(join(inside, 'big'), 1024 ** 4)
    const copying = new AbortController()
    setTimeout(() => copying.abort(), 30)
    expect(await refused(() => anchor.hash(rel('big'), { signal: copying.signal }))).toEqual({
      code: 'FILE_STOPPED',
      message: 'cannot read big: it was not finished: it was stopped',
    })
    expect((await refused(() => anchor.copy(rel('big'), rel('b'), { signal: copying.signal }))).code).toBe(
      'FILE_STOPPED',
    )
    expect(readdirSync(inside)).toEqual(['big'])
  })

  test('a file that is written while it is copied is an error, not half of each', async () => {
    const { anchor, inside } = anchored(open)
    writeFileSync(join(inside, 'a'), Buffer.alloc(1024 * 1024, 'a'))
    utimesSync(join(inside, 'a'), 1, 1) // of another time than what is written now, whatever the clock's ticks
    const file = anchor.open(rel('a'))
    onTestFinished(() => file.close())
    let chunks = 0
    const act = () =>
      file.content(async () => {
        if (chunks++ === 1) writeFileSync(join(inside, 'a'), 'b', { flag: 'r+' })
      })
    expect(await refused(act)).toEqual({
      code: 'FILE_CHANGED',
      message: 'cannot open a: it was moved or replaced meanwhile',
    })
  })

  test('SPEC 7.3 10 GiB that nobody reads: a range of a sparse file costs what the range costs', async () => {
    const { anchor, inside } = anchored(open)
    writeFileSync(join(inside, 'huge'), 'begin')
    truncateSync(join(inside, 'huge'), 10 * 1024 ** 3)
    writeFileSync(join(inside, 'huge'), 'end', { flag: 'a' })
    const before = process.cpuUsage()
    const read = await allOf(anchor.readPieces(rel('huge'), { start: 10 * 1024 ** 3 - 2, length: 100 }))
    expect(read.toString()).toBe('\0\0end')
    expect(anchor.stat(rel('huge')).size).toBe(10 * 1024 ** 3 + 3)
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000) // 10 GiB would take some seconds
  })
})

test('with If-Match no write of this process is lost: thirty writers count to thirty', async () => {
  const { inside } = makePlace()
  const anchor = IMPLEMENTATIONS[0].open(inside)
  onTestFinished(() => anchor.close())
  writeFileSync(join(inside, 'count'), '0')
  let refusals = 0
  const count = async (): Promise<void> => {
    for (;;) {
      const before = anchor.readFile(rel('count')).toString()
      const next = async function* (): AsyncGenerator<Uint8Array> {
        await new Promise((done) => setImmediate(done)) // the others read meanwhile
        yield Buffer.from(String(Number(before) + 1))
      }
      try {
        return await anchor.writeStream(rel('count'), next(), { expect: { sha256: sha(before) } })
      } catch (error) {
        if (!(error instanceof FileError) || error.code !== 'FILE_CHANGED') throw error
        refusals++
      }
    }
  }
  await Promise.all(Array.from({ length: 30 }, count))
  expect(readFileSync(join(inside, 'count'), 'utf8')).toBe('30')
  expect(refusals).toBeGreaterThanOrEqual(29) // all began with what the first of them replaced
  expect(readdirSync(inside)).toEqual(['count'])
})

test('of two writes that both found the expected version, one is refused', async () => {
  const { inside } = makePlace()
  const anchor = IMPLEMENTATIONS[0].open(inside)
  onTestFinished(() => anchor.close())
  writeFileSync(join(inside, 'f'), 'old')
  const { version } = anchor.stat(rel('f'))
  const staged = [anchor.stage(rel('.')), anchor.stage(rel('.'))]
  for (const [i, each] of staged.entries()) await each.write(Buffer.from(`new ${i}`))
  const ends = await Promise.allSettled(staged.map((each) => each.commit(rel('f'), { expect: version })))
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  const winner = ends.findIndex(({ status }) => status === 'fulfilled')
  expect(readFileSync(join(inside, 'f'), 'utf8')).toBe(`new ${winner}`)
  expect(readdirSync(inside)).toEqual(['f'])
})

test('SPEC 7.3 a prefix of the kernel is refused, and so is what is mounted below one', () => {
  // By its device: devtmpfs says that it is a tmpfs. On a machine without a /dev of its own there is none to refuse.
  const devices = lstatSync('/dev').dev !== lstatSync('/').dev
  const open = (path: string): Anchor => openAmbientDiskAnchor(path as CanonicalPath)
  for (const path of ['/proc', '/proc/sys', '/sys', ...(devices ? ['/dev'] : [])])
    expect(refusal(() => open(path))).toEqual({
      code: 'FILE_NOT_ON_DISK',
      message: `cannot open ${path}: it is of the kernel, not of a disk`,
    })
  const root = open('/')
  onTestFinished(() => root.close())
  expect(refusal(() => root.readFile(rel('proc/self/environ')))).toEqual({
    code: 'FILE_NOT_ON_DISK',
    message: 'cannot read proc/self/environ: proc is of the kernel, not of a disk',
  })
  expect(refusal(() => root.list(rel('proc/self')))).toMatchObject({ code: 'FILE_NOT_ON_DISK' })
  const { entries } = root.tree(rel('.'), { depth: 2, entries: 10_000, bytes: 1_000_000 })
  expect(entries.find(({ path }) => path === 'proc')).toMatchObject({ kind: 'directory', closed: true })
  expect(entries.filter(({ path }) => path?.startsWith('proc/'))).toEqual([])
  expect(refusal(() => root.readFile(rel('dev/null')))).toMatchObject({
    code: devices ? 'FILE_NOT_ON_DISK' : 'FILE_NOT_REGULAR',
  })
})
