import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lookForNew } from '@cordon/sandbox'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { give, IDENTITIES, makeWorld, removeWorlds, run } from './confine.ts'

afterAll(removeWorlds)

/** Exchanges the two names as fast as it can: `sub` is a directory one moment and a link out of the workspace the next. */
const SWAPPER = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
os.chdir(sys.argv[1])
while not os.path.exists('made'): time.sleep(0.01)
swaps = 0
while os.path.exists('made'):
    for _ in range(100): libc.syscall(316, -100, b'sub', -100, b'other', 2)
    swaps += 100
    if not os.path.exists('swapping'): open('swapping', 'w').close()
print(swaps)
`

const RWX = { read: true, write: true, execute: true }
const NAMES = Array.from({ length: 2000 }, (_, i) => `n${String(i).padStart(4, '0')}`)

describe.each(IDENTITIES)('as $name', (who) => {
  test.runIf(process.arch === 'x64')(
    'a directory swapped for a link while the process ends: nothing outside is renamed',
    async () => {
      // The same names outside: whoever follows the link finds what it looks for.
      const outside = Object.fromEntries(NAMES.map((name) => [`~/victim/${name}`, 'MINE']))
      const world = makeWorld(who, { 'sub/': '', ...outside })
      symlinkSync(join(world.home, 'victim'), join(world.root, 'other'))
      give(who, world.dir)
      const swapper = spawn('/usr/bin/python3', ['-c', SWAPPER, world.root], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const swaps = once(swapper.stdout, 'data')
      const { createdDenied } = await run({
        who,
        world,
        access: { fs: [{ path: '.', ...RWX }, ...NAMES.map((name) => ({ path: `sub/${name}` }))] },
        script: `cd sub; touch ${NAMES.join(' ')}; cd ..; touch made; until [ -e swapping ]; do sleep 0.01; done`,
      })
      rmSync(join(world.root, 'made'))
      expect(Number(await swaps)).toBeGreaterThan(0)
      await once(swapper, 'close')
      expect(readdirSync(join(world.home, 'victim')).toSorted()).toEqual(NAMES)
      // Met as a directory, its files are moved; met as a link, the link is, and nothing behind it.
      const moved = createdDenied.filter(({ movedTo }) => movedTo !== undefined)
      expect(moved.length).toBeGreaterThan(0)
      const files = moved.filter(({ path }) => path !== join(world.root, 'sub'))
      const real = ['sub', 'other'].find((name) => isDirectory(world.root, name))!
      const aside = readdirSync(join(world.root, real)).filter((name) => name.endsWith('.denied-by-cordon-1'))
      expect(aside).toHaveLength(files.length)
    },
  )
})

const isDirectory = (dir: string, name: string): boolean =>
  readdirSync(dir, { withFileTypes: true }).some((entry) => entry.name === name && entry.isDirectory())

test('decision 0495: a link above the place that denied paths lie in leads nobody to files elsewhere', () => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-above-')))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  for (const each of ['w/project', 'victim/project']) mkdirSync(join(dir, each), { recursive: true })
  const base = join(dir, 'w/project')
  const watched = [{ base, path: join(base, 'secret'), guard: 'moved-aside' as const }]
  writeFileSync(join(dir, 'victim/project/secret'), 'MINE')
  renameSync(join(dir, 'w'), join(dir, 'away'))
  symlinkSync('victim', join(dir, 'w'))
  expect(lookForNew(watched, 0)).toEqual({ createdDenied: [], appeared: [] })
  expect(readdirSync(join(dir, 'victim/project'))).toEqual(['secret'])
  // What lies there itself is still moved.
  rmSync(join(dir, 'w'))
  renameSync(join(dir, 'away'), join(dir, 'w'))
  writeFileSync(join(base, 'secret'), 'made')
  expect(lookForNew(watched, 0).createdDenied).toEqual([
    { path: join(base, 'secret'), movedTo: join(base, 'secret.denied-by-cordon-1') },
  ])
})
