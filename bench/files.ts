/** Anchored I/O (SPEC 6.4) against the same work done by bare calls on absolute paths. */
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Anchor, openAmbientAnchor } from '@cordon/files'
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { compare } from './measure.ts'

function run(): void {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
  const anchor = openAmbientAnchor(base as CanonicalPath)
  try {
    oneFile(anchor, base)
    manyDirectories(anchor, base)
    write(anchor, base)
    walk(anchor, base)
  } finally {
    anchor.close()
    rmSync(base, { recursive: true, force: true })
  }
}

function oneFile(anchor: Anchor, base: string): void {
  const path = parseRelPath('a/b/c/d/e/f')
  const absolute = join(base, path)
  mkdirSync(join(absolute, '..'), { recursive: true })
  writeFileSync(absolute, Buffer.alloc(4096, 'x'))
  compare({
    title: 'read 4 KiB at depth 6',
    ours: { name: 'anchored', run: () => anchor.readFile(path) },
    theirs: { name: 'readFileSync', run: () => readFileSync(absolute) },
    batch: 500,
  })
  compare({
    title: 'stat at depth 6',
    ours: { name: 'anchored', run: () => anchor.stat(path) },
    theirs: { name: 'lstatSync', run: () => lstatSync(absolute, { bigint: true }) },
    batch: 500,
  })
}

/** The kept handles help least here: every read is in another directory. */
function manyDirectories(anchor: Anchor, base: string): void {
  const paths = Array.from({ length: 100 }, (_, i) => parseRelPath(`w/${i % 10}/x/y/${i}/f`))
  const absolute = paths.map((path) => join(base, path))
  for (const path of absolute) {
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, Buffer.alloc(4096, 'x'))
  }
  compare({
    title: 'read 100 files in 100 directories at depth 6',
    ours: { name: 'anchored', run: () => paths.map((path) => anchor.readFile(path)) },
    theirs: { name: 'readFileSync', run: () => absolute.map((path) => readFileSync(path)) },
    batch: 5,
  })
}

function write(anchor: Anchor, base: string): void {
  const directory = join(base, 'out')
  mkdirSync(directory)
  const data = Buffer.alloc(4096, 'x')
  const path = parseRelPath('out/ours')
  compare({
    title: 'replace 4 KiB atomically and durably',
    ours: { name: 'anchored', run: () => anchor.writeFile(path, data) },
    theirs: { name: 'write, fsync, rename, fsync', run: () => writeByHand(directory, data) },
    batch: 5,
  })
}

function writeByHand(directory: string, data: Buffer): void {
  const temp = join(directory, 'hand.tmp')
  const fd = openSync(temp, 'w')
  writeSync(fd, data)
  fsyncSync(fd)
  closeSync(fd)
  renameSync(temp, join(directory, 'hand'))
  const top = openSync(directory, 'r')
  fsyncSync(top)
  closeSync(top)
}

function walk(anchor: Anchor, base: string): void {
  const path = parseRelPath('many')
  const absolute = join(base, path)
  for (let directory = 0; directory < 100; directory++) {
    const at = join(absolute, String(directory % 10), String(directory))
    mkdirSync(at, { recursive: true })
    for (let file = 0; file < 100; file++) writeFileSync(join(at, `file-${file}`), '')
  }
  compare({
    title: 'walk 10,000 files, with their kinds',
    ours: { name: 'anchored', run: () => [...anchor.walk(path)] },
    theirs: {
      name: 'readdirSync recursive',
      run: () => readdirSync(absolute, { recursive: true, withFileTypes: true }),
    },
    batch: 1,
  })
}

run()
