import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type CanonicalPath, parseContext, type RelPath, ROOT } from '@cordon/policy'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Anchor, openAmbientAnchor } from '../src/index.ts'
import { allOf, IMPLEMENTATIONS, makePlace, openHandles, refusal, rel } from './place.ts'

test('on this machine the guarantee is exact', () => {
  const anchor = openAmbientAnchor(makePlace().inside)
  expect(anchor.guarantee).toBe('exact')
  anchor.close()
})

test('SPEC 1.3 check and use are one step: a swap between them cannot redirect the use', () => {
  const { inside, outside } = makePlace()
  mkdirSync(join(inside, 'real'))
  writeFileSync(join(inside, 'real/f'), 'mine')
  writeFileSync(join(outside, 'f'), 'secret')
  symlinkSync('real', join(inside, 'alias'))
  const context = parseContext({ root: inside, action: 'run', access: { fs: [{ path: '.', read: true }] } })
  const location = context.locate('alias/f', 'read')
  const anchor = openAmbientAnchor(location.anchor)
  expect(anchor.readFile(location.inside).toString()).toBe('mine')
  renameSync(join(inside, 'real'), join(inside, 'away'))
  symlinkSync(outside, join(inside, 'real'))
  expect(readFileSync(location.absolute, 'utf8')).toBe('secret')
  expect(refusal(() => anchor.readFile(location.inside))).toEqual({
    code: 'FILE_IS_LINK',
    message: 'cannot read real/f: real is a symbolic link, and links are not followed',
  })
  anchor.close()
})

test('an anchor that cannot be opened says why', () => {
  const { inside, outside } = makePlace()
  symlinkSync(outside, join(inside, 'l'))
  const at = (name: string): CanonicalPath => join(inside, name) as CanonicalPath
  expect(refusal(() => openAmbientAnchor(at('l')))).toEqual({
    code: 'FILE_IS_LINK',
    message: `cannot open ${at('l')}: it is a symbolic link, and links are not followed`,
  })
  expect(refusal(() => openAmbientAnchor(at('none')))).toEqual({
    code: 'FILE_NOT_FOUND',
    message: `cannot open ${at('none')}: it does not exist`,
  })
})

describe.each(IMPLEMENTATIONS)('SPEC 6.4 $name', ({ name: guarantee, open }) => {
  /** Counts handles around each test: whatever it opened, also on the way to an error, is closed again. */
  function setUp(): { anchor: Anchor; inside: string; outside: string } {
    const before = openHandles()
    onTestFinished(() => expect(openHandles()).toBe(before))
    const { inside, outside } = makePlace()
    const anchor = open(inside)
    onTestFinished(() => anchor.close())
    return { anchor, inside, outside }
  }

  test('says how strong it is', () => {
    expect(setUp().anchor.guarantee).toBe(guarantee)
  })

  test('reads a file whole, in part, and in pieces', async () => {
    const { anchor, inside } = setUp()
    mkdirSync(join(inside, 'a/b'), { recursive: true })
    writeFileSync(join(inside, 'a/b/f'), '0123456789')
    writeFileSync(join(inside, 'empty'), '')
    expect(anchor.readFile(rel('a/b/f')).toString()).toBe('0123456789')
    expect(anchor.readFile(rel('empty'))).toHaveLength(0)
    expect(anchor.readRange(rel('a/b/f'), { start: 3, length: 4 }).toString()).toBe('3456')
    expect(anchor.readRange(rel('a/b/f'), { start: 8, length: 4 }).toString()).toBe('89')
    expect(anchor.readRange(rel('a/b/f'), { start: 80 }).toString()).toBe('')
    const text = async (range?: { start: number; length: number }): Promise<string> =>
      (await allOf(anchor.readPieces(rel('a/b/f'), range))).toString()
    expect(await text()).toBe('0123456789')
    expect(await text({ start: 2, length: 3 })).toBe('234')
    expect(await text({ start: 2, length: 0 })).toBe('')
  })

  test('pieces share one memory, and their end closes the file, also an early one', async () => {
    const { anchor, inside } = setUp()
    writeFileSync(join(inside, 'f'), Buffer.alloc(1024 * 1024, 'x'))
    const before = openHandles()
    const seen = new Set<ArrayBufferLike>()
    for await (const piece of anchor.readPieces(rel('f'))) seen.add(piece.buffer)
    expect(seen.size).toBe(1)
    for await (const _ of anchor.readPieces(rel('f'))) break
    expect(openHandles()).toBe(before)
  })

  test('a file over the limit is refused, and so is one that grows past it', () => {
    const { anchor, inside } = setUp()
    writeFileSync(join(inside, 'f'), '0123456789')
    const message = 'cannot read f: it is larger than 9 bytes'
    expect(anchor.readFile(rel('f'), { limit: 10 })).toHaveLength(10)
    expect(refusal(() => anchor.readFile(rel('f'), { limit: 9 }))).toEqual({
      code: 'FILE_TOO_LARGE',
      message,
    })
    const file = anchor.open(rel('f'))
    writeFileSync(join(inside, 'f'), 'x'.repeat(100_000))
    expect(file.readAll()).toHaveLength(100_000)
    expect(refusal(() => file.readAll(99_999)).code).toBe('FILE_TOO_LARGE')
    file.close()
  })

  test('a file that shrinks while it is read is an error, not a shorter file', () => {
    const { anchor, inside } = setUp()
    writeFileSync(join(inside, 'f'), '0123456789')
    const file = anchor.open(rel('f'))
    truncateSync(join(inside, 'f'), 4)
    const message = 'cannot open f: it became shorter while it was read'
    expect(refusal(() => file.readAll())).toEqual({ code: 'FILE_CHANGED', message })
    expect(refusal(() => file.readRange({ start: 2, length: 5 }))).toEqual({ code: 'FILE_CHANGED', message })
    file.close()
  })

  test('an open file is the file that was reached, whatever becomes of its name', () => {
    const { anchor, inside, outside } = setUp()
    writeFileSync(join(inside, 'f'), 'mine')
    writeFileSync(join(outside, 'f'), 'secret')
    const file = anchor.open(rel('f'))
    anchor.unlink(rel('f'))
    symlinkSync(join(outside, 'f'), join(inside, 'f'))
    expect(file.readAll().toString()).toBe('mine')
    expect(file.stat.kind).toBe('file')
    file.close()
    file.close()
    expect(() => file.fd).toThrow('this file is closed')
  })

  test('what is removed is the version that was looked at, if one is named', () => {
    const { anchor, inside } = setUp()
    writeFileSync(join(inside, 'f'), 'before')
    const { version } = anchor.stat(rel('f'))
    writeFileSync(join(inside, 'f'), 'important')
    expect(refusal(() => anchor.unlink(rel('f'), { version }))).toEqual({
      code: 'FILE_CHANGED',
      message: 'cannot remove f: it is not the version that was looked at',
    })
    expect(readFileSync(join(inside, 'f'), 'utf8')).toBe('important')
    anchor.unlink(rel('f'), { version: anchor.stat(rel('f')).version })
    expect(refusal(() => anchor.unlink(rel('f'), { version }))).toEqual({
      code: 'FILE_NOT_FOUND',
      message: 'cannot remove f: it does not exist',
    })
  })

  test('no link is followed, at the end or on the way', () => {
    const { anchor, inside, outside } = setUp()
    mkdirSync(join(outside, 'd'))
    writeFileSync(join(outside, 'd/f'), 'secret')
    symlinkSync(join(outside, 'd'), join(inside, 'out'))
    symlinkSync(join(outside, 'd/f'), join(inside, 'file'))
    symlinkSync('nowhere', join(inside, 'dangling'))
    mkdirSync(join(inside, 'own'))
    symlinkSync('own', join(inside, 'alias'))
    expect(refusal(() => anchor.readFile(rel('out/f')))).toEqual(isLink('read', 'out/f', 'out'))
    expect(refusal(() => anchor.readFile(rel('file')))).toEqual(isLink('read', 'file', 'it'))
    expect(refusal(() => anchor.open(rel('dangling')))).toEqual(isLink('open', 'dangling', 'it'))
    expect(refusal(() => anchor.openAppend(rel('dangling')))).toEqual(isLink('append to', 'dangling', 'it'))
    for (const path of ['file', 'dangling', 'out', 'alias'])
      expect(refusal(() => anchor.writeFile(rel(path), 'x'))).toEqual(isLink('write', path, 'it'))
    expect(refusal(() => anchor.writeFile(rel('alias/f'), 'x'))).toEqual(isLink('write', 'alias/f', 'alias'))
    expect(refusal(() => anchor.list(rel('out')))).toEqual(isLink('list', 'out', 'it'))
    expect(refusal(() => [...anchor.walk(rel('out'))])).toEqual(isLink('list', 'out', 'it'))
    expect(refusal(() => anchor.mkdir(rel('out/x')))).toEqual(isLink('make directory', 'out/x', 'out'))
    expect(refusal(() => anchor.mkdirp(rel('out/x/y')))).toEqual(isLink('make directory', 'out/x/y', 'out'))
    expect(refusal(() => anchor.mkdirp(rel('out')))).toEqual(isLink('make directory', 'out', 'it'))
    expect(refusal(() => anchor.unlink(rel('out/f')))).toEqual(isLink('remove', 'out/f', 'out'))
    expect(refusal(() => anchor.rmdir(rel('out'))).code).toBe('FILE_NOT_DIRECTORY')
    expect(refusal(() => anchor.rename(rel('out/f'), rel('f')))).toEqual(isLink('move', 'out/f', 'out'))
    expect(refusal(() => anchor.rename(rel('own'), rel('out/own')))).toEqual(isLink('move', 'out/own', 'out'))
    expect(refusal(() => anchor.sweepTemps(rel('out')))).toEqual(isLink('sweep', 'out', 'it'))
    expect(refusal(() => anchor.stage(rel('out')))).toEqual(isLink('write', 'out', 'it'))
    expect(anchor.readlink(rel('alias'))).toBe('own')
    expect(anchor.stat(rel('file')).kind).toBe('link')
    anchor.unlink(rel('file'))
    expect(readdirSync(outside)).toEqual(['d'])
    expect(readFileSync(join(outside, 'd/f'), 'utf8')).toBe('secret')
    expect(readdirSync(inside).sort()).toEqual(['alias', 'dangling', 'out', 'own'])
  })

  test('FIFOs, sockets and devices are refused and not opened', async () => {
    const { anchor, inside } = setUp()
    execFileSync('mkfifo', [join(inside, 'fifo')])
    const server = createServer().listen(join(inside, 'socket'))
    await new Promise((done) => server.once('listening', done))
    if (process.getuid?.() === 0) execFileSync('mknod', [join(inside, 'device'), 'c', '1', '3'])
    for (const kind of process.getuid?.() === 0 ? ['fifo', 'socket', 'device'] : ['fifo', 'socket']) {
      const refused = (verb: string): object => ({
        code: 'FILE_NOT_REGULAR',
        message: `cannot ${verb} ${kind}: it is not a regular file (${kind})`,
      })
      expect(anchor.stat(rel(kind)).kind).toBe(kind)
      expect(refusal(() => anchor.readFile(rel(kind)))).toEqual(refused('read'))
      expect(refusal(() => anchor.openAppend(rel(kind)))).toEqual(refused('append to'))
      expect(refusal(() => anchor.writeFile(rel(kind), 'x'))).toEqual(refused('write'))
    }
    await new Promise((done) => server.close(done))
    anchor.unlink(rel('fifo'))
    expect(refusal(() => anchor.readFile(ROOT))).toEqual({
      code: 'FILE_NOT_REGULAR',
      message: 'cannot read .: it is not a regular file (directory)',
    })
  })

  test('says what is wrong in terms of the path, and never of a handle', () => {
    const { anchor, inside } = setUp()
    mkdirSync(join(inside, 'd/e'), { recursive: true })
    writeFileSync(join(inside, 'f'), '')
    const cases: [() => unknown, string, string][] = [
      [() => anchor.readFile(rel('x')), 'FILE_NOT_FOUND', 'cannot read x: it does not exist'],
      [() => anchor.readFile(rel('x/y/z')), 'FILE_NOT_FOUND', 'cannot read x/y/z: x does not exist'],
      [() => anchor.readFile(rel('f/y')), 'FILE_NOT_DIRECTORY', 'cannot read f/y: f is not a directory'],
      [
        () => anchor.readFile(rel('d')),
        'FILE_NOT_REGULAR',
        'cannot read d: it is not a regular file (directory)',
      ],
      [() => anchor.mkdir(rel('d')), 'FILE_EXISTS', 'cannot make directory d: it already exists'],
      [
        () => anchor.mkdirp(rel('f/g')),
        'FILE_NOT_DIRECTORY',
        'cannot make directory f/g: f is not a directory',
      ],
      [() => anchor.rmdir(rel('d')), 'FILE_NOT_EMPTY', 'cannot remove d: it is not empty'],
      [
        () => anchor.unlink(rel('d')),
        'FILE_NOT_REGULAR',
        'cannot remove d: it is not a regular file (directory)',
      ],
      [() => anchor.stat(rel('a\nb')), 'FILE_NOT_FOUND', 'cannot look at "a\\nb": it does not exist'],
      [() => anchor.readlink(rel('f')), 'FILE_INVALID', 'cannot look at f: it cannot be used for this'],
      [
        () => anchor.writeFile(rel('n'.repeat(256)), ''),
        'FILE_INVALID',
        `cannot write ${'n'.repeat(256)}: it has a component that is too long`,
      ],
      [
        () => anchor.rename(rel('d'), rel('d/e/d')),
        'FILE_INVALID',
        'cannot move d/e/d: it cannot be used for this',
      ],
    ]
    for (const [act, code, message] of cases) expect(refusal(act)).toEqual({ code, message })
    expect(readdirSync(inside, { recursive: true, encoding: 'utf8' }).sort()).toEqual(['d', 'd/e', 'f'])
  })

  test('writes all or nothing, and keeps the mode but no setuid', () => {
    const { anchor, inside } = setUp()
    const at = join(inside, 'f')
    anchor.writeFile(rel('f'), 'one')
    expect(statSync(at).mode & 0o7777).toBe(0o666 & ~process.umask())
    chmodSync(at, 0o6751)
    linkSync(at, join(inside, 'other'))
    anchor.writeFile(rel('f'), 'two')
    expect(statSync(at).mode & 0o7777).toBe(0o751)
    expect(readFileSync(at, 'utf8')).toBe('two')
    expect(readFileSync(join(inside, 'other'), 'utf8')).toBe('one')
    anchor.writeFile(rel('f'), 'three', { mode: 0o600 })
    expect(statSync(at).mode & 0o7777).toBe(0o600)
    expect(readdirSync(inside).sort()).toEqual(['f', 'other'])
  })

  test('writes what was expected to be there, or nothing', () => {
    const { anchor, inside } = setUp()
    expect(refusal(() => anchor.writeFile(rel('f'), 'x', { expect: 'present' }))).toEqual({
      code: 'FILE_NOT_FOUND',
      message: cannotWriteF('does not exist'),
    })
    anchor.createExclusive(rel('f'), 'one', { mode: 0o640 })
    expect(anchor.stat(rel('f'))).toMatchObject({ kind: 'file', size: 3, mode: 0o640, links: 1 })
    expect(refusal(() => anchor.createExclusive(rel('f'), 'x'))).toEqual({
      code: 'FILE_EXISTS',
      message: cannotWriteF('already exists'),
    })
    const { version } = anchor.stat(rel('f'))
    anchor.writeFile(rel('f'), 'two', { expect: version })
    expect(refusal(() => anchor.writeFile(rel('f'), 'x', { expect: version }))).toEqual({
      code: 'FILE_CHANGED',
      message: cannotWriteF('is not the version that was read'),
    })
    expect(readFileSync(join(inside, 'f'), 'utf8')).toBe('two')
    expect(readdirSync(inside)).toEqual(['f'])
  })

  test('streams in with back-pressure, and a failing source leaves nothing', async () => {
    const { anchor, inside } = setUp()
    const chunk = Buffer.alloc(256 * 1024, 'x')
    let asked = 0
    function* many(): Generator<Buffer> {
      for (; asked < 64; asked++) yield chunk
    }
    await anchor.writeStream(rel('big'), many(), { expect: 'missing' })
    expect(anchor.stat(rel('big')).size).toBe(64 * chunk.length)
    await expect(
      anchor.writeStream(
        rel('half'),
        (function* () {
          yield chunk
          throw new Error('the source broke')
        })(),
      ),
    ).rejects.toThrow('the source broke')
    expect(readdirSync(inside)).toEqual(['big'])
  })

  test('stages a file whose name is known last', async () => {
    const { anchor, inside } = setUp()
    anchor.mkdirp(rel('blobs/ab/cd'))
    const staged = anchor.stage(rel('blobs'))
    await staged.write(Buffer.from('content'))
    expect(staged.size).toBe(7)
    expect(readdirSync(join(inside, 'blobs'))).toHaveLength(2)
    await staged.commit(rel('blobs/ab/cd/ef'), { expect: 'missing' })
    await staged.abort()
    await expect(staged.write(Buffer.from('more'))).rejects.toThrow(
      'this staged file was committed or aborted',
    )
    expect(readFileSync(join(inside, 'blobs/ab/cd/ef'), 'utf8')).toBe('content')
    const dropped = anchor.stage(rel('blobs'))
    const writing = dropped.write(chunkOf(1 << 20))
    await expect(dropped.write(chunkOf(1))).rejects.toThrow(
      'a staged file does one thing at a time: await the last call',
    )
    await dropped.abort()
    await writing
    expect(readdirSync(join(inside, 'blobs'))).toEqual(['ab'])
  })

  test('a temporary file that was swept away loses to an error', async () => {
    const { anchor, inside } = setUp()
    const staged = anchor.stage(ROOT)
    for (const name of readdirSync(inside)) anchor.unlink(rel(name))
    await expect(staged.commit(rel('f'))).rejects.toThrow(
      'cannot write f: it was moved or replaced meanwhile',
    )
    expect(readdirSync(inside)).toEqual([])
  })

  test('appends, reads back and cuts a torn end off', () => {
    const { anchor, inside } = setUp()
    const log = anchor.openAppend(rel('log'), { mode: 0o600 })
    log.append(Buffer.from('one\ntwo\nthr'))
    log.sync()
    expect(log.statNow()).toMatchObject({ size: 11, mode: 0o600 })
    log.truncate(8)
    log.append(Buffer.from('three\n'))
    log.close()
    expect(readFileSync(join(inside, 'log'), 'utf8')).toBe('one\ntwo\nthree\n')
    const again = anchor.openAppend(rel('log'))
    expect(again.readAll().toString()).toBe('one\ntwo\nthree\n')
    again.close()
  })

  test('names of any kind: newline, 255 bytes, not UTF-8', () => {
    const { anchor, inside } = setUp()
    const names = ['a\nb', 'n'.repeat(255), 'ü'.repeat(127), ' ', '-rf', '...', '\ufffd', 'x (deleted)']
    for (const name of names) {
      anchor.mkdir(rel(name))
      anchor.createExclusive(rel(`${name}/f`), name)
      anchor.rename(rel(`${name}/f`), rel(`${name}/${name}`))
      expect(anchor.readFile(rel(`${name}/${name}`)).toString()).toBe(name)
    }
    const bytes = Buffer.from([0x66, 0xff, 0x6f])
    writeFileSync(Buffer.concat([Buffer.from(`${inside}/`), bytes]), '')
    const listed = anchor.list(ROOT)
    expect(listed.filter((entry) => entry.bytes)).toEqual([{ bytes, kind: 'file' }])
    expect(listed.flatMap((entry) => entry.name ?? []).sort()).toEqual(names.sort())
    const walked = [...anchor.walk()].filter((entry) => entry.path === undefined)
    expect(walked.map(({ parent, bytes: name, kind }) => ({ parent, name, kind }))).toEqual([
      { parent: '.', name: bytes, kind: 'file' },
    ])
    expect(() => walked[0]?.open()).toThrow('an entry whose name is not UTF-8 cannot be opened')
    symlinkSync(bytes, join(inside, 'text'))
    expect(refusal(() => anchor.readlink(rel('text')))).toEqual({
      code: 'FILE_INVALID',
      message: 'cannot look at text: it points to a name that is not UTF-8',
    })
  })

  test('makes directories with their parents, and only where there are none', () => {
    const { anchor, inside } = setUp()
    anchor.mkdirp(rel('a/b/c'), { mode: 0o700 })
    anchor.mkdirp(rel('a/b/c'))
    anchor.mkdirp(ROOT)
    expect(statSync(join(inside, 'a/b')).mode & 0o777).toBe(0o700)
    anchor.rmdir(rel('a/b/c'))
    expect(readdirSync(join(inside, 'a/b'))).toEqual([])
  })

  test('a directory that is replaced is not taken for the old one', () => {
    const { anchor, inside, outside } = setUp()
    mkdirSync(join(inside, 'a/b'), { recursive: true })
    writeFileSync(join(inside, 'a/b/f'), 'old')
    expect(anchor.readFile(rel('a/b/f')).toString()).toBe('old')
    anchor.rename(rel('a/b'), rel('a/gone'))
    mkdirSync(join(inside, 'a/b'))
    expect(refusal(() => anchor.readFile(rel('a/b/f'))).code).toBe('FILE_NOT_FOUND')
    writeFileSync(join(inside, 'a/b/f'), 'new')
    expect(anchor.readFile(rel('a/b/f')).toString()).toBe('new')
    execFileSync('mv', [join(inside, 'a'), join(outside, 'a')])
    expect(refusal(() => anchor.readFile(rel('a/b/f'))).message).toBe('cannot read a/b/f: a does not exist')
    symlinkSync(join(outside, 'a'), join(inside, 'a'))
    expect(refusal(() => anchor.readFile(rel('a/b/f'))).code).toBe('FILE_IS_LINK')
  })

  test('a string that was only cast to a path does not climb out', () => {
    const { anchor, inside, outside } = setUp()
    writeFileSync(join(outside, 'f'), 'secret')
    mkdirSync(join(inside, 'd'))
    for (const path of [
      '../outside/f',
      'd/../../outside/f',
      `${outside}/f`,
      'd//f',
      'd/./f',
      '..',
      'd/..',
      '',
    ]) {
      const cast = path as RelPath
      for (const act of [
        () => anchor.readFile(cast),
        () => anchor.writeFile(cast, 'x'),
        () => anchor.stage(cast),
        () => anchor.unlink(cast),
        () => anchor.list(cast),
        () => anchor.mkdirp(cast),
        () => anchor.rename(rel('d'), cast),
      ])
        expect(refusal(act).code, path).toBe('FILE_INVALID')
    }
    expect(readdirSync(outside)).toEqual(['f'])
    expect(readdirSync(inside)).toEqual(['d'])
  })

  test('a closed anchor does nothing more', () => {
    const { anchor } = setUp()
    anchor[Symbol.dispose]()
    anchor.close()
    expect(() => anchor.readFile(rel('f'))).toThrow('this anchor is closed')
  })

  test('opens no anchor through a link', () => {
    const { inside, outside } = setUp()
    mkdirSync(join(outside, 'd'))
    symlinkSync(outside, join(inside, 'l'))
    const before = openHandles()
    for (const path of ['l', 'l/d', 'none', 'none/x']) expect(() => open(join(inside, path))).toThrow()
    expect(openHandles()).toBe(before)
    expect(lstatSync(join(inside, 'l')).isSymbolicLink()).toBe(true)
  })

  test('makes links, whose text it does not look at', () => {
    const { anchor } = setUp()
    anchor.symlink(rel('l'), '/nowhere at all')
    expect(anchor.readlink(rel('l'))).toBe('/nowhere at all')
    expect(refusal(() => anchor.symlink(rel('l'), 'x')).message).toBe('cannot link l: it already exists')
  })
})

const isLink = (verb: string, path: string, at: string): object => ({
  code: 'FILE_IS_LINK',
  message: `cannot ${verb} ${path}: ${at} is a symbolic link, and links are not followed`,
})

const cannotWriteF = (because: string): string => `cannot write f: it ${because}`

const chunkOf = (size: number): Buffer => Buffer.alloc(size)
