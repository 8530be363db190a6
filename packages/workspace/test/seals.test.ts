import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  archiveConversation,
  type ConfigEvents,
  type ConversationEvent,
  type ConversationRef,
  createConversation,
  eventsFile,
  forkConversation,
  goneConversation,
  type Keeping,
  LostSealsError,
  openConversation,
  readConfigEvents,
  removeConversation,
  SealError,
  type Shelf,
  sweepConversations,
  useConversation,
} from '@cordon/workspace'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { freshWorkspace, HOLDER, kill, linesOf, startChild } from './fixture.ts'

const AT = '2026-01-01T00:00:00.000Z'
const delta = (n: number): { profiles: { p: { access: { fs: [{ path: string }] } } } } => ({
  profiles: { p: { access: { fs: [{ path: `p${n}` }] } } },
})
const change = (n: number): ConversationEvent => ({ kind: 'config', at: AT, delta: delta(n) })
const foreignLine = `${JSON.stringify({ kind: 'config', at: AT, delta: { sandbox: { mode: 'off' } } })}\n`
const foreign = { sandbox: { mode: 'off' } }

interface Lab {
  readonly shelf: Shelf
  readonly ref: ConversationRef
  readonly file: string
  readonly base: string
}

async function lab(changes = 3, keeping: Keeping = 'shared'): Promise<Lab> {
  const { base, workspace } = await freshWorkspace()
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const ref = await createConversation(shelf, { keeping })
  for (let n = 0; n < changes; n++) await add(shelf, ref, { kind: 'turn', at: AT }, change(n))
  return { shelf, ref, file: eventsFile(ref), base }
}

async function add(shelf: Shelf, ref: ConversationRef, ...events: ConversationEvent[]): Promise<void> {
  const writer = await openConversation(shelf, ref, { wait: 5000 })
  try {
    await writer.append(events)
  } finally {
    await writer.close()
  }
}

const read = ({ shelf, ref }: Pick<Lab, 'shelf' | 'ref'>): Promise<ConfigEvents> =>
  readConfigEvents(shelf.workspace, ref)
const lines = (file: string): string[] => readFileSync(file, 'utf8').trimEnd().split('\n')
const write = (file: string, all: readonly string[]): void => writeFileSync(file, `${all.join('\n')}\n`)
const configLines = (file: string): string[] => lines(file).filter((line) => line.includes('"config"'))
const ledgerOf = ({ shelf, ref }: Lab): string =>
  join(shelf.workspace.local, 'seals', `${ref.id}.${ref.keeping}.json`)

for (const keeping of ['shared', 'local'] as const)
  test(`SPEC 2.1 what this user changed in a ${keeping} conversation is sealed, and counts in order`, async () => {
    const here = await lab(3, keeping)
    expect(await read(here)).toMatchObject({
      sealed: [delta(0), delta(1), delta(2)],
      foreign: [],
      lost: undefined,
    })
    const dir = join(here.shelf.workspace.local, 'seals')
    expect(readdirSync(dir).toSorted()).toEqual([`${here.ref.id}.${keeping}.json`, 'key'].toSorted())
    for (const name of readdirSync(dir)) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    await archiveConversation(here.shelf, here.ref)
    expect((await read(here)).sealed).toHaveLength(3)
  })

test('SPEC 2.1 a conversation without changes has no seals, and reading one writes nothing', async () => {
  const here = await lab(0)
  expect(await read(here)).toEqual({ sealed: [], foreign: [], lost: undefined, seals: [] })
  expect(existsSync(join(here.shelf.workspace.local, 'seals'))).toBe(false)
})

describe('SPEC 2.1 somebody without the key changes the log', () => {
  const all = { sealed: [delta(0), delta(1), delta(2)], lost: undefined }
  const none = { sealed: [], lost: { count: 3 } }
  const attacks: Record<string, { how: (file: string) => void; leaves: object }> = {
    'appends an event': {
      how: (file) => appendFileSync(file, foreignLine),
      leaves: { ...all, foreign: [foreign] },
    },
    'inserts one at the beginning': {
      how: (file) => writeFileSync(file, foreignLine + readFileSync(file, 'utf8')),
      leaves: { ...all, foreign: [foreign] },
    },
    'inserts one between two sealed ones': {
      how: (file) => write(file, lines(file).toSpliced(2, 0, foreignLine.trim())),
      leaves: { ...all, foreign: [foreign] },
    },
    'appends one with a seal that somebody made up': {
      how: (file) => appendFileSync(file, foreignLine.replace('}\n', `,"seal":"${'0'.repeat(64)}"}\n`)),
      leaves: { ...all, foreign: [foreign] },
    },
    'repeats a sealed one': {
      how: (file) => appendFileSync(file, `${configLines(file)[0]!}\n`),
      leaves: { ...all, foreign: [delta(0)] },
    },
    'repeats the last sealed one': {
      how: (file) => appendFileSync(file, `${configLines(file)[2]!}\n`),
      leaves: { ...all, foreign: [delta(2)] },
    },
    'removes the last sealed one': {
      how: (file) => write(file, lines(file).slice(0, -1)),
      leaves: { ...none, foreign: [delta(0), delta(1)] },
    },
    'removes the first': {
      how: (file) => write(file, lines(file).toSpliced(1, 1)),
      leaves: { ...none, foreign: [delta(1), delta(2)] },
    },
    'removes all of it': { how: (file) => writeFileSync(file, ''), leaves: { ...none, foreign: [] } },
    'exchanges two': {
      how: (file) => {
        const [a, b, c] = configLines(file)
        write(file, [a!, c!, b!])
      },
      leaves: { ...none, foreign: [delta(0), delta(2), delta(1)] },
    },
    'exchanges two, and leaves the last where it was': {
      how: (file) => {
        const [a, b, c] = configLines(file)
        write(file, [b!, a!, c!])
      },
      leaves: { ...none, foreign: [delta(1), delta(0), delta(2)] },
    },
    'puts one in the place of another': {
      how: (file) => {
        const [, b, c] = configLines(file)
        write(file, [b!, b!, c!])
      },
      leaves: { ...none, foreign: [delta(1), delta(1), delta(2)] },
    },
    'changes what a sealed one says': {
      how: (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('"p1"', '"."')),
      leaves: {
        ...none,
        foreign: [delta(0), { profiles: { p: { access: { fs: [{ path: '.' }] } } } }, delta(2)],
      },
    },
    'puts a second delta in front of the seal': {
      how: (file) =>
        writeFileSync(file, readFileSync(file, 'utf8').replace(',"seal"', ',"delta":{"x":1},"seal"')),
      leaves: { ...none, foreign: [{ x: 1 }, delta(1), delta(2)] },
    },
    'takes the seals off': {
      how: (file) => writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/,"seal":"[0-9a-f]*"/g, '')),
      leaves: { ...none, foreign: [delta(0), delta(1), delta(2)] },
    },
  }
  for (const [name, { how, leaves }] of Object.entries(attacks))
    test(name, async () => {
      const here = await lab()
      how(here.file)
      expect(await read(here)).toMatchObject(leaves)
    })

  test('puts an older copy in its place', async () => {
    const here = await lab(1)
    const old = readFileSync(here.file)
    await add(here.shelf, here.ref, change(1))
    writeFileSync(here.file, old)
    expect(await read(here)).toMatchObject({ sealed: [], foreign: [delta(0)], lost: { count: 2 } })
  })

  test('deletes the file: the conversation cannot be read', async () => {
    const here = await lab()
    rmSync(here.file)
    await expect(read(here)).rejects.toThrow(
      `cannot read the conversation in ${here.file}: it does not exist`,
    )
  })

  test('deletes the whole conversation: that is known, and what is lost', async () => {
    const here = await lab()
    await useConversation(here.shelf, 's', here.ref.id)
    expect(await goneConversation(here.shelf, 's')).toBeUndefined()
    rmSync(here.ref.dir, { recursive: true })
    expect(await goneConversation(here.shelf, 's')).toMatchObject({ ref: here.ref, lost: { count: 3 } })
  })

  test('copies events from another conversation of the same workspace', async () => {
    const here = await lab(2)
    const other = await createConversation(here.shelf, { keeping: 'shared' })
    await add(here.shelf, other, change(7))
    const log = readFileSync(here.file)
    appendFileSync(here.file, readFileSync(eventsFile(other)))
    expect(await read(here)).toMatchObject({ sealed: [delta(0), delta(1)], foreign: [delta(7)] })
    writeFileSync(eventsFile(other), log)
    expect(await read({ ...here, ref: other })).toMatchObject({ sealed: [], lost: { count: 1 } })
  })

  test('copies a whole conversation from another workspace, or from the local ones', async () => {
    const there = await lab(2)
    const here = await lab(1)
    const copied = join(here.shelf.workspace.shared, 'conversations', there.ref.id)
    cpSync(there.ref.dir, copied, { recursive: true })
    expect(await read({ ...here, ref: { ...there.ref, dir: copied } })).toMatchObject({
      sealed: [],
      foreign: [delta(0), delta(1)],
      lost: undefined,
    })
    const local = await createConversation(here.shelf, { keeping: 'local' })
    await add(here.shelf, local, change(5))
    const shared = join(here.shelf.workspace.shared, 'conversations', local.id)
    cpSync(local.dir, shared, { recursive: true })
    const planted = { id: local.id, keeping: 'shared', dir: shared } as const
    expect(await read({ ...here, ref: planted })).toMatchObject({ sealed: [], foreign: [delta(5)] })
  })

  test('whatever bytes are changed, inserted or removed: exactly what was sealed takes effect, or nothing of it', async () => {
    const here = await lab(4)
    const original = readFileSync(here.file)
    const before = (await read(here)).sealed
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .constantFrom(...lines(here.file), foreignLine, '\n', '}', '"', '{"kind":"config"')
        .map((text) => Buffer.from(text)),
    )
    const edit = fc.record({ at: fc.nat(original.length), remove: fc.nat(original.length), insert: piece })
    const outcomes = { all: 0, none: 0 }
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit, { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        async (edits, little) => {
          let bytes = original
          for (const { at, remove, insert } of edits)
            bytes = Buffer.concat([
              bytes.subarray(0, at),
              insert,
              bytes.subarray(at + (little ? remove % 4 : remove)),
            ])
          writeFileSync(here.file, bytes)
          const { sealed } = await read(here).catch(() => ({ sealed: [] }))
          expect([[], before]).toContainEqual(sealed)
          outcomes[sealed.length === 0 ? 'none' : 'all']++
        },
      ),
      {
        numRuns: 300,
        // One of each outcome for certain: a line that somebody added, and a log that is empty.
        examples: [
          [[{ at: original.length, remove: 0, insert: Buffer.from(`${foreignLine}\n`) }], false],
          [[{ at: 0, remove: original.length, insert: Buffer.from('') }], false],
        ],
      },
    )
    expect(Math.min(outcomes.all, outcomes.none)).toBeGreaterThan(0)
  })
})

test('SPEC 2.1 a change after foreign ones is sealed; after lost ones it is refused, and a fork goes on', async () => {
  const here = await lab(2)
  appendFileSync(here.file, foreignLine)
  await add(here.shelf, here.ref, change(2))
  expect(await read(here)).toMatchObject({ sealed: [delta(0), delta(1), delta(2)], foreign: [foreign] })
  write(here.file, lines(here.file).slice(2))
  const before = readFileSync(here.file, 'utf8')
  await expect(add(here.shelf, here.ref, change(3))).rejects.toThrow(
    `conversation ${here.ref.id} has lost some of its 3 sealed changes of the configuration: ` +
      'its events.jsonl was cut, edited, or replaced by an older one\n' +
      `  fix: bring the file back, or go on in a copy: cordon conversation fork ${here.ref.id}`,
  )
  await expect(add(here.shelf, here.ref, change(3))).rejects.toThrow(LostSealsError)
  expect(readFileSync(here.file, 'utf8')).toBe(before)
  await add(here.shelf, here.ref, { kind: 'turn', at: AT }) // everything else goes on
  const fork = await forkConversation(here.shelf, here.ref)
  expect(await read({ ...here, ref: fork })).toMatchObject({ sealed: [], lost: undefined })
  await add(here.shelf, fork, change(4))
  expect(await read({ ...here, ref: fork })).toMatchObject({ sealed: [delta(4)], lost: undefined })
})

test('SPEC 2.1 a fork seals anew what verified, up to its turn; the rest is foreign there too', async () => {
  const here = await lab(3)
  appendFileSync(here.file, foreignLine)
  const whole = await forkConversation(here.shelf, here.ref)
  expect(await read({ ...here, ref: whole })).toMatchObject({
    sealed: [delta(0), delta(1), delta(2)],
    foreign: [foreign],
    lost: undefined,
  })
  const part = await forkConversation(here.shelf, here.ref, { turns: 2 })
  expect(await read({ ...here, ref: part })).toMatchObject({ sealed: [delta(0), delta(1)], foreign: [] })
  await add(here.shelf, part, change(9))
  expect((await read({ ...here, ref: part })).sealed).toEqual([delta(0), delta(1), delta(9)])
})

test('SPEC 2.1 what was removed and comes back is foreign', async () => {
  const here = await lab(2)
  const saved = join(here.base, 'saved')
  cpSync(here.ref.dir, saved, { recursive: true })
  await removeConversation(here.shelf, here.ref)
  expect(existsSync(ledgerOf(here))).toBe(false)
  cpSync(saved, here.ref.dir, { recursive: true })
  expect(await read(here)).toMatchObject({ sealed: [], foreign: [delta(0), delta(1)], lost: undefined })
})

test('SPEC 2.1 a conversation that a git checkout takes away and brings back keeps its seals', async () => {
  const here = await lab(2)
  const saved = join(here.base, 'saved')
  cpSync(here.ref.dir, saved, { recursive: true })
  rmSync(here.ref.dir, { recursive: true })
  await sweepConversations(here.shelf)
  cpSync(saved, here.ref.dir, { recursive: true })
  expect((await read(here)).sealed).toEqual([delta(0), delta(1)])
})

test('SPEC 2.1 an append that began: the log counts with it or without it, and it cannot be replayed later', async () => {
  const here = await lab(1)
  const ledger = readFileSync(ledgerOf(here))
  const first = readFileSync(here.file)
  await add(here.shelf, here.ref, change(1))
  const second = readFileSync(here.file)
  const ends = [ledger, readFileSync(ledgerOf(here))].map((text) => JSON.parse(text.toString()) as object)
  const begun = JSON.stringify({ ...ends[0], next: ends[1] })
  for (const [log, sealed] of [
    [first, [delta(0)]],
    [second, [delta(0), delta(1)]],
  ] as const) {
    writeFileSync(ledgerOf(here), begun)
    writeFileSync(here.file, log)
    expect((await read(here)).sealed).toEqual(sealed)
    await add(here.shelf, here.ref, change(8)) // whoever comes next builds on what is there
    expect((await read(here)).sealed).toEqual([...sealed, delta(8)])
  }
  // Taken back: its seal is good, and still it does not count.
  writeFileSync(ledgerOf(here), ledger)
  writeFileSync(here.file, second)
  expect(await read(here)).toMatchObject({ sealed: [delta(0)], foreign: [delta(1)], lost: undefined })
})

test('SPEC 2.1 kill -9 at any point: every acknowledged change takes effect, in order', async () => {
  const here = await lab(0)
  const acknowledged: number[] = []
  for (let round = 0; round < 6; round++) {
    const child = startChild('seal', [
      here.shelf.workspace.root,
      join(here.base, 'data'),
      here.ref.id,
      `${round * 1000}`,
    ])
    for await (const line of linesOf(child)) {
      if (line !== 'started') acknowledged.push(Number(line))
      // The first is killed after it has done something, however slow the machine is; the others wherever they are.
      if (round === 0 ? line !== 'started' : line === 'started')
        void sleep(20 + Math.random() * 80).then(() => kill(child))
    }
    const { sealed, foreign: others, lost } = await read(here)
    const found = sealed.map((each) => JSON.stringify(each))
    expect({ others, lost }).toEqual({ others: [], lost: undefined })
    expect(found.filter((each) => acknowledged.some((n) => JSON.stringify(delta(n)) === each))).toEqual(
      acknowledged.map((n) => JSON.stringify(delta(n))),
    )
  }
  expect(acknowledged.length).toBeGreaterThan(0)
})

test('SPEC 2.1 processes that need the first key at once agree on one', async () => {
  const { base, workspace } = await freshWorkspace()
  const shelf: Shelf = { workspace, holder: HOLDER, now: () => new Date() }
  const refs = await Promise.all([0, 1, 2, 3].map(() => createConversation(shelf, { keeping: 'shared' })))
  await Promise.all(
    refs.map(async ({ id }) => {
      const child = startChild('seal', [workspace.root, join(base, 'data'), id, '0', '2'])
      for await (const line of linesOf(child)) void line
    }),
  )
  for (const ref of refs)
    expect(await readConfigEvents(workspace, ref)).toMatchObject({
      sealed: [delta(0), delta(1)],
      foreign: [],
    })
})

test('SPEC 2.1 a reader beside a writer sees all that was acknowledged, and nothing foreign', async () => {
  const here = await lab(1)
  const child = startChild('seal', [
    here.shelf.workspace.root,
    join(here.base, 'data'),
    here.ref.id,
    '1',
    '60',
  ])
  let seen = 1
  const ended = (async () => {
    for await (const line of linesOf(child)) if (line !== 'started') seen++
  })()
  while (child.exitCode === null) {
    const least = seen
    const { sealed, foreign: others, lost } = await read(here)
    expect({ others, lost }).toEqual({ others: [], lost: undefined })
    expect(sealed.length).toBeGreaterThanOrEqual(least)
  }
  await ended
  expect((await read(here)).sealed).toHaveLength(61)
})

describe('SPEC 2.1 what is in the place and cannot be used is an error, never a guess', () => {
  const cases: Record<
    string,
    { how: (dir: string, ledger: string) => void; says: (dir: string, ledger: string) => string }
  > = {
    'a key that others may read': {
      how: (dir) => chmodSync(join(dir, 'key'), 0o644),
      says: (dir) =>
        `cannot use ${dir}/key, which seals the changes of conversations: other users may read or write it, so they may know it\n` +
        `  fix: remove it, then look at what was sealed: rm ${dir}/key && cordon trust`,
    },
    'a key that is cut': {
      how: (dir) => writeFileSync(join(dir, 'key'), 'short'),
      says: (dir) =>
        `cannot use ${dir}/key, which seals the changes of conversations: it is not 32 bytes long\n` +
        `  fix: remove it, then look at what was sealed: rm ${dir}/key && cordon trust`,
    },
    'a ledger that is damaged': {
      how: (_, ledger) => writeFileSync(ledger, '{"count":1,"last":"x"}'),
      says: (_, ledger) =>
        `cannot use ${ledger}, which seals the changes of conversations: it is damaged\n` +
        `  fix: remove it, then look at what was sealed: rm ${ledger} && cordon trust`,
    },
  }
  for (const [name, { how, says }] of Object.entries(cases))
    test(name, async () => {
      const here = await lab(2)
      const dir = join(here.shelf.workspace.local, 'seals')
      how(dir, ledgerOf(here))
      await expect(read(here)).rejects.toBeInstanceOf(SealError)
      await expect(read(here)).rejects.toThrow(says(dir, ledgerOf(here)))
      await expect(add(here.shelf, here.ref, change(5))).rejects.toThrow(says(dir, ledgerOf(here)))
      rmSync(name.includes('key') ? join(dir, 'key') : ledgerOf(here))
      expect((await read(here)).sealed).toEqual([])
    })
})

test('SPEC 6.1 a turn costs the same with 10,000 events before it: only a change reads the log', async () => {
  const here = await lab(1)
  rmSync(join(here.shelf.workspace.local, 'seals'), { recursive: true })
  mkdirSync(join(here.shelf.workspace.local, 'seals/key'), { recursive: true }) // whoever looks at it fails
  await add(here.shelf, here.ref, { kind: 'turn', at: AT })
})
