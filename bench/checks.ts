/** `checkRead` with its I/O: against the bare realpath it needs, and in a large tree against bare lstat. */
import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseContext } from '@cordon/policy'
import { compare } from './measure.ts'

const FILES = 100_000
const PER_DIRECTORY = 100

function run(): void {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
  try {
    onePath(root)
    largeTree(root)
  } finally {
    rmSync(root, { recursive: true })
  }
}

const policy = { fs: [{ path: '.', read: true }, { path: 'a/b', read: true }, { path: 'secret' }] }

function onePath(root: string): void {
  const path = 'a/b/c/d/e/file.txt'
  mkdirSync(join(root, 'a/b/c/d/e'), { recursive: true })
  writeFileSync(join(root, path), '')
  const context = parseContext({ root, action: 'run', access: policy })
  const absolute = join(root, path)
  compare({
    title: 'checkRead of a 6-component path against bare realpathSync.native',
    ours: { name: 'checkRead', run: () => context.checkRead(path) },
    theirs: { name: 'realpath', run: () => realpathSync.native(absolute) },
    batch: 2000,
    atMost: 1.3,
  })
}

/** What dominates is realpath(3): one readlink per component, where lstat walks the path in the kernel. */
function largeTree(root: string): void {
  const paths: string[] = []
  for (let i = 0; i < FILES; i += PER_DIRECTORY) {
    const directory = `tree/d${Math.floor(i / 10_000)}/d${i / PER_DIRECTORY}`
    mkdirSync(join(root, directory), { recursive: true })
    for (let n = 0; n < PER_DIRECTORY; n++) {
      writeFileSync(join(root, directory, `f${n}`), '')
      paths.push(`${directory}/f${n}`)
    }
  }
  const context = parseContext({ root, action: 'run', access: policy })
  const absolute = paths.map((path) => join(root, path))
  compare({
    title: `${FILES.toLocaleString('en')} checks in a tree of as many files against as many bare lstat`,
    ours: { name: 'checkRead', run: () => paths.forEach((path) => context.checkRead(path)) },
    theirs: { name: 'lstat', run: () => absolute.forEach((path) => lstatSync(path)) },
    batch: 1,
    rounds: 3,
  })
}

run()
