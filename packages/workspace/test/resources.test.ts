import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { parseWorkspaceUri, workspaceUri } from '@cordon/policy'
import {
  type About,
  type AttachContext,
  attachContent,
  AttachError,
  attachPath,
  Blobs,
  checksum,
  contentType,
  createConversation,
  Deliveries,
  externalUri,
  openConversation,
  parseExternalUri,
  refreshResource,
  type Resource,
  type Shelf,
} from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

interface Scene {
  readonly base: string
  readonly root: string
  readonly shelf: Shelf
  readonly blobs: Blobs
  readonly context: AttachContext
}

async function scene(): Promise<Scene> {
  const { base, workspace } = await freshWorkspace()
  mkdirSync(join(base, 'home/Downloads-secret'), { recursive: true })
  mkdirSync(join(base, 'home/Desktop'))
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const blobs = new Blobs(shelf)
  const context = { workspace, cwd: workspace.root, store: blobs.shared }
  return { base, root: workspace.root, shelf, blobs, context }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

test('RFD D03 URI construction: the hash of the canonical parent directory, the name verbatim', async () => {
  const { base, context, blobs } = await scene()
  const path = join(base, 'home/Downloads-secret/Q3 #report?.pdf')
  writeFileSync(path, '%PDF-1.7 content')
  const [resource] = await attachPath('~/Downloads-secret/Q3 #report?.pdf', context)
  const directory = sha256(join(base, 'home/Downloads-secret'))
  expect(resource).toEqual({
    uri: `external:${directory}/Q3 #report?.pdf`,
    mimeType: 'application/pdf',
    blob: { $blob: sha256('%PDF-1.7 content'), size: 16 },
    name: 'Q3 #report?.pdf',
  })
  expect(parseExternalUri(resource!.uri)).toEqual({ directory, name: 'Q3 #report?.pdf' })
  // Snapshot: it survives its source.
  rmSync(path)
  expect((await blobs.read(resource!, 100)).toString()).toBe('%PDF-1.7 content')
})

test('SPEC 6.3 inside is rooted at the workspace, however it was reached; through a mount is outside', async () => {
  const { base, root, context } = await scene()
  mkdirSync(join(root, 'src'))
  writeFileSync(join(root, 'src/ä b#1.md'), '# hi')
  symlinkSync('ä b#1.md', join(root, 'src/link.md'))
  symlinkSync(join(base, 'home/Desktop'), join(root, 'mount'))
  writeFileSync(join(base, 'home/Desktop/x.txt'), 'x')
  const uriOf = async (input: string, cwd = root): Promise<string> =>
    (await attachPath(input, { ...context, cwd }))[0]!.uri
  const inside = 'file:///src/%C3%A4%20b%231.md'
  expect(await uriOf('src/ä b#1.md')).toBe(inside)
  expect(await uriOf('./link.md', join(root, 'src'))).toBe(inside)
  expect(await uriOf(`${root}/src/../src/ä b#1.md`, '/')).toBe(inside)
  expect(parseWorkspaceUri(inside)).toBe('src/ä b#1.md')
  expect(await uriOf('mount/x.txt')).toBe(externalUri(join(base, 'home/Desktop/x.txt')))
})

test('RFD D03 the deduplication table, by row', async () => {
  const { base, blobs, context } = await scene()
  const attach = async (input: string): Promise<Resource> => (await attachPath(input, context))[0]!
  const [downloads, desktop] = ['~/Downloads-secret/report.txt', '~/Desktop/report.txt']
  const write = (where: string, text: string): void =>
    writeFileSync(where.replace('~', join(base, 'home')), text)
  write(downloads, 'one')
  write(desktop, 'one')
  const deliveries = new Deliveries()
  const first = await attach(downloads)
  expect(deliveries.deliver(first, 1)).toEqual({ kind: 'full', resource: first })
  // Same file, attached twice, content unchanged: yes, yes, dedup.
  expect(deliveries.deliver(await attach(downloads), 2)).toEqual({
    kind: 'reference',
    uri: first.uri,
    text: `[${first.uri} is unchanged; its content is in turn 1]`,
  })
  expect(deliveries.deliver(await attach(downloads), 1)).toMatchObject({
    text: `[${first.uri} is unchanged; its content is earlier in this turn]`,
  })
  // Same filename, different directories: other URI, no dedup, though the content is the same.
  const other = await attach(desktop)
  expect([other.uri === first.uri, checksum(other) === checksum(first)]).toEqual([false, true])
  expect(deliveries.deliver(other, 2)).toEqual({ kind: 'full', resource: other })
  // Same file, attached twice, content changed: same URI, other checksum, no dedup; both are kept.
  write(downloads, 'two')
  const changed = await attach(downloads)
  expect([changed.uri === first.uri, checksum(changed) === checksum(first)]).toEqual([true, false])
  expect(deliveries.deliver(changed, 3)).toEqual({ kind: 'full', resource: changed })
  expect((await blobs.read(first, 9)).toString()).toBe('one')
  expect((await blobs.read(changed, 9)).toString()).toBe('two')
  // Same file, different machines: another parent directory, another URI.
  expect(externalUri('/Users/jean/Downloads/report.txt')).not.toBe(
    externalUri('/home/ann/Downloads/report.txt'),
  )
})

test('inline and kept content have the same checksum', () => {
  expect(checksum({ uri: 'x', text: 'abc' })).toBe(sha256('abc'))
  expect(checksum({ uri: 'x', blob: Buffer.from('abc').toString('base64') })).toBe(sha256('abc'))
  expect(checksum({ uri: 'x' })).toBe(sha256(''))
})

test('privacy: after attaching from outside, no byte under the workspace names where it was', async () => {
  const { base, root, shelf, context } = await scene()
  const secret = join(base, 'home/Downloads-secret/Kunde-Meyer')
  mkdirSync(secret)
  writeFileSync(join(secret, 'report.txt'), 'the content')
  const ref = await createConversation(shelf, { keeping: 'shared' })
  const writer = await openConversation(shelf, ref, { wait: 0 })
  const resources = await attachPath(`${secret}/report.txt`, context)
  await writer.append([{ kind: 'request', at: 't', text: 'Summarize', resources }])
  await writer.close()
  const seen = readdirSync(root, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
    const file = join(root, path)
    if (!statSync(file).isFile()) return [path]
    const bytes = readFileSync(file)
    return [
      path,
      bytes.toString('latin1'),
      ...(path.endsWith('.gz') ? [gunzipSync(bytes).toString('latin1')] : []),
    ]
  })
  const parts = secret
    .slice(base.length)
    .split('/')
    .filter((name) => name !== '')
  expect(parts).toEqual(['home', 'Downloads-secret', 'Kunde-Meyer'])
  for (const part of [...parts, base]) expect(seen.filter((text) => text.includes(part))).toEqual([])
  expect(seen.some((text) => text.includes('the content'))).toBe(true)
})

test('a directory is its files, sorted, without links, .git, .cordon and what is ignored', async () => {
  const { root, base, context } = await scene()
  mkdirSync(join(root, 'd/sub/.git'), { recursive: true })
  mkdirSync(join(root, 'd/node_modules/x'), { recursive: true })
  const files = ['d/b.txt', 'd/a.txt', 'd/sub/c.txt', 'd/sub/keep.log', 'd/x.log', 'd/sub/.git/config']
  for (const name of [...files, 'd/node_modules/x/i.js']) writeFileSync(join(root, name), name)
  symlinkSync(join(base, 'home'), join(root, 'd/out'))
  writeFileSync(join(root, '.gitignore'), 'node_modules/\n*.log\n')
  writeFileSync(join(root, 'd/sub/.gitignore'), '!keep.log\n')
  const urisOf = async (input: string): Promise<string[]> =>
    (await attachPath(input, context)).map(({ uri }) => uri)
  const expected = ['d/a.txt', 'd/b.txt', 'd/sub/.gitignore', 'd/sub/c.txt', 'd/sub/keep.log']
  expect(await urisOf('d')).toEqual(expected.map((path) => `file:///${path}`))
  expect(await urisOf('.')).toEqual(['file:///.gitignore', ...expected.map((path) => `file:///${path}`)])
  // A file that is named is meant, also if it is ignored.
  expect(await urisOf('d/x.log')).toEqual(['file:///d/x.log'])
})

test('a pattern finds files, unless it is the name of one', async () => {
  const { root, base, context } = await scene()
  mkdirSync(join(root, 'src/deep'), { recursive: true })
  for (const name of ['src/a.ts', 'src/deep/b.ts', 'src/c.md', 'src/[x].ts'])
    writeFileSync(join(root, name), name)
  writeFileSync(join(base, 'home/Desktop/n.md'), 'n')
  const urisOf = async (input: string, cwd = root): Promise<string[]> =>
    (await attachPath(input, { ...context, cwd })).map(({ uri }) => uri)
  expect(await urisOf('src/**/*.ts')).toEqual([
    'file:///src/%5Bx%5D.ts',
    'file:///src/a.ts',
    'file:///src/deep/b.ts',
  ])
  expect(await urisOf('*.{ts,md}', join(root, 'src'))).toEqual([
    'file:///src/%5Bx%5D.ts',
    'file:///src/a.ts',
    'file:///src/c.md',
  ])
  expect(await urisOf('src/[x].ts')).toEqual(['file:///src/%5Bx%5D.ts'])
  expect(await urisOf('~/Desktop/*.md')).toEqual([externalUri(join(base, 'home/Desktop/n.md'))])
  // A pattern looks only where it can match: not below, and not at names that are nothing to it.
  spawnSync('mkfifo', [join(root, 'src/deep/fifo')])
  mkdirSync(join(root, 'src/closed'))
  writeFileSync(Buffer.concat([Buffer.from(`${root}/src/closed/`), Buffer.from([0xff, 0x41])]), 'x')
  writeFileSync(Buffer.concat([Buffer.from(`${root}/src/`), Buffer.from([0xff, 0x42])]), 'x')
  expect(await urisOf('src/*.md')).toEqual(['file:///src/c.md'])
  expect(await urisOf('*/c.md')).toEqual(['file:///src/c.md'])
  await expect(urisOf('src/closed/*')).rejects.toThrow(
    `cannot attach src/closed/*: the name $'\\xffA' in ${root}/src/closed is not valid UTF-8`,
  )
  await expect(urisOf('nowhere/*.ts')).rejects.toThrow('cannot attach nowhere/*.ts: nothing matches it')
})

test('an ignore file that cannot be read attaches nothing', async () => {
  const { root, context } = await scene()
  mkdirSync(join(root, 'd'))
  writeFileSync(join(root, 'd/a'), '')
  symlinkSync('/etc/hostname', join(root, 'd/.gitignore'))
  await expect(attachPath('d', context)).rejects.toThrow(
    `cannot attach d: an ignore file in ${root}/d: it is a symbolic link`,
  )
})

test('what cannot be attached is a clear error, and nothing hangs', async () => {
  const { root, context } = await scene()
  mkdirSync(join(root, 'empty'))
  spawnSync('mkfifo', [join(root, 'fifo')])
  writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0xff, 0x41])]), 'x')
  symlinkSync('loop', join(root, 'loop'))
  const errorOf = async (input: string): Promise<string> =>
    attachPath(input, context).then(
      () => 'attached',
      (error: unknown) => (error as Error).message,
    )
  expect(await errorOf('missing')).toBe('cannot attach missing: it does not exist')
  expect(await errorOf('')).toBe('cannot attach "": the path is empty')
  expect(await errorOf('a\0b')).toBe('cannot attach "a\\u0000b": the path contains a NUL byte')
  expect(await errorOf('empty')).toBe('cannot attach empty: there is no file in it that is not ignored')
  expect(await errorOf('fifo')).toBe('cannot attach fifo: it is neither a file nor a directory')
  expect(await errorOf('/dev/null')).toBe('cannot attach /dev/null: it is neither a file nor a directory')
  expect(await errorOf('loop')).toBe('cannot attach loop: its links loop')
  expect(await errorOf('.')).toBe(`cannot attach .: the name $'\\xffA' in ${root} is not valid UTF-8`)
})

test('content that is no file: MIME by content first, the source chooses among texts, nothing is lost', async () => {
  const { blobs, context } = await scene()
  const keep = async (bytes: Buffer, about: About): Promise<[string | undefined, boolean]> => {
    const resource = await attachContent(piecesOf(bytes), about, context.store)
    return [resource.mimeType, (await blobs.read(resource, 1e7)).equals(bytes)]
  }
  const uri = 'https://a.example/x'
  const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(300_000, 7)])
  expect(await keep(png, { uri, textType: 'text/html' })).toEqual(['image/png', true])
  expect(await keep(Buffer.from('<p>'), { uri, textType: 'text/html' })).toEqual(['text/html', true])
  expect(await keep(Buffer.from('{}'), { uri, name: 'a.json', textType: 'text/html' })).toEqual([
    'application/json',
    true,
  ])
  expect(await keep(Buffer.alloc(0), { uri })).toEqual(['text/plain', true])
  const late = Buffer.concat([Buffer.alloc(70_000, 'a'), Buffer.from([0xff])])
  expect(await keep(late, { uri })).toEqual(['text/plain', true])
})

/** As a socket delivers them, in memory that is used again. */
async function* piecesOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const memory = Buffer.alloc(1000)
  for (let at = 0; at < bytes.length; at += memory.length)
    yield memory.subarray(0, bytes.copy(memory, 0, at, at + memory.length))
}

test('an interrupted snapshot throws the reason and leaves no temporary file', async () => {
  const { root, context } = await scene()
  writeFileSync(join(root, 'large'), Buffer.alloc(8 * 1024 * 1024, 1))
  const stopped = new AbortController()
  stopped.abort(new AttachError('large', 'stopped'))
  await expect(attachPath('large', { ...context, signal: stopped.signal })).rejects.toThrow('stopped')
  expect(readdirSync(root).toSorted()).toEqual(['.cordon', 'large'])
  expect(readdirSync(join(root, '.cordon'))).toEqual(['id'])
})

test('refresh_resource: the workspace file as it is now; external and escaping ones are refused unread', async () => {
  const { base, root, context, blobs } = await scene()
  writeFileSync(join(root, 'a.txt'), 'one')
  const [first] = await attachPath('a.txt', context)
  writeFileSync(join(root, 'a.txt'), 'two')
  const again = await refreshResource(first!.uri, context)
  expect((await blobs.read(again, 10)).toString()).toBe('two')
  writeFileSync(join(base, 'home/key'), 'secret')
  const external = externalUri(join(base, 'home/key'))
  await expect(refreshResource(external, context)).rejects.toThrow(
    `cannot refresh "${external}": it was attached from outside the workspace and is kept as it was then; the file may ` +
      'have moved, been deleted, or not exist on this machine. Attach it again to add its present content.',
  )
  rmSync(join(root, 'a.txt'))
  symlinkSync(join(base, 'home/key'), join(root, 'a.txt'))
  await expect(refreshResource('file:///a.txt', context)).rejects.toThrow(
    'cannot refresh "file:///a.txt": the path now leads to something else',
  )
  for (const uri of ['file:///../home/key', 'file:////etc/passwd', 'file:///%2e%2e/home/key'])
    await expect(refreshResource(uri, context)).rejects.toMatchObject({
      code: expect.stringMatching(/^PATH_/) as string,
    })
  await expect(refreshResource('https://x/', context)).rejects.toMatchObject({ code: 'NOT_REFRESHABLE' })
  expect(blobs.shared.has(sha256('secret') as never)).toBe(false)
})

test.for([
  ['\x89PNG\r\n\x1a\n rest', 'notes.txt', 'image/png', 'blob'],
  ['%PDF-1.4', 'x', 'application/pdf', 'blob'],
  ['RIFF1234WEBPVP8 ', 'a.webp', 'image/webp', 'blob'],
  [
    'PK\x03\x04....',
    'a.docx',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    'blob',
  ],
  ['PK\x03\x04....', 'a', 'application/zip', 'blob'],
  ['a\0b', 'a.txt', 'application/octet-stream', 'blob'],
  ['\xff\xfe\xfd', 'a.txt', 'application/octet-stream', 'blob'],
  ['<?xml version="1.0"?><svg xmlns="…">', 'a', 'image/svg+xml', 'text'],
  ['{}', 'a.json', 'application/json', 'text'],
  ['hello', 'a.PNG', 'text/plain', 'text'],
  ['', 'empty.md', 'text/markdown', 'text'],
])('MIME by content: %j called %s is %s', ([content, name, mimeType, form]) => {
  expect(contentType(Buffer.from(content!, 'latin1'), name!)).toEqual({ mimeType, form })
})

test('a long text whose head ends inside a character is still text', () => {
  expect(contentType(Buffer.from(`a${'ä'.repeat(40_000)}`).subarray(0, 65_536), 'x').form).toBe('text')
  expect(workspaceUri('a?b%c')).toBe('file:///a%3Fb%25c')
})
