/** Anchored I/O against the same work done by hand, as ratios of medians measured in one run. */
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

interface Case {
  readonly name: string
  readonly ours: () => void
  readonly bare: () => void
  /** Calls in one sample, and samples of each side. */
  readonly calls: number
  readonly samples: number
}

export interface Ratio {
  readonly name: string
  readonly oursMicros: number
  readonly bareMicros: number
  readonly ratio: number
}

/** Runs all cases in a temporary directory (or below `place`) and returns what it measured. */
export function benchFiles(place: string = tmpdir()): Ratio[] {
  const base = realpathSync(mkdtempSync(join(place, 'cordon-bench-')))
  const anchor = openAmbientAnchor(base as CanonicalPath)
  try {
    return [
      readDeep(anchor, base),
      readEverywhere(anchor, base),
      statDeep(anchor, base),
      writeAtomic(anchor, base),
      walkMany(anchor, base),
    ].map(measure)
  } finally {
    anchor.close()
    rmSync(base, { recursive: true, force: true })
  }
}

const DEEP = 'a/b/c/d/e/f'

function readDeep(anchor: Anchor, base: string): Case {
  mkdirSync(join(base, 'a/b/c/d/e'), { recursive: true })
  writeFileSync(join(base, DEEP), Buffer.alloc(4096, 'x'))
  const path = parseRelPath(DEEP)
  const absolute = join(base, DEEP)
  return {
    name: 'read 4 KiB at depth 6 / readFileSync',
    ours: () => anchor.readFile(path),
    bare: () => readFileSync(absolute),
    calls: 500,
    samples: 31,
  }
}

/** The kept handles do not help here: every read is in another one of 100 directories. */
function readEverywhere(anchor: Anchor, base: string): Case {
  const paths = Array.from({ length: 100 }, (_, i) => `w/${i % 10}/x/y/${i}/f`)
  for (const path of paths) {
    mkdirSync(join(base, path, '..'), { recursive: true })
    writeFileSync(join(base, path), Buffer.alloc(4096, 'x'))
  }
  const relative = paths.map((path) => parseRelPath(path))
  const absolute = paths.map((path) => join(base, path))
  return {
    name: 'read 100 files in 100 directories at depth 6 / readFileSync',
    ours: () => relative.forEach((path) => anchor.readFile(path)),
    bare: () => absolute.forEach((path) => readFileSync(path)),
    calls: 5,
    samples: 31,
  }
}

function statDeep(anchor: Anchor, base: string): Case {
  const path = parseRelPath(DEEP)
  const absolute = join(base, DEEP)
  return {
    name: 'stat at depth 6 / lstatSync',
    ours: () => void anchor.stat(path),
    bare: () => void lstatSync(absolute, { bigint: true }),
    calls: 500,
    samples: 31,
  }
}

function writeAtomic(anchor: Anchor, base: string): Case {
  mkdirSync(join(base, 'out'))
  const data = Buffer.alloc(4096, 'x')
  const path = parseRelPath('out/ours')
  return {
    name: 'atomic write of 4 KiB / write, fsync, rename, fsync by hand',
    ours: () => anchor.writeFile(path, data),
    bare: () => writeByHand(join(base, 'out'), data),
    calls: 5,
    samples: 31,
  }
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

function walkMany(anchor: Anchor, base: string): Case {
  for (let directory = 0; directory < 100; directory++) {
    const path = join(base, 'many', String(directory % 10), String(directory))
    mkdirSync(path, { recursive: true })
    for (let file = 0; file < 100; file++) writeFileSync(join(path, `file-${file}`), '')
  }
  const path = parseRelPath('many')
  const absolute = join(base, 'many')
  const count = (entries: Iterable<unknown>): number => Array.from(entries).length
  return {
    name: 'walk of 10,000 files / readdirSync recursive with types',
    ours: () => void count(anchor.walk(path)),
    bare: () => void count(readdirSync(absolute, { recursive: true, withFileTypes: true })),
    calls: 1,
    samples: 31,
  }
}

/** Ours and theirs in turn, so that a busy machine is busy for both. */
function measure({ name, ours, bare, calls, samples }: Case): Ratio {
  const times: { ours: number[]; bare: number[] } = { ours: [], bare: [] }
  for (let sample = 0; sample < samples; sample++) {
    times.ours.push(timeOf(ours, calls))
    times.bare.push(timeOf(bare, calls))
  }
  const oursMicros = median(times.ours)
  const bareMicros = median(times.bare)
  return { name, oursMicros, bareMicros, ratio: oursMicros / bareMicros }
}

function timeOf(act: () => void, calls: number): number {
  const start = performance.now()
  for (let call = 0; call < calls; call++) act()
  return ((performance.now() - start) * 1000) / calls
}

const median = (times: number[]): number => times.sort((a, b) => a - b)[times.length >> 1] ?? Number.NaN

if (import.meta.main) {
  for (const { name, oursMicros, bareMicros, ratio } of benchFiles(process.argv[2]))
    console.log(`${ratio.toFixed(2)}  ${name}  (${oursMicros.toFixed(1)} µs / ${bareMicros.toFixed(1)} µs)`)
}
