/** Canonicalisation against the kernel, on random trees of files, directories and links. */
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  below,
  type Context,
  EscapeError,
  type Location,
  parseContext,
  parseRelPath,
  type RelPath,
  splitEntry,
  UnresolvableError,
} from '@cordon/policy'
import * as fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'

/** Deep, so that a link with many `..` climbs out of the tree and still stays in our own directory. */
const made = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-trees-')))
const home = join(made, 'd/'.repeat(40))
afterAll(() => rmSync(made, { recursive: true }), 600_000)

/** More on demand: CORDON_TREE_RUNS=20000 vitest run packages/policy/test/trees.test.ts */
const RUNS = Number(process.env['CORDON_TREE_RUNS'] ?? 250)
const LIMIT = 300_000 + RUNS * 40

interface Step {
  readonly at: string
  /** A link's text with `$T` for the top; undefined makes a file, null a directory. */
  readonly link: string | null | undefined
}

const name = fc.constantFrom('a', 'b', 'c', 'fork')
const somewhere = fc.constantFrom('ws', 'ws', 'ws', 'out', 'etc')
const deep = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'))
const wandering = fc
  .array(fc.oneof({ weight: 4, arbitrary: name }, fc.constantFrom('..', '.', '')), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join('/').replace(/^\/+/, '') || '.')
const text = fc.oneof(
  wandering,
  fc.tuple(somewhere, wandering).map(([top, rest]) => `$T/${top}/${rest}`),
  fc.constantFrom('$T/out', '$T/ws', '$T', '../out', '..', '.', 'gone/../a', 'gone/'),
)
const step: fc.Arbitrary<Step> = fc.record({
  at: fc.tuple(somewhere, deep).map((parts) => parts.join('/')),
  link: fc.oneof({ weight: 3, arbitrary: text }, fc.constantFrom(null, undefined)),
})
const tree = fc.array(step, { maxLength: 8 })

let count = 0
function grow(steps: readonly Step[]): string {
  const top = join(home, String(count++))
  for (const dir of ['ws', 'out', 'etc']) mkdirSync(join(top, dir), { recursive: true })
  symlinkSync(join(top, 'out'), join(top, 'ws', 'fork'))
  for (const { at, link } of steps) {
    const path = join(top, at)
    try {
      mkdirSync(dirname(path), { recursive: true })
      if (link === null) mkdirSync(path)
      else if (link === undefined) writeFileSync(path, '', { flag: 'wx' })
      else symlinkSync(link.replace('$T', top), path)
    } catch {
      // Something is in the way, such as a file or a loop: the tree is what it is without this step.
    }
  }
  return top
}

function open(top: string, policy: 'mounted' | 'none'): Context {
  const all = { read: true, write: true, execute: true }
  const mount = { path: 'fork', external: true, approved_target: join(top, 'out'), ...all }
  const access = policy === 'none' ? null : { fs: [{ path: '.', ...all }, mount] }
  return parseContext({ root: join(top, 'ws'), action: 'run', access })
}

type Refusal = 'escape' | 'unresolvable'

function ask(find: () => Location): Location | Refusal {
  try {
    return find()
  } catch (error) {
    if (error instanceof EscapeError) return 'escape'
    if (error instanceof UnresolvableError) return 'unresolvable'
    throw error
  }
}

/** Where the path may lie: in the approved target when a mount is named, else in the root. */
function boundary(top: string, path: RelPath, policy: 'mounted' | 'none'): string {
  const mounted = policy === 'mounted' && (path === 'fork' || path.startsWith('fork/'))
  return join(top, mounted ? 'out' : 'ws')
}

/** The real path, the code of the error, or where a file was made because nothing was there. */
function kernel(path: string): { real: string } | { code: string } {
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_DIRECTORY))
    return { real: realpathSync.native(path) }
  } catch {
    // no directory: open it as a file, and make it if it is not there
  }
  try {
    closeSync(openSync(path, constants.O_WRONLY | constants.O_CREAT))
    return { real: realpathSync.native(path) }
  } catch (error) {
    return { code: (error as NodeJS.ErrnoException).code ?? '' }
  }
}

/** The entry's inode; undefined when there is none or a loop is on the way. */
function look(path: string): number | undefined {
  try {
    return lstatSync(path).ino
  } catch {
    return undefined
  }
}

function checkInside(top: string, found: Location): void {
  const roots = [join(top, 'ws'), join(top, 'out')]
  expect(roots).toContain(found.anchor)
  expect(below(found.anchor, found.absolute)).toBe(found.inside)
}

for (const policy of ['none', 'mounted'] as const) {
  test(
    `SPEC 1.3 the object located is the one that the kernel opens or creates, policy: ${policy}`,
    { timeout: LIMIT },
    () => {
      fc.assert(
        fc.property(tree, deep, (steps, input) => {
          const top = grow(steps)
          const path = parseRelPath(input)
          const found = ask(() => open(top, policy).locate(input, 'create'))
          if (typeof found === 'object') checkInside(top, found)
          const opened = kernel(join(top, 'ws', path))
          if ('code' in opened) {
            // Nothing could be opened or made, so only containment was at stake; but a loop is a loop.
            if (opened.code === 'ELOOP') expect(found).toBe('unresolvable')
            return
          }
          const inside = below(boundary(top, path, policy), opened.real) !== undefined
          if (inside) expect(found).toMatchObject({ absolute: opened.real })
          else expect(found).toBe('escape')
        }),
        { numRuns: RUNS },
      )
    },
  )
}

test('SPEC 1.3 the entry located is the one that the kernel would remove', { timeout: LIMIT }, () => {
  fc.assert(
    fc.property(tree, deep, (steps, input) => {
      const top = grow(steps)
      const { parent, name: last } = splitEntry(parseRelPath(input))!
      const found = ask(() => open(top, 'none').locate(input, 'delete'))
      if (typeof found === 'object') checkInside(top, found)
      const entry = look(join(top, 'ws', parent, last))
      if (entry === undefined) return
      const real = realpathSync.native(join(top, 'ws', parent))
      if (below(join(top, 'ws'), real) === undefined) {
        expect(found).toBe('escape')
        return
      }
      expect(found).toMatchObject({ absolute: join(real, last) })
      expect(look(join(real, last))).toBe(entry)
    }),
    { numRuns: RUNS },
  )
})
