import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type BlobRef, Blobs, BlobReadError, type BlobStore, sweepBlobs } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

const MIB = 1024 * 1024

async function fresh(): Promise<{ blobs: Blobs; store: BlobStore; root: string }> {
  const { workspace } = await freshWorkspace()
  const blobs = new Blobs({ workspace, holder: HOLDER, now: () => new Date() })
  return { blobs, store: blobs.shared, root: workspace.root }
}

async function* pieces(content: Uint8Array, size = 70_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += size) yield content.subarray(at, at + size)
}

const sha256 = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex')

async function putPath(store: BlobStore, path: string): Promise<BlobRef> {
  const file = await open(path)
  try {
    return await store.putFile(file)
  } finally {
    await file.close()
  }
}

/** Everything under a directory but directories. */
const filesUnder = (dir: string): string[] =>
  existsSync(dir)
    ? readdirSync(dir, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
    : []

test.for([0, 1, 70_000, 3 * MIB + 17])(
  'SPEC 6.2 %i bytes come back as they went in, from a stream and a file',
  async (size) => {
    const { store, root } = await fresh()
    const content = randomBytes(size)
    const ref = await store.put(pieces(content))
    const hash = sha256(content)
    expect(ref).toEqual({ $blob: hash, size })
    const path = join(root, '.cordon/blobs', hash.slice(0, 2), hash.slice(2, 4), `${hash.slice(4)}.blob.gz`)
    expect(filesUnder(store.dir)).toEqual([path])
    expect(gunzipSync(readFileSync(path)).equals(content)).toBe(true)
    expect((await store.read(ref, size)).equals(content)).toBe(true)
    writeFileSync(join(root, 'f'), content)
    const second = await fresh()
    expect(await putPath(second.store, join(root, 'f'))).toEqual(ref)
    expect((await second.store.read(ref, size)).equals(content)).toBe(true)
  },
)

test('SPEC 6.2 content that is there is not written again, from a stream or a file', async () => {
  const { store, root } = await fresh()
  const content = randomBytes(2 * MIB)
  writeFileSync(join(root, 'f'), content)
  const ref = await putPath(store, join(root, 'f'))
  const before = statSync(store.pathOf(ref.$blob), { bigint: true })
  await putPath(store, join(root, 'f'))
  await store.put(pieces(content))
  const after = statSync(store.pathOf(ref.$blob), { bigint: true })
  expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs])
  expect(filesUnder(store.dir)).toHaveLength(1)
})

const damage: Record<string, (path: string, content: Buffer) => void> = {
  'other content under its name': (path, content) =>
    writeFileSync(path, gzipSync(Buffer.from(content).fill(content[0]! ^ 1, 0, 1))),
  'its end is missing': (path) => writeFileSync(path, readFileSync(path).subarray(0, -100)),
  'its beginning only, well packed': (path, content) =>
    writeFileSync(path, gzipSync(content.subarray(0, -1))),
  'more than it should be': (path, content) =>
    writeFileSync(path, gzipSync(Buffer.concat([content, content]))),
  'it unpacks to very much': (path) => writeFileSync(path, gzipSync(Buffer.alloc(8 * MIB))),
  'it is not packed': (path, content) => writeFileSync(path, content),
  'it is empty': (path) => writeFileSync(path, ''),
}

test.for(Object.keys(damage))('SPEC 6.2 verified on read: %s', async (how) => {
  const { store } = await fresh()
  const content = randomBytes(300_000)
  const ref = await store.put(pieces(content))
  damage[how]!(store.pathOf(ref.$blob), content)
  let received = 0
  const reading = (async () => {
    for await (const chunk of store.get(ref)) received += (chunk as Buffer).length
  })()
  await expect(reading).rejects.toThrow(
    `cannot read the blob ${ref.$blob}: its content is not what its name says; the file is damaged`,
  )
  expect(received).toBeLessThanOrEqual(ref.size)
  await expect(store.read(ref, MIB)).rejects.toBeInstanceOf(BlobReadError)
})

test.for(Object.keys(damage))('a damaged blob is repaired by keeping its content again: %s', async (how) => {
  const { store, root } = await fresh()
  const content = randomBytes(300_000)
  writeFileSync(join(root, 'f'), content)
  const putAgain = [
    () => putPath(store, join(root, 'f')),
    () => store.put(pieces(content)),
    async () => {
      await using batch = store.openBatch()
      await batch.add(content)
      await batch.commit()
    },
  ]
  const ref = await store.put(pieces(content))
  for (const put of putAgain) {
    damage[how]!(store.pathOf(ref.$blob), content)
    await put()
    expect((await store.read(ref, MIB)).equals(content)).toBe(true)
    expect(filesUnder(store.dir)).toEqual([store.pathOf(ref.$blob)])
  }
})

test('a large blob that a reader found damaged is repaired, too, and the note of it goes', async () => {
  const { store, root } = await fresh()
  const content = randomBytes(3 * MIB)
  writeFileSync(join(root, 'f'), content)
  const ref = await putPath(store, join(root, 'f'))
  const path = store.pathOf(ref.$blob)
  const packed = readFileSync(path)
  packed[MIB] = packed[MIB]! ^ 1
  writeFileSync(path, packed)
  await expect(store.read(ref, 4 * MIB)).rejects.toBeInstanceOf(BlobReadError)
  await putPath(store, join(root, 'f'))
  expect((await store.read(ref, 4 * MIB)).equals(content)).toBe(true)
  expect(filesUnder(store.dir)).toEqual([path])
})

test('a batch: nothing before the commit, all after it, each content once', async () => {
  const { store } = await fresh()
  const contents = Array.from({ length: 40 }, (_, i) => Buffer.from(`content ${i % 30}`))
  {
    await using batch = store.openBatch()
    for (const content of contents) await batch.add(content)
    expect(filesUnder(store.dir).filter((path) => path.endsWith('.blob.gz'))).toEqual([])
  }
  expect(readdirSync(store.dir)).toEqual([])
  await using batch = store.openBatch()
  const refs = []
  for (const content of contents) refs.push(await batch.add(content))
  await batch.commit()
  for (const [i, ref] of refs.entries()) expect((await store.read(ref, 100)).equals(contents[i]!)).toBe(true)
  expect(filesUnder(store.dir)).toHaveLength(30)
})

test('what a killed batch left is swept; a batch that is under way is not', async () => {
  const { workspace } = await freshWorkspace()
  const shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const store = new Blobs(shelf).shared
  await using batch = store.openBatch()
  await batch.add(Buffer.from('alive'))
  mkdirSync(join(store.dir, '.put-0123456789abcdef'))
  writeFileSync(join(store.dir, '.put-0123456789abcdef/half'), 'x')
  await sweepBlobs(shelf)
  await batch.commit()
  expect(filesUnder(store.dir)).toHaveLength(1)
})

test('a blob that is missing, a link, or larger than the reader wants is an error', async () => {
  const { blobs, store, root } = await fresh()
  const content = randomBytes(1000)
  const ref = await store.put(pieces(content))
  await expect(store.read(ref, 999)).rejects.toThrow(
    `cannot read the blob ${ref.$blob}: it is larger than 999 bytes`,
  )
  writeFileSync(join(root, 'elsewhere'), readFileSync(store.pathOf(ref.$blob)))
  rmSync(store.pathOf(ref.$blob))
  await expect(store.read(ref, 1000)).rejects.toThrow(`cannot read the blob ${ref.$blob}: it does not exist`)
  symlinkSync(join(root, 'elsewhere'), store.pathOf(ref.$blob))
  await expect(store.read(ref, 1000)).rejects.toThrow(
    `cannot read the blob ${ref.$blob}: it is a symbolic link`,
  )
  expect(() => blobs.get(ref)).toThrow(`cannot read the blob ${ref.$blob}: it is not in the blob store`)
  await store.put(pieces(content)) // and a link in its place does not count as being there
  expect((await blobs.read({ text: ref }, 1000)).equals(content)).toBe(true)
})

async function* failing(): AsyncGenerator<Uint8Array> {
  yield randomBytes(MIB)
  throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
}

test('a reference with the wrong size is not satisfied', async () => {
  const { store } = await fresh()
  const ref = await store.put(pieces(Buffer.from('abc')))
  for (const size of [0, 2, 4])
    await expect(store.read({ ...ref, size }, 10)).rejects.toThrow('its content is not what its name says')
})

test('a file that is known is read once', async () => {
  const { store, root } = await fresh()
  const size = 3 * MIB
  writeFileSync(join(root, 'f'), randomBytes(size))
  await putPath(store, join(root, 'f'))
  const real = await open(join(root, 'f'))
  let read = 0
  const counting = new Proxy(real, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'read') return (value as () => unknown).bind(target)
      return async (...args: Parameters<typeof target.read>) => {
        const result = await target.read(...args)
        read += result.bytesRead
        return result
      }
    },
  })
  await store.putFile(counting)
  await real.close()
  expect(read).toBe(size)
})

test('a source that fails leaves nothing behind', async () => {
  const { store, root } = await fresh()
  await expect(store.put(failing())).rejects.toThrow(`cannot keep the content in ${store.dir}: EIO`)
  expect(filesUnder(store.dir)).toEqual([])
  expect(filesUnder(join(root, '..', 'data')).filter((path) => path.includes('put-'))).toEqual([])
})

test('a linked blob directory is not written through', async () => {
  const { store, root } = await fresh()
  mkdirSync(join(root, 'outside'))
  symlinkSync(join(root, 'outside'), store.dir)
  await expect(store.put(pieces(randomBytes(10)))).rejects.toThrow(
    `cannot keep the content in ${store.dir}: it is a symbolic link`,
  )
  expect(filesUnder(join(root, 'outside'))).toEqual([])
})

test('a file that grows while it is put is kept as it was read, under the name of what was kept', async () => {
  const { store, root } = await fresh()
  const path = join(root, 'growing')
  writeFileSync(path, randomBytes(MIB))
  const real = await open(path)
  let reads = 0
  // Another program appends in the middle of the first reading.
  const growing = new Proxy(real, {
    get: (target, name) => {
      if (name === 'read' && ++reads === 2) writeFileSync(path, randomBytes(MIB), { flag: 'a' })
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
  const ref = await store.putFile(growing)
  await real.close()
  expect(sha256(await store.read(ref, 4 * MIB))).toBe(ref.$blob)
})

test('SPEC 6.2 inline text and blob are readable', async () => {
  const { blobs } = await fresh()
  expect((await blobs.read({ text: 'häll' }, 100)).toString()).toBe('häll')
  expect((await blobs.read({ blob: 'AAEC' }, 100)).equals(Buffer.from([0, 1, 2]))).toBe(true)
  expect((await blobs.read({}, 100)).length).toBe(0)
  await expect(blobs.read({ text: 'x'.repeat(101) }, 100)).rejects.toThrow('it is larger than 100 bytes')
})

test('the temporary file of a killed put is swept, that of a living one is not', async () => {
  const { workspace } = await freshWorkspace()
  const shelf = { workspace, holder: HOLDER, now: (): Date => new Date() }
  const store = new Blobs(shelf).local
  const { promise: paused, resolve: goOn } = Promise.withResolvers<void>()
  const slow = async function* (): AsyncGenerator<Uint8Array> {
    yield randomBytes(10)
    await paused
  }
  const putting = store.put(slow())
  while (filesUnder(store.dir).length === 0) await new Promise((resolve) => setTimeout(resolve, 2))
  const [living] = filesUnder(store.dir)
  writeFileSync(join(store.dir, '.put-0123456789abcdef'), 'left by a crash')
  await sweepBlobs(shelf)
  expect(filesUnder(store.dir)).toEqual([living])
  goOn()
  const ref = await putting
  expect(filesUnder(store.dir)).toEqual([store.pathOf(ref.$blob)])
  expect(statSync(store.pathOf(ref.$blob)).mode & 0o777).toBe(0o600)
  expect(statSync(dirname(store.pathOf(ref.$blob))).mode & 0o777).toBe(0o700)
})

test('putting what is old renews it, so that a collector leaves it', async () => {
  const { store } = await fresh()
  const ref = await store.put(pieces(Buffer.from('old')))
  const path = store.pathOf(ref.$blob)
  utimesSync(path, 0, 0)
  const { ino } = statSync(path)
  await store.put(pieces(Buffer.from('old')))
  expect(statSync(path).ino).toBe(ino)
  expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(3600_000)
})
