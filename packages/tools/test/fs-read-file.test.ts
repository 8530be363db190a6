import {
  chmodSync,
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { failed, runAsNobody, showed, Workspace } from './support/workspace.ts'

const blob = (uri: string, mimeType: string, data: string) => ({
  type: 'success',
  content: [{ type: 'resource', resource: { uri, mimeType, blob: data } }],
})

const bytesRead = (): number => Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1])

const LINES = 'one\ntwo\nthree\nfour\n'

test('a whole file, with its workspace URI and type', async () => {
  const workspace = new Workspace({ 'a b/ü.md': '# hi\n' })
  expect(await workspace.run('fs_read_file', { path: 'a b/ü.md' })).toEqual(
    showed('file:///a%20b/%C3%BC.md', '# hi\n', undefined, 'text/markdown'),
  )
})

test('a small file is read once: what is shown is what was seen to be text', async () => {
  const text = `${'x'.repeat(79)}\n`.repeat(100)
  const workspace = new Workspace({ a: text })
  await workspace.run('fs_read_file', { path: 'a' })
  const before = bytesRead()
  expect(await workspace.run('fs_read_file', { path: 'a' })).toEqual(showed('file:///a', text))
  expect(bytesRead() - before).toBeLessThan(2 * text.length)
})

test('what is wrong is said of the name that the caller used, and where it leads', async () => {
  const workspace = new Workspace({ 'src/a': 'x' })
  symlinkSync('src', `${workspace.root}/ld`)
  symlinkSync('nope/x', `${workspace.root}/dangling`)
  const read = (path: string) => workspace.run('fs_read_file', { path })
  expect(await read('ld/zz')).toEqual(failed('cannot open ld/zz: it does not exist (ld/zz leads to src/zz)'))
  expect(await read('dangling')).toEqual(
    failed('cannot open dangling: nope does not exist (dangling leads to nope/x)'),
  )
  expect(await read('src/zz')).toEqual(failed('cannot open src/zz: it does not exist'))
  expect(
    await workspace.run('fs_modify_file', { edits: [{ path: 'ld/zz', old: 'a', new: 'b' }] }),
  ).toMatchObject({ message: 'cannot open ld/zz: it does not exist (ld/zz leads to src/zz)' })
})

test('lines, head and tail', async () => {
  const workspace = new Workspace({ a: LINES, open: 'one\ntwo' })
  const read = (args: object) => workspace.run('fs_read_file', { path: 'a', ...args })
  expect(await read({ start_line: 2, end_line: 3 })).toEqual(showed('file:///a#line=2,3', 'two\nthree\n'))
  expect(await read({ start_line: 4 })).toEqual(showed('file:///a#line=4,4', 'four\n'))
  expect(await read({ end_line: 99 })).toEqual(showed('file:///a', LINES))
  expect(await read({ head: 1 })).toEqual(showed('file:///a#line=1,1', 'one\n'))
  expect(await read({ tail: 2 })).toEqual(showed('file:///a#tail=2', 'three\nfour\n'))
  expect(await read({ tail: 9 })).toEqual(showed('file:///a', LINES))
  expect(await read({ path: 'open', tail: 1 })).toEqual(showed('file:///open#tail=1', 'two'))
  expect(await read({ start_line: 2, end_line: 3, line_numbers: true })).toEqual(
    showed('file:///a#line=2,3', '2\ttwo\n3\tthree\n'),
  )
  expect(await read({ start_line: 6 })).toEqual(failed('the file has fewer than 6 lines'))
})

test('a range of lines over many chunks is the same as slicing', async () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => `line ${i + 1} ${'x'.repeat(i % 40)}\n`)
  const workspace = new Workspace({ big: lines.join('') })
  for (const [start_line, end_line] of [
    [1, 3],
    [2500, 2600],
    [29_990, 30_000],
    [14_000, 17_000],
  ] as const) {
    const result = await workspace.run('fs_read_file', { path: 'big', start_line, end_line })
    expect(result).toEqual(
      showed(`file:///big#line=${start_line},${end_line}`, lines.slice(start_line - 1, end_line).join('')),
    )
  }
  const tail = await workspace.run('fs_read_file', { path: 'big', tail: 5000 })
  expect(tail).toEqual(showed('file:///big#tail=5000', lines.slice(-5000).join('')))
})

test('what is cut is said, with where to go on', async () => {
  const workspace = new Workspace({ a: LINES, long: 'ä'.repeat(50) })
  expect(await workspace.run('fs_read_file', { path: 'a', max_bytes: 9 })).toEqual(
    showed('file:///a#line=1,2', 'one\ntwo\n', 'Cut after line 2 (9 bytes); go on with start_line = 3.'),
  )
  expect(await workspace.run('fs_read_file', { path: 'long', max_bytes: 5 })).toEqual(
    showed(
      'file:///long#line=1,1',
      'ää',
      'Cut in line 1, which is longer than 5 bytes; go on with start_byte = 4.',
    ),
  )
  expect(await workspace.run('fs_read_file', { path: 'a', tail: 4, max_bytes: 7 })).toEqual(
    showed(
      'file:///a#tail=1',
      'four\n',
      'Cut at the front to 7 bytes: 1 line shown, from start_byte = 14 on.',
    ),
  )
})

test('bytes: whole characters of text, and where to go on', async () => {
  const workspace = new Workspace({ a: 'aäöü' })
  expect(await workspace.run('fs_read_file', { path: 'a', start_byte: 2, length: 4 })).toEqual(
    showed('file:///a#byte=2,5', 'ö', 'Bytes 2 to 4 of 7. Cut to 3 bytes; go on with start_byte = 5.'),
  )
  expect(await workspace.run('fs_read_file', { path: 'a', start_byte: 1, max_bytes: 2 })).toEqual(
    showed('file:///a#byte=1,3', 'ä', 'Bytes 1 to 2 of 7. Cut to 2 bytes; go on with start_byte = 3.'),
  )
  expect(await workspace.run('fs_read_file', { path: 'a', start_byte: 8 })).toEqual(
    failed('the file has only 7 bytes'),
  )
})

test('encodings: marks, UTF-16, and base64 for everything else', async () => {
  const workspace = new Workspace({
    bom: '\ufeffone\ntwo\n',
    'le.txt': Buffer.from('\ufeffone\ntwö\n', 'utf16le'),
    'be.txt': Buffer.from('\ufeffhi', 'utf16le').swap16(),
    'a.png': new Uint8Array([0x89, 0x50, 0, 1]),
    latin1: Buffer.from('gr\xfc\xdfe\n', 'latin1'),
    empty: '',
  })
  const read = (path: string, args: object = {}) => workspace.run('fs_read_file', { path, ...args })
  expect(await read('bom')).toEqual(showed('file:///bom', 'one\ntwo\n'))
  expect(await read('bom', { start_line: 2 })).toEqual(showed('file:///bom#line=2,2', 'two\n'))
  expect(await read('le.txt')).toEqual(showed('file:///le.txt', 'one\ntwö\n', 'Decoded from UTF-16LE.'))
  expect(await read('le.txt', { start_line: 2 })).toEqual(
    showed('file:///le.txt#line=2,2', 'twö\n', 'Decoded from UTF-16LE.'),
  )
  expect(await read('be.txt')).toEqual(showed('file:///be.txt', 'hi', 'Decoded from UTF-16BE.'))
  expect(await read('empty')).toEqual(showed('file:///empty', ''))
  expect(await read('a.png')).toEqual(blob('file:///a.png', 'image/png', 'iVAAAQ=='))
  expect(await read('latin1')).toEqual(blob('file:///latin1', 'application/octet-stream', 'Z3L832UK'))
  expect(await read('a.png', { head: 1 })).toEqual(failed('a.png is not text: use start_byte and length'))
})

test('SPEC 1.8 read is checked, and the explanation reaches the caller', async () => {
  const workspace = new Workspace({ 'secret/key': 'x', a: 'a' })
  const access = { fs: [{ path: '.', read: true }, { path: 'secret' }] }
  expect(await workspace.run('fs_read_file', { path: 'secret/key' }, { access })).toEqual(
    failed(
      [
        'access denied: read on secret/key',
        '  because: the rule secret withholds it',
        '  granted: . (read)',
        '  to allow it:',
        `    cordon config set conversation.tools.fs_read_file.access.fs '+{ path = "secret/key", read = true }'`,
      ].join('\n'),
      { capability: 'read', target: 'secret/key' },
    ),
  )
  symlinkSync('secret/key', workspace.path('alias'))
  expect(await workspace.run('fs_read_file', { path: 'alias' }, { access })).toMatchObject({ type: 'error' })
  symlinkSync(workspace.outside, workspace.path('out'))
  expect(await workspace.run('fs_read_file', { path: 'out/x' })).toEqual(
    failed('path escapes the workspace: out/x'),
  )
  expect(await workspace.run('fs_read_file', { path: '/etc/passwd' })).toEqual(
    failed('path is outside the workspace: /etc/passwd (absolute paths are not permitted)'),
  )
})

test('bad input is a typed error', async () => {
  const workspace = new Workspace({ a: 'a' })
  mkdirSync(workspace.path('dir'))
  execFileSync('mkfifo', [workspace.path('fifo')])
  const read = (args: unknown) => workspace.run('fs_read_file', args)
  expect(await read({ path: 7, head: 0, startLine: 1 })).toEqual(
    failed(
      'invalid arguments: path: expected a string, got 7; head: must be at least 1; ' +
        'unknown name "startLine"; did you mean start_line?',
    ),
  )
  expect(await read('junk')).toEqual(failed('invalid arguments: expected an object, got the string "junk"'))
  expect(await read({})).toEqual(failed('invalid arguments: path: is required'))
  expect(await read({ path: 'a', head: 1, tail: 1 })).toEqual(
    failed('choose one of: start_line and end_line, head, tail, start_byte and length'),
  )
  expect(await read({ path: 'a', start_line: 3, end_line: 2 })).toEqual(
    failed('end_line is before start_line'),
  )
  expect(await read({ path: 'a', tail: 1, line_numbers: true })).toEqual(
    failed('line_numbers needs lines counted from the beginning: use start_line and end_line, or head'),
  )
  expect(await read({ path: 'x\0' })).toEqual(failed('invalid path: "x\\u0000" (it contains a NUL byte)'))
  expect(await read({ path: 'p/'.repeat(5000) })).toMatchObject({ type: 'error', transient: false })
  expect(await read({ path: 'dir' })).toEqual(failed('cannot open dir: it is not a regular file (directory)'))
  expect(await read({ path: 'fifo' })).toEqual(failed('cannot open fifo: it is not a regular file (fifo)'))
  expect(await read({ path: 'none/x' })).toEqual(failed('cannot open none/x: none does not exist'))
})

test('no permission, as an ordinary user', () => {
  const workspace = new Workspace({ a: 'a' })
  chmodSync(workspace.path('a'), 0o000)
  expect(runAsNobody(workspace, 'fs_read_file', { path: 'a' })).toEqual(
    failed('cannot open a: it is not permitted to this user'),
  )
})

test('a file that changes while it is read is said to have', async () => {
  const workspace = new Workspace({ log: 'x\n'.repeat(2_000_000) })
  const writer = spawn('sh', ['-c', 'while :; do echo x >> log; done'], { cwd: workspace.root })
  try {
    for (;;) {
      const result = await workspace.run('fs_read_file', {
        path: 'log',
        start_line: 1_900_000,
        end_line: 1_900_001,
      })
      const [, note] = result.type === 'success' ? result.content : []
      if (note === undefined) continue
      expect(note).toEqual({ type: 'text', text: 'The file changed while it was read.' })
      break
    }
  } finally {
    const gone = once(writer, 'exit')
    writer.kill('SIGKILL')
    await gone
  }
})

test('a range of a 1 GiB file is read without reading the rest', async () => {
  const workspace = new Workspace()
  const fd = openSync(workspace.path('big'), 'w')
  ftruncateSync(fd, 1024 ** 3)
  writeSync(fd, 'first line\n', 0)
  writeSync(fd, 'here', 900_000_000)
  writeSync(fd, '\nlast line\n', 1024 ** 3 - 11)
  closeSync(fd)
  const before = bytesRead()
  const result = await workspace.run('fs_read_file', { path: 'big', start_byte: 900_000_000, length: 4 })
  await workspace.run('fs_read_file', { path: 'big', head: 1 })
  await workspace.run('fs_read_file', { path: 'big', tail: 1 })
  expect(bytesRead() - before).toBeLessThan(1024 * 1024)
  expect(result).toEqual({
    type: 'success',
    content: [
      {
        type: 'resource',
        resource: {
          uri: 'file:///big#byte=900000000,900000004',
          mimeType: 'application/octet-stream',
          blob: Buffer.from('here').toString('base64'),
        },
      },
      { type: 'text', text: 'Bytes 900000000 to 900000003 of 1073741824.' },
    ],
  })
})

test('SPEC 3.1 through a mount: its files by the mount’s name, its escapes refused', async () => {
  const workspace = new Workspace({ a: 'a' })
  mkdirSync(`${workspace.outside}/lib`)
  writeFileSync(`${workspace.outside}/lib/x.txt`, 'x')
  symlinkSync(workspace.outside, workspace.path('fork'))
  symlinkSync('/etc', `${workspace.outside}/etc`)
  const rule = { path: 'fork', external: true, approved_target: workspace.outside, read: true }
  const access = { fs: [{ path: '.', read: true }, rule] }
  expect(await workspace.run('fs_read_file', { path: 'fork/lib/x.txt' }, { access })).toEqual(
    showed('file:///fork/lib/x.txt', 'x'),
  )
  expect(await workspace.run('fs_read_file', { path: 'fork/etc/passwd' }, { access })).toEqual(
    failed('path escapes the workspace: fork/etc/passwd (it leaves the approved target of the mount fork)'),
  )
})

test('a line without an end is read piece by piece, from wherever it begins, and nothing is lost', async () => {
  const line = 'äb'.repeat(1000)
  const workspace = new Workspace({ a: `one\n${line}`, b: `${line}\n` })
  const read = async (args: object): Promise<{ text: string; note: string }> => {
    const result = await workspace.run('fs_read_file', { max_bytes: 700, ...args })
    const [block, note] = result.type === 'success' ? result.content : []
    const text = block?.type === 'resource' && 'text' in block.resource ? block.resource.text : ''
    return { text, note: note?.type === 'text' ? note.text : '' }
  }
  let { text, note } = await read({ path: 'a', start_line: 2 })
  for (let next = /start_byte = (\d+)/.exec(note); next; next = /go on with start_byte = (\d+)/.exec(note)) {
    const more = await read({ path: 'a', start_byte: Number(next[1]) })
    text += more.text
    note = more.note
  }
  expect(text).toBe(line)
  const wide = '\uFEFF' + 'ä🙂'.repeat(900)
  workspace.write('wide', Buffer.from(wide, 'utf16le'))
  let parts = await read({ path: 'wide' })
  let all = parts.text
  for (
    let next = /go on with start_byte = (\d+)/.exec(parts.note);
    next;
    next = /go on with start_byte = (\d+)/.exec(parts.note)
  ) {
    parts = await read({ path: 'wide', start_byte: Number(next[1]) })
    all += parts.text
  }
  expect(all).toBe(wide.slice(1))
  expect((await read({ path: 'b', tail: 1 })).text).toBe(`${line}\n`.slice(-(Math.floor(699 / 3) * 2) - 1))
})
