import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { externalUri, readConversation, type StoredEvent } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { openAmbientRoot, parseAccessPolicy } from '@cordon/policy'
import { probeKernel } from '@cordon/sandbox'
import { attachCommand } from '../../src/attachment/command.ts'
import { InterruptedError } from '../../src/attachment/errors.ts'
import { Lab, never, serve } from './lab.ts'

const at = '2026-11-15T12:00:00.000Z'

async function eventsOf(lab: Lab): Promise<StoredEvent[]> {
  const { conversation } = await lab.open().list()
  const events: StoredEvent[] = []
  for await (const event of readConversation(conversation)) events.push(event)
  return events
}

test('one failure among several, and nothing is attached and no conversation begun', async () => {
  const lab = new Lab()
  lab.write('a.md', 'a')
  await expect(lab.open().add(['a.md', 'missing'], never)).rejects.toThrow(
    'cannot attach missing: it does not exist',
  )
  await expect(lab.open().add(['a.md', 'ftp://x/'], never)).rejects.toMatchObject({ code: 'ATTACH' })
  expect(existsSync(join(lab.root, '.cordon/conversations'))).toBe(false)
  await expect(lab.open().list()).rejects.toMatchObject({ code: 'NO_CONVERSATION' })
})

test('by the URI that Cordon shows, also from elsewhere, and never more than that file', async () => {
  const lab = new Lab()
  lab.write('src/ä [1].md', 'a')
  lab.write('src/1.md', 'b')
  lab.write('one/only.md', 'c')
  const uri = 'file:///src/%C3%A4%20%5B1%5D.md'
  const { items } = await lab.open().add([uri], never)
  expect(items.map(({ attachment }) => attachment.uri)).toEqual([uri])
  for (const other of [
    'file:///src',
    'file:///one',
    'file:///one/*',
    'file:///../home',
    'file:///src/*.md',
    'file:///missing',
  ])
    await expect(lab.open().add([other], never)).rejects.toMatchObject({ code: 'ATTACH' })
})

test('an unchanged file adds no event; a changed one adds one, and both versions stay', async () => {
  const lab = new Lab()
  lab.write('a.md', 'one')
  const first = await lab.open().add(['a.md'], never)
  expect(first.started).toBe('new')
  const again = await lab.open().add(['a.md'], never)
  expect([again.started, again.conversation.id]).toEqual(['known', first.conversation.id])
  expect(again.items.map(({ outcome, delivery }) => [outcome, delivery.kind])).toEqual([
    ['unchanged', 'reference'],
  ])
  expect((await eventsOf(lab)).length).toBe(1)
  lab.write('a.md', 'two')
  await lab.open().add(['a.md'], never)
  expect((await eventsOf(lab)).map(({ kind }) => kind)).toEqual(['attach', 'attach'])
  const { attachments } = await lab.open().list()
  expect(attachments.length).toBe(2)
  const text = async (sum: string | undefined): Promise<string> => {
    let all = ''
    for await (const chunk of lab.open().content(await lab.open().find('a.md', sum)))
      all += Buffer.from(chunk).toString()
    return all
  }
  expect(await text(undefined)).toBe('two')
  expect(await text(attachments[0]!.checksum.slice(0, 8))).toBe('one')
  // Taken out, both of them, by two events; nothing of the log is rewritten.
  await lab.open().remove(['a.md'], undefined)
  expect((await lab.open().list()).attachments).toEqual([])
  expect((await eventsOf(lab)).map(({ kind }) => kind)).toEqual(['attach', 'attach', 'detach', 'detach'])
  await expect(lab.open().remove(['a.md'], undefined)).rejects.toMatchObject({ code: 'ATTACHMENT_NOT_FOUND' })
})

test('refresh_resource: files, answers and output as they are now; external: explains why not', async () => {
  let answer = 'one'
  const port = await serve((_, res) => res.end(answer))
  const lab = new Lab()
  lab.config(`[[profiles.attach.access.net]]\nhost = "localhost"\nport = ${port}\nallow = true\n`)
  lab.write('a.md', 'one')
  const url = `https://localhost:${port}/x`
  await lab.open().add(['a.md', url, 'command:cat a.md'], never)
  const refreshed = async (uri: string): Promise<unknown> => {
    const { resource, delivery } = await lab.open().refresh(uri, never)
    const text = (await lab.blobs.read(resource, 100)).toString()
    return delivery.kind === 'reference' ? delivery.text : text
  }
  for (const uri of ['file:///a.md', url, 'command:cat a.md'])
    expect(await refreshed(uri)).toBe(`[${uri} is unchanged; its content is earlier in this turn]`)
  lab.write('a.md', 'two')
  answer = 'two'
  for (const uri of ['file:///a.md', url, 'command:cat a.md']) expect(await refreshed(uri)).toBe('two')
  expect((await eventsOf(lab)).length).toBe(1)
  const external = externalUri(join(lab.home, 'report.pdf'))
  await expect(lab.open().refresh(external, never)).rejects.toThrow(
    `cannot refresh "${external}": it was attached from outside the workspace and is kept as it was then; the file may ` +
      'have moved, been deleted, or not exist on this machine. Attach it again to add its present content.',
  )
})

test('refresh_resource runs, reads and fetches nothing that a person did not attach', async () => {
  const lab = new Lab()
  lab.write('.env', 'SECRET')
  const planted = ['command:touch planted', 'file:///.env', 'https://localhost/']
  const conversation = await lab.talk({
    kind: 'tool_result',
    at,
    id: '1',
    outcome: 'success',
    text: '',
    resources: planted.map((uri) => ({ uri, text: '' })),
  })
  for (const uri of [...planted, 'command:touch other', 'file:///a.md'])
    await expect(lab.open({ conversation }).refresh(uri, never)).rejects.toThrow(
      `cannot refresh "${uri}": it is not attached to this conversation`,
    )
  expect(readdirSync(lab.root).toSorted()).toEqual(['.cordon', '.env'])
  expect(existsSync(join(lab.root, '.cordon/blobs'))).toBe(false)
})

test('commands run confined: no network, nothing outside, limits, and failures with what they said', async () => {
  const lab = new Lab()
  lab.write('a.md', 'in the workspace')
  const problem = async (text: string, limits?: { bytes?: number; seconds?: number }): Promise<string> =>
    lab
      .open({ limits })
      .add([text], never)
      .then(
        () => 'attached',
        (error: unknown) => (error as Error).message,
      )
  const { items } = await lab.open().add(['command:cat a.md'], never)
  expect(items.map(({ attachment }) => [attachment.uri, attachment.mimeType, attachment.size])).toEqual([
    ['command:cat a.md', 'text/plain', 16],
  ])
  expect(await problem(`command:sh -c 'echo out; echo why >&2; exit 3'`)).toBe(
    `cannot attach command:sh -c 'echo out; echo why >&2; exit 3': the command ended with 3\n  why`,
  )
  expect(await problem('command:no-such-program')).toMatch(/no-such-program/)
  expect(await problem('command:yes', { bytes: 1024 * 1024 })).toBe(
    'cannot attach command:yes: it wrote more than 1 MiB',
  )
  expect(await problem('command:sleep 30', { seconds: 1 })).toBe(
    'cannot attach command:sleep 30: it took longer than 1 seconds',
  )
  lab.write('../home/.config/cordon/config.toml', '[sandbox]\nmode = "off"\n')
  expect(await problem('command:ls')).toBe(
    'cannot attach command:ls: commands run confined, and sandbox.mode is "off"',
  )
  const { attachments } = await lab.open().list()
  expect(attachments.length).toBe(1)
})

test('SPEC 4.3 warn: what could not be held is said, and the command runs; enforce refuses it', async () => {
  const lab = new Lab()
  lab.write('a.md', 'x')
  const said: string[] = []
  const attach = (mode: 'warn' | 'enforce'): Promise<unknown> =>
    attachCommand(['cat', 'a.md'], {
      policy: parseAccessPolicy({ fs: [{ path: '.', read: true, write: true, execute: true }] }),
      sandbox: { mode, sensitive: [], guard: [], unix_sockets: 'pairs', limits: {} },
      root: openAmbientRoot(lab.root),
      home: lab.home,
      unfinished: join(lab.home, 'unfinished'),
      cwd: lab.root,
      env: { PATH: process.env['PATH'] },
      store: lab.blobs.shared,
      signal: never,
      notice: (texts) => said.push(...texts),
      kernel: { ...probeKernel(), landlockAbi: 0, newRoot: { step: 'unshare', errno: 'EPERM' } },
    })
  await expect(attach('enforce')).rejects.toMatchObject({ code: 'UNENFORCEABLE' })
  expect(said).toEqual([])
  await attach('warn')
  expect(said[0]!.split('\n', 2)).toEqual([
    'command:cat a.md: not held here: nothing keeps a program from the files outside the workspace',
    '  why: the kernel permits neither a new root nor Landlock',
  ])
})

test('SPEC 4.10: what is new at a guarded path is told, also when the command failed', async () => {
  const lab = new Lab()
  lab.write('make.sh', 'mkdir .vscode; exit 1')
  await expect(lab.open().add(['command:sh make.sh'], never)).rejects.toThrow('ended with 1')
  expect(lab.warnings).toEqual([
    `command:sh make.sh: ${lab.root}/.vscode was made, which the host obeys or runs by itself later`,
  ])
})

test('a path of this machine in a command is hidden in its URI', async () => {
  const lab = new Lab()
  lab.write('a.md', 'x')
  const { items } = await lab.open().add([`command:cat ${lab.root}/a.md`], never)
  expect(items[0]!.attachment.uri).toBe('command:cat ./a.md')
})

test('the rules of the conversation count for what is attached to it', async () => {
  const port = await serve((_, res) => res.end('ok'))
  const lab = new Lab()
  const net = [{ host: 'localhost', port, allow: true }]
  const conversation = await lab.talk({
    kind: 'config',
    at,
    delta: { profiles: { attach: { access: { net } } } },
  })
  const url = `https://localhost:${port}/`
  await expect(lab.open().add([url], never)).rejects.toMatchObject({ code: 'ATTACH_FAILED' })
  expect((await lab.open({ conversation }).add([url], never)).items.length).toBe(1)
})

test('interrupted half-way: no event, no conversation, no temporary file, no process', async () => {
  const lab = new Lab()
  lab.write('a.md', 'a')
  lab.write('large', Buffer.alloc(64 * 1024 * 1024, 'large'))
  const blobs = join(lab.root, '.cordon/blobs')
  const isPutting = (): boolean =>
    existsSync(blobs) && readdirSync(blobs).some((name) => name.startsWith('.put-'))
  for (const what of [
    ['a.md', 'large'],
    ['a.md', 'command:sleep 60'],
    ["command:sh -c 'yes | head -c 50000000'", 'large'],
  ]) {
    const stopping = new AbortController()
    const added = lab.open().add(what, stopping.signal)
    const stop = async (): Promise<void> => {
      // While it is at it, or what is first in its way.
      for (let tries = 0; !isPutting() && tries < 150; tries++) await sleep(1)
      stopping.abort(new InterruptedError())
    }
    await Promise.all([expect(added).rejects.toThrow('interrupted; nothing was attached'), stop()])
    expect(existsSync(join(lab.root, '.cordon/conversations'))).toBe(false)
    const left = readdirSync(lab.base, { recursive: true, encoding: 'utf8' })
    expect(left.filter((path) => /\.put-|\.new-|\.tmp$/.test(path))).toEqual([])
  }
})

test('what a killed process left is swept by the next one', async () => {
  const lab = new Lab()
  lab.write('a.md', 'a')
  lab.write('.cordon/blobs/.put-0123456789abcdef', 'half')
  await lab.open().add(['a.md'], never)
  expect(readdirSync(join(lab.root, '.cordon/blobs')).filter((name) => name.startsWith('.'))).toEqual([])
  const [file] = readdirSync(join(lab.root, '.cordon/conversations'))
  expect(
    readFileSync(join(lab.root, '.cordon/conversations', file!, 'events.jsonl'), 'utf8').split('\n').length,
  ).toBe(2)
})
