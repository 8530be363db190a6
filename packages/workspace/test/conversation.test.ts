import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import {
  archiveConversation,
  type ConversationEvent,
  type ConversationRef,
  createConversation,
  eventsFile,
  findConversation,
  forkConversation,
  grepConversations,
  HostPaths,
  type Hit,
  lastUsedConversation,
  listConversations,
  lockFile,
  openConversation,
  printTalk,
  readConversation,
  removeConversation,
  type Shelf,
  type StoredEvent,
  sweepConversations,
  titleConversation,
  tryLock,
  unarchiveConversation,
  useConversation,
} from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER } from './fixture.ts'

const AT = '2026-11-15T12:00:00.000Z'
const AT_ONCE = { wait: 0 }

async function freshShelf(): Promise<Shelf> {
  const { workspace } = await freshWorkspace()
  return { workspace, holder: HOLDER, now: () => new Date(AT) }
}

const turn = (text: string): ConversationEvent[] => [
  { kind: 'turn', at: AT },
  { kind: 'request', at: AT, text, resources: [] },
  { kind: 'response', at: AT, text: `you said ${text}`, model: 'm' },
]

async function add(shelf: Shelf, ref: ConversationRef, events: readonly ConversationEvent[]): Promise<void> {
  const writer = await openConversation(shelf, ref, AT_ONCE)
  await writer.append(events)
  await writer.close()
}

async function eventsOf(ref: ConversationRef): Promise<StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const event of readConversation(ref)) events.push(event)
  return events
}

async function conversationWith(shelf: Shelf, ...texts: string[]): Promise<ConversationRef> {
  const ref = await createConversation(shelf, { keeping: 'shared' })
  await add(shelf, ref, texts.flatMap(turn))
  return ref
}

const requests = (events: readonly StoredEvent[]): string[] =>
  events.flatMap((event) => (event.kind === 'request' ? [event.text] : []))

test('SPEC 6.1 events come back as they were written, one a line, from either place', async () => {
  const shelf = await freshShelf()
  for (const keeping of ['shared', 'local'] as const) {
    const ref = await createConversation(shelf, { keeping, title: 'A title' })
    expect(ref.dir).toBe(join(shelf.workspace[keeping], 'conversations', ref.id))
    const events: ConversationEvent[] = [
      { kind: 'config', at: AT, delta: { conversation: { tools: {} } } },
      ...turn('line\u2028separator\nand "quotes"'),
      { kind: 'tool_call', at: AT, id: 'c1', tool: 'fs_read_file', arguments: { path: 'a' } },
      { kind: 'tool_result', at: AT, id: 'c1', outcome: 'success', text: 'content', resources: [] },
      { kind: 'inquiry', at: AT, id: 'q1', question: 'Really?', answer: true },
    ]
    await add(shelf, ref, events)
    const [change, ...others] = events
    const seal: unknown = expect.stringMatching(/^[0-9a-f]{64}$/) // SPEC 2.1
    expect(await eventsOf(ref)).toEqual([{ ...change, seal }, ...others])
    expect(readFileSync(eventsFile(ref), 'utf8').split('\n')).toHaveLength(events.length + 1)
    expect(statSync(eventsFile(ref)).mode & 0o077).toBe(keeping === 'local' ? 0 : 0o044)
  }
})

test('an event of an unknown kind or shape is kept, passed over, and copied byte for byte', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const strange = '{ "kind":"hologram", "at":"x", "n": 1.50 }\n{"kind":"request","at":"t","text":7}\n'
  appendFileSync(eventsFile(ref), strange)
  await add(shelf, ref, turn('two'))
  const events = await eventsOf(ref)
  expect(events.map((event) => event.kind)).toEqual([
    'turn',
    'request',
    'response',
    'unknown',
    'unknown',
    'turn',
    'request',
    'response',
  ])
  expect(events[3]).toEqual({ kind: 'unknown', stored: { kind: 'hologram', at: 'x', n: 1.5 } })
  const fork = await forkConversation(shelf, ref)
  expect(readFileSync(eventsFile(fork), 'utf8')).toBe(readFileSync(eventsFile(ref), 'utf8'))
})

test.for([
  ['{"kind":"request","at":"2026', 'half a line'],
  ['\0\0\0\0\0\0', 'blocks that never reached the disk'],
  ['{"kind":"request"}garbage\n', 'garbage with a newline'],
  [`{"kind":"request","text":"${'y'.repeat(300_000)}`, 'half a line longer than a block'],
])('SPEC 6.1 a torn last line goes aside and nothing before it is lost: %s', async ([torn]) => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one', 'two')
  const before = await eventsOf(ref)
  appendFileSync(eventsFile(ref), torn!)
  expect(await eventsOf(ref)).toEqual(before) // a reader passes over it, and leaves it to the writer
  const writer = await openConversation(shelf, ref, AT_ONCE)
  await writer.append(turn('three'))
  await writer.close()
  const aside = `${eventsFile(ref)}.torn-2026-11-15T12-00-00.000Z`
  const text = `an incomplete last line of ${torn!.length} bytes was moved to events.jsonl.torn-2026-11-15T12-00-00.000Z`
  expect(writer.recovery).toEqual({ note: text, aside })
  expect(readFileSync(aside, 'utf8')).toBe(torn)
  expect(await eventsOf(ref)).toEqual([...before, { kind: 'note', at: AT, text }, ...turn('three')])
})

test('a last line that only lacks its newline was written by hand, and is kept', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  appendFileSync(eventsFile(ref), JSON.stringify(turn('by hand')[1]))
  await add(shelf, ref, turn('two'))
  expect(requests(await eventsOf(ref))).toEqual(['one', 'by hand', 'two'])
})

test('damage before the last line is an error that says where, and stops nobody from reading the others', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one', 'two')
  const lines = readFileSync(eventsFile(ref), 'utf8').split('\n')
  writeFileSync(eventsFile(ref), [lines[0], '{"kind":', ...lines.slice(2)].join('\n'))
  await expect(eventsOf(ref)).rejects.toMatchObject({
    code: 'CONVERSATION_UNREADABLE',
    line: 2,
    message: `cannot read the conversation in ${eventsFile(ref)}, line 2: it is not an event`,
  })
})

test('SPEC 6.1 one writer at a time: the second is told who holds it', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const writer = await openConversation(shelf, ref, AT_ONCE)
  await expect(openConversation(shelf, ref, AT_ONCE)).rejects.toMatchObject({
    code: 'LOCK_HELD',
    holder: { pid: process.pid, command: 'cordon test' },
  })
  await writer.close()
  await add(shelf, ref, turn('two'))
})

test('appends that overlap keep their order, and closing waits for all of them', async () => {
  const shelf = await freshShelf()
  const ref = await createConversation(shelf, { keeping: 'local' })
  const writer = await openConversation(shelf, ref, AT_ONCE)
  const texts = Array.from({ length: 20 }, (_, i) => `t${i}`)
  const appended = texts.map((text) => writer.append(turn(text)))
  // Looked at only when those before it are on the disk.
  let keptBefore: boolean | undefined
  const last: ConversationEvent = {
    kind: 'note',
    at: AT,
    get text() {
      keptBefore ??= readFileSync(eventsFile(ref), 'utf8').includes('you said t19')
      return 'last'
    },
  }
  appended.push(writer.append([last]))
  const refused = writer.append(turn(shelf.workspace.root)).catch((error: unknown) => error)
  await writer.close()
  await Promise.all(appended)
  expect(keptBefore).toBe(true)
  expect(await refused).toMatchObject({ code: 'HOST_PATH' })
  expect(requests(await eventsOf(ref))).toEqual(texts)
})

test('a log that was replaced or changed under the writer is not appended to', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const file = eventsFile(ref)
  const writer = await openConversation(shelf, ref, AT_ONCE)
  appendFileSync(file, '{"kind":"note"}\n')
  await expect(writer.append(turn('two'))).rejects.toThrow(
    `cannot add to the conversation in ${file}: another program changed the file meanwhile`,
  )
  await writer.close()
  const second = await openConversation(shelf, ref, AT_ONCE)
  writeFileSync(`${file}.git`, readFileSync(file))
  renameSync(`${file}.git`, file)
  await expect(second.append(turn('two'))).rejects.toThrow(
    `cannot add to the conversation in ${file}: the file was deleted or replaced meanwhile`,
  )
  await second.close()
})

test('SPEC 6.1 a host path does not get into an event, and the refused event changes nothing', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const before = readFileSync(eventsFile(ref), 'utf8')
  const writer = await openConversation(shelf, ref, AT_ONCE)
  const { root, home } = shelf.workspace
  const leaks: ConversationEvent[] = [
    { kind: 'request', at: AT, text: `see ${root}/src/a.ts:3`, resources: [] },
    { kind: 'request', at: AT, text: '', resources: [{ uri: `file://${home}/x` }] },
    { kind: 'tool_call', at: AT, id: '1', tool: 't', arguments: { deep: [{ [home]: 1 }] } },
    { kind: 'tool_result', at: AT, id: '1', outcome: 'error', text: `-I${root}/include`, resources: [] },
  ]
  for (const leak of leaks)
    await expect(writer.append([...turn('fine'), leak])).rejects.toMatchObject({ code: 'HOST_PATH' })
  await writer.append([
    { kind: 'request', at: AT, text: `${root}-copy and ${home}er are others`, resources: [] },
  ])
  await writer.close()
  expect(readFileSync(eventsFile(ref), 'utf8').startsWith(before)).toBe(true)
  expect(requests(await eventsOf(ref))).toHaveLength(2)
})

test('SPEC 6.1 a home behind a link is hidden under both of its names', async () => {
  const { base, workspace } = await freshWorkspace()
  mkdirSync(join(base, 'disk2/ann'), { recursive: true })
  symlinkSync(join(base, 'disk2/ann'), workspace.home)
  const text = `${workspace.home}/a ${base}/disk2/ann/b ${workspace.root}/c`
  expect(HostPaths.of(workspace).hide({ [text]: [text] })).toEqual({ '~/a ~/b ./c': ['~/a ~/b ./c'] })
})

test('titles, archiving and listing, without reading events', async () => {
  const shelf = await freshShelf()
  const a = await createConversation(shelf, { keeping: 'shared', title: 'First' })
  const b = await createConversation(shelf, { keeping: 'local', title: `in ${shelf.workspace.root}` })
  expect(
    listConversations(shelf)
      .map(({ title }) => String(title))
      .sort(),
  ).toEqual(['First', 'in .'])
  writeFileSync(eventsFile(a), 'not events at all\n\n\n')
  await titleConversation(shelf, b, `about ${shelf.workspace.root}/src`)
  await archiveConversation(shelf, a)
  const byId = (): Map<string, unknown> =>
    new Map(
      listConversations(shelf).map(({ id, title, archived_at, createdAt }) => [
        id,
        { title, archived_at, createdAt },
      ]),
    )
  const createdAt = new Date(AT)
  expect(byId().get(a.id)).toEqual({ title: 'First', archived_at: AT, createdAt })
  expect(byId().get(b.id)).toEqual({ title: 'about ./src', archived_at: undefined, createdAt })
  await unarchiveConversation(shelf, a)
  expect(byId().get(a.id)).toEqual({ title: 'First', archived_at: undefined, createdAt })
})

test('metadata that is damaged or from a newer version is listed, and kept when it can be', async () => {
  const shelf = await freshShelf()
  const a = await createConversation(shelf, { keeping: 'shared', title: 'First' })
  writeFileSync(join(a.dir, 'meta.json'), '{"title":"T","stars":5}')
  await archiveConversation(shelf, a)
  expect(JSON.parse(readFileSync(join(a.dir, 'meta.json'), 'utf8'))).toEqual({
    title: 'T',
    stars: 5,
    archived_at: AT,
  })
  writeFileSync(join(a.dir, 'meta.json'), '{{{')
  expect(listConversations(shelf).map(({ id, title }) => [id, title])).toEqual([[a.id, undefined]])
})

test('a conversation is found by its id or by enough of it', async () => {
  const shelf = await freshShelf()
  const a = await createConversation(shelf, { keeping: 'shared' })
  const b = await createConversation(shelf, { keeping: 'local' })
  expect(findConversation(shelf, a.id)).toEqual(a)
  expect(findConversation(shelf, b.id.slice(8))).toEqual(b)
  const both = [a.id, b.id].sort().join(', ')
  expect(() => findConversation(shelf, a.id.slice(0, 8))).toThrow(
    `"${a.id.slice(0, 8)}" could be any of ${both}; write more of the id`,
  )
  for (const asked of ['', '..', '../../x'])
    expect(() => findConversation(shelf, asked)).toThrow(
      `there is no conversation ${JSON.stringify(asked)}; \`cordon conversation ls\` lists them`,
    )
})

test('a fork ends with the turn it is asked for, and says where it came from', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one', 'two', 'three')
  const fork = await forkConversation(shelf, ref, { turns: 2, title: 'Again' })
  expect(requests(await eventsOf(fork))).toEqual(['one', 'two'])
  expect(listConversations(shelf).find(({ id }) => id === fork.id)).toMatchObject({
    forked_from: ref.id,
    title: 'Again',
  })
  const untitled = await forkConversation(shelf, fork)
  expect(listConversations(shelf).find(({ id }) => id === untitled.id)).toMatchObject({ title: 'Again' })
  await add(shelf, fork, turn('other three'))
  expect(requests(await eventsOf(ref))).toEqual(['one', 'two', 'three'])
  expect(requests(await eventsOf(fork))).toEqual(['one', 'two', 'other three'])
})

test('removing leaves nothing, and is refused while somebody writes', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const writer = await openConversation(shelf, ref, AT_ONCE)
  await expect(removeConversation(shelf, ref)).rejects.toMatchObject({ code: 'LOCK_HELD' })
  await writer.close()
  await removeConversation(shelf, ref)
  expect(readdirSync(join(shelf.workspace.shared, 'conversations'))).toEqual([])
  expect(readdirSync(join(shelf.workspace.local, 'locks'))).toEqual([])
})

test('what a crash left half made or half removed is swept, what somebody works on is not', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const parent = join(shelf.workspace.shared, 'conversations')
  const [made, going] = ['.new-01m7fh87g0aaaaaa', '.rm-01m7fh87g0bbbbbb']
  for (const name of [made, going, 'not-ours']) mkdirSync(join(parent, name, 'x'), { recursive: true })
  writeFileSync(join(ref.dir, 'meta.json.tmp'), '{')
  const ids = ['01m7fh87g0aaaaaa', '01m7fh87g0bbbbbb', ref.id]
  const locks = ids.map((id) => tryLock(lockFile(shelf.workspace, id), { what: 'x', holder: HOLDER })!)
  await sweepConversations(shelf)
  expect(readdirSync(parent).sort()).toEqual([made, going, ref.id, 'not-ours'].sort())
  expect(existsSync(join(ref.dir, 'meta.json.tmp'))).toBe(true)
  for (const lock of locks) lock.release()
  tryLock(lockFile(shelf.workspace, '01m7fh87g0cccccc'), { what: 'x', holder: HOLDER })!.release() // never made
  await sweepConversations(shelf)
  expect(readdirSync(join(shelf.workspace.local, 'locks'))).toEqual([`${ref.id}.lock`])
  expect(readdirSync(parent).sort()).toEqual([ref.id, 'not-ours'].sort())
  expect(readdirSync(ref.dir).sort()).toEqual(['events.jsonl', 'meta.json'])
})

test('a session finds the conversation it used last, else the last that any used', async () => {
  const shelf = await freshShelf()
  expect(await lastUsedConversation(shelf, 'tty1')).toBeUndefined()
  const [a, b] = [await conversationWith(shelf, 'a'), await conversationWith(shelf, 'b')]
  await useConversation(shelf, 'tty1', a.id)
  await useConversation(shelf, 'tty2', b.id)
  expect(await lastUsedConversation(shelf, 'tty1')).toEqual(a)
  expect(await lastUsedConversation(shelf, 'tty3')).toEqual(b)
  await removeConversation(shelf, b)
  expect(await lastUsedConversation(shelf, 'tty2')).toBeUndefined()
  writeFileSync(join(shelf.workspace.local, 'sessions/last-used.json'), 'junk')
  expect(await lastUsedConversation(shelf, 'tty1')).toBeUndefined()
  await useConversation(shelf, 'tty1', a.id)
  expect(await lastUsedConversation(shelf, 'tty1')).toEqual(a)
})

test('grep finds text in every kind of event, and says where', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'needle here\nhay', 'hay')
  appendFileSync(eventsFile(ref), '{"kind":"later","payload":["a needle"]}\n')
  const hits: Hit[] = []
  for await (const hit of grepConversations([ref], (text) => text.includes('needle'))) hits.push(hit)
  expect(hits).toEqual([
    { conversation: ref, line: 2, kind: 'request', text: 'needle here' },
    { conversation: ref, line: 3, kind: 'response', text: 'you said needle here' },
    { conversation: ref, line: 7, kind: 'later', text: 'a needle' },
  ])
})

test('decision 0495: a clone whose conversations lead elsewhere: nothing is swept there', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const outside = join(shelf.workspace.root, '..', 'outside')
  const half = [`.new-${ref.id}`, `.rm-${ref.id}`, `${ref.id}/meta.json.tmp`]
  for (const name of half) {
    mkdirSync(dirname(join(outside, name)), { recursive: true })
    writeFileSync(join(outside, name), 'of somebody else')
  }
  rmSync(ref.dir, { recursive: true })
  symlinkSync(join(outside, ref.id), ref.dir)
  await sweepConversations(shelf)
  rmSync(dirname(ref.dir), { recursive: true })
  symlinkSync(outside, dirname(ref.dir))
  await sweepConversations(shelf)
  expect(half.filter((name) => existsSync(join(outside, name)))).toEqual(half)
})

test('a link planted in the place of a conversation, of its log or of all of them is not followed', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const outside = join(shelf.workspace.root, '..', 'outside')
  mkdirSync(outside)
  writeFileSync(join(outside, 'events.jsonl'), '')
  rmSync(eventsFile(ref))
  symlinkSync(join(outside, 'events.jsonl'), eventsFile(ref))
  await expect(add(shelf, ref, turn('x'))).rejects.toThrow(
    `cannot add to the conversation in ${eventsFile(ref)}: it is a symbolic link`,
  )
  await expect(eventsOf(ref)).rejects.toThrow('it is a symbolic link')
  rmSync(ref.dir, { recursive: true })
  symlinkSync(outside, ref.dir)
  await expect(add(shelf, ref, turn('x'))).rejects.toThrow('it is reached through a symbolic link')
  rmSync(join(shelf.workspace.shared, 'conversations'), { recursive: true })
  symlinkSync(outside, join(shelf.workspace.shared, 'conversations'))
  await expect(createConversation(shelf, { keeping: 'shared' })).rejects.toThrow(
    'it is reached through a symbolic link',
  )
  expect(readdirSync(outside)).toEqual(['events.jsonl'])
  expect(statSync(join(outside, 'events.jsonl')).size).toBe(0)
})

test('printing shows the talk, and content cannot end its own fence', async () => {
  const events: StoredEvent[] = [
    { kind: 'turn', at: AT },
    {
      kind: 'request',
      at: AT,
      text: 'Hello',
      resources: [{ uri: 'file:///a.md', mimeType: 'text/markdown' }],
    },
    { kind: 'tool_result', at: AT, id: '1', outcome: 'success', text: 'a\n```\nb', resources: [] },
    { kind: 'inquiry', at: AT, id: '1', question: 'Sure?', answer: true },
    { kind: 'note', at: AT, text: 'n' },
  ]
  const parts: string[] = []
  for await (const part of printTalk(each(events))) parts.push(part)
  expect(parts).toEqual([
    '## You\n\nHello\n\n- file:///a.md (text/markdown)\n',
    '## Result (success)\n\n````\na\n```\nb\n````\n',
    '## Question\n\nSure?\n\ntrue\n',
    '> n\n',
    '> no answer came: the turn failed, or was interrupted\n',
  ])
})

test('SPEC 6.1 what could not be read again is not written, and nothing of it (decision 0382)', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const before = readFileSync(eventsFile(ref))
  const long = 'x'.repeat(64 * 1024 * 1024)
  const writer = await openConversation(shelf, ref, AT_ONCE)
  await expect(writer.append(turn(long))).rejects.toMatchObject({
    code: 'CONVERSATION_APPEND',
    message: expect.stringMatching(/an event of 671\d+ bytes, and 67108864 can be read again$/) as string,
  })
  expect(readFileSync(eventsFile(ref)).equals(before)).toBe(true)
  await writer.close()
  const event = { kind: 'note', at: AT, text: '' } as const
  const most = 64 * 1024 * 1024 - JSON.stringify(event).length
  await add(shelf, ref, [{ ...event, text: long.slice(0, most) }])
  await add(shelf, ref, turn('two'))
  expect(requests(await eventsOf(ref))).toEqual(['one', 'two'])
})

test('a line that is too long to be read is left out, and named; the conversation goes on, and so does a fork', async () => {
  const shelf = await freshShelf()
  const ref = await conversationWith(shelf, 'one')
  const event = { kind: 'note', at: AT, text: 'x'.repeat(64 * 1024 * 1024) }
  appendFileSync(eventsFile(ref), `${JSON.stringify(event)}\n`)
  await add(shelf, ref, turn('two'))
  const { length } = JSON.stringify(event)
  const text = `the event in line 4 is left out: it has ${length} bytes, and 67108864 are read`
  const note = { kind: 'note', at: AT, text, left_out: { line: 4, bytes: length } }
  expect(await eventsOf(ref)).toEqual([...turn('one'), note, ...turn('two')])
  const fork = await forkConversation(shelf, ref)
  expect(await eventsOf(fork)).toEqual([...turn('one'), note, ...turn('two')])
  expect(statSync(eventsFile(fork)).size).toBeLessThan(10_000)
})
// oxlint-disable-next-line require-await
async function* each<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values
}
