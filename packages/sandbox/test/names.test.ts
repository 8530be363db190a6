import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnConfined } from '@cordon/sandbox'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  BASE_ENV,
  makeWorld,
  planFor,
  reachableLauncher,
  removeWorlds,
  scratchDir,
  withSecretsIn,
  type World,
} from './confine.ts'

afterAll(removeWorlds)

/** Root looks for nothing (decision 0247), and only root can make what an ordinary user must not change. */
const isRoot = process.getuid?.() === 0
const who = { name: 'an ordinary user', as: { uid: 64_321, gid: 64_321 } }

/** launcher/src/names.c, names_can_be_kept: ext4, XFS, Btrfs, F2FS, tmpfs. */
const KEPT_ON = [0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994]
const canBeKept = KEPT_ON.includes(statfsSync(scratchDir()).type)

/** Longer than SETTLED_SECONDS of names.c. */
const SETTLING = 5000

interface Remembered extends World {
  readonly etc: string
  /** What the launcher remembers. */
  readonly names: string
}

let world: Remembered

/** Root's, as /etc is, with files that the ordinary user's group could read. */
function makeRemembered(): Remembered {
  const made = makeWorld(who, { 'etc/open': 'open\n', 'etc/sub/open': 'open\n', 'etc/sub/key': 'SECRET\n' })
  const etc = join(made.root, 'etc')
  const own = scratchDir()
  chownSync(own, who.as.uid, who.as.gid)
  for (const name of ['', 'sub', 'open', 'sub/open', 'sub/key']) chownSync(join(etc, name), 0, who.as.gid)
  chmodSync(join(etc, 'sub/key'), 0o640)
  return { ...made, etc, names: join(own, 'names') }
}

/** What everything in it says to an ordinary user. */
async function readAll(): Promise<string> {
  const plan = withSecretsIn(planFor({ who, world }), world.etc, 'last')
  const items = [...plan.items, { tag: 'names', path: world.names } as const]
  const { stdin, stdout, exit } = spawnConfined(
    { ...plan, items },
    {
      argv: ['sh', '-c', 'cd etc; find . -type f | sort | while read f; do echo "$f $(cat "$f")"; done'],
      env: BASE_ENV,
      launcher: reachableLauncher(),
      as: who.as,
    },
  )
  stdin?.end()
  const [said] = await Promise.all([text(stdout!), exit])
  return said
}

const UNCHANGED = './open open\n./sub/key \n./sub/open open\n'

/** The file as the launcher would write it if `key` were not there. */
function forge(names: string): void {
  const file = readFileSync(names)
  file.write('kex', file.indexOf('key\0'))
  file.writeBigUInt64LE(sumOf(file.subarray(16)), SUM_AT)
  writeFileSync(names, file)
}

const SUM_AT = 8

/** launcher/src/names.c, sum_of. */
function sumOf(bytes: Buffer): bigint {
  const whole = bytes.length - (bytes.length % 8)
  let sum = BigInt(bytes.length)
  for (let at = 0; at < whole; at += 8) {
    sum = BigInt.asUintN(64, (sum ^ bytes.readBigUInt64LE(at)) * 0x9e3779b97f4a7c15n)
    sum ^= sum >> 32n
  }
  for (const byte of bytes.subarray(whole)) sum = BigInt.asUintN(64, (sum ^ BigInt(byte)) * 0x100000001b3n)
  return sum
}

function patch(path: string, at: number, by: number): void {
  const file = readFileSync(path)
  file[at]! ^= by
  writeFileSync(path, file)
}

/** Made by root, for the ordinary user's group. */
function hide(path: string): void {
  writeFileSync(path, 'SECRET\n')
  chownSync(path, 0, who.as.gid)
  chmodSync(path, 0o640)
}

describe.runIf(isRoot && canBeKept)('decision 0402: a start that remembers the names in directories', () => {
  const worlds: Remembered[] = []
  beforeAll(async () => {
    for (let i = 0; i < 12; i++) worlds.push(makeRemembered())
    await sleep(SETTLING)
  })
  beforeEach(async () => {
    world = worlds.pop()!
    expect(await readAll()).toBe(UNCHANGED)
    expect(existsSync(world.names)).toBe(true)
  })

  test("the file is nobody else's to write, and is written once", async () => {
    const { ino, uid, mode } = statSync(world.names)
    expect([uid, mode & 0o777]).toEqual([who.as.uid, 0o600])
    expect(await readAll()).toBe(UNCHANGED)
    expect(statSync(world.names).ino).toBe(ino)
  })

  test('what it says is believed, which is why nothing confined may write it', async () => {
    forge(world.names)
    expect(await readAll()).toBe('./open open\n./sub/key SECRET\n./sub/open open\n')
  })

  test('SPEC 4.3 a file that has become private is out of reach at the next start', async () => {
    chmodSync(join(world.etc, 'sub/open'), 0o640)
    expect(await readAll()).toBe('./open open\n./sub/key \n./sub/open \n')
    chmodSync(join(world.etc, 'sub/open'), 0o644)
    chmodSync(join(world.etc, 'sub/key'), 0o644)
    expect(await readAll()).toBe('./open open\n./sub/key SECRET\n./sub/open open\n')
  })

  test('SPEC 4.3 so is a private file that is new, moved there, or put in the place of another', async () => {
    hide(join(world.etc, 'sub/new'))
    expect(await readAll()).toBe('./open open\n./sub/key \n./sub/new \n./sub/open open\n')
    renameSync(join(world.etc, 'sub/new'), join(world.etc, 'open'))
    expect(await readAll()).toBe('./open \n./sub/key \n./sub/open open\n')
  })

  test('SPEC 4.3 so is what lies in a directory that is another one by now, or has become private', async () => {
    mkdirSync(join(world.root, 'other'))
    hide(join(world.root, 'other/new'))
    renameSync(join(world.etc, 'sub'), join(world.root, 'away'))
    renameSync(join(world.root, 'other'), join(world.etc, 'sub'))
    expect(await readAll()).toBe('./open open\n./sub/new \n')
    chmodSync(join(world.etc, 'sub'), 0o750)
    expect(await readAll()).toBe('./open open\n')
  })

  test.each([
    ["is another user's", (names: string) => (chmodSync(names, 0o644), chownSync(names, 0, 0))],
    ['others may write', (names: string) => chmodSync(names, 0o666)],
    ['was cut short', (names: string) => writeFileSync(names, readFileSync(names).subarray(0, -1))],
    ["is another version's", (names: string) => patch(names, 0, 1)],
    ['is not as it was written', (names: string) => patch(names, SUM_AT, 1)],
  ])('a file that %s is not believed', async (_, spoil) => {
    forge(world.names)
    spoil(world.names)
    expect(await readAll()).toBe(UNCHANGED)
  })

  test('where it cannot be written, all is as without it', async () => {
    rmSync(world.names)
    mkdirSync(world.names)
    expect(await readAll()).toBe(UNCHANGED)
    expect(readdirSync(join(world.names, '..'))).toEqual(['names'])
  })
})

test.runIf(isRoot)('decision 0402: nothing is remembered that somebody but root could change', async () => {
  world = makeRemembered()
  chownSync(join(world.etc, 'sub'), who.as.uid, who.as.gid)
  chmodSync(world.etc, 0o775)
  await sleep(SETTLING)
  expect(await readAll()).toBe(UNCHANGED)
  const kept = existsSync(world.names) ? readFileSync(world.names) : Buffer.of()
  expect(['open\0', 'key\0'].filter((name) => kept.includes(name))).toEqual([])
})

test.runIf(isRoot)(
  'decision 0402: what has just changed is not remembered: it could change again unseen',
  async () => {
    world = makeRemembered()
    expect(await readAll()).toBe(UNCHANGED)
    const kept = existsSync(world.names) ? readFileSync(world.names) : Buffer.of()
    expect(kept.includes('key\0')).toBe(false)
  },
)
