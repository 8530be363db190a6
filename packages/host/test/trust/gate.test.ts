import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Source } from '@cordon/config'
import { openWorkspace, prepareLocal, type Workspace } from '@cordon/workspace'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { ConversationLayer } from '../../src/conversation/layer.ts'
import { openAmbientProject, type Project, type ProjectOptions, withWaiting } from '../../src/project.ts'
import { changeSetting } from '../../src/settings.ts'
import { type NotTrustedError, storeOf, type TrustTerms } from '../../src/trust/gate.ts'

let root: string
let options: ProjectOptions
let workspace: Workspace

beforeEach(async () => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-trust-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  root = join(base, 'ws')
  mkdirSync(join(root, '.cordon'), { recursive: true })
  const surroundings = { env: {}, platform: 'linux', home: join(base, 'home'), uid: process.getuid?.() }
  options = { cwd: root, surroundings, cfg: [] }
  workspace = openWorkspace(root, surroundings)!
  await prepareLocal(workspace, { pid: process.pid, command: 'test' })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

const store = () => storeOf(workspace, options.surroundings, { pid: process.pid })
const trust = (path: string): Promise<void> =>
  store().trust([{ path, text: readFileSync(join(root, path), 'utf8') }])
const open = (more: Partial<ProjectOptions> = {}): Promise<Project> =>
  openAmbientProject({ ...options, ...more })
const processes = ({ loaded }: Project): number | undefined => loaded.config.sandbox.limits.processes
const limit = (value: number): string => `sandbox.limits.processes = ${value}\n`

/** A person who gives these answers in turn; every question is kept. */
function terms(
  needs: TrustTerms['needs'],
  ...answers: ('yes' | 'no' | 'view')[]
): TrustTerms & { asked: string[] } {
  const asked: string[] = []
  const reviews = (question: string): Promise<'yes' | 'no' | 'view'> => {
    asked.push(question)
    return Promise.resolve(answers.shift() ?? 'no')
  }
  return { needs, pid: process.pid, reviewer: () => ({ reviews }), asked }
}

async function refusal(
  opened: Promise<unknown>,
): Promise<Pick<NotTrustedError, 'code' | 'waiting' | 'message'>> {
  const error = await opened.then(
    () => undefined,
    (reason: unknown) => reason as NotTrustedError,
  )
  return { code: error!.code, waiting: error!.waiting, message: error!.message }
}

test('SPEC 2.1 what is not trusted does not count: needed, it is an error with its fields; else it is left out', async () => {
  write('.cordon/config.toml', limit(1))
  write('a/.cordon.toml', limit(2))
  expect(await refusal(open({ cwd: join(root, 'a') }))).toEqual({
    code: 'NOT_TRUSTED',
    waiting: [
      { path: '.cordon/config.toml', state: 'new' },
      { path: 'a/.cordon.toml', state: 'new' },
    ],
    message: `nobody has trusted what these files of the workspace say, and this command needs it
  .cordon/config.toml (new)
  a/.cordon.toml (new)
  fix: run \`cordon trust\`, which shows what they would grant; without a terminal \`cordon trust show\`, then \`cordon trust --yes\``,
  })
  const without = await open({ cwd: join(root, 'a'), trust: terms('nothing') })
  expect(processes(without)).toBe(1024)
  expect(without.notices).toEqual([
    'not trusted, and not in effect: .cordon/config.toml, a/.cordon.toml; see `cordon trust`',
  ])
})

test('SPEC 2.1 trust is for a whole file under its path, and ends with any change of it', async () => {
  write('.cordon/config.toml', limit(1))
  await trust('.cordon/config.toml')
  expect(processes(await open())).toBe(1)
  write('.cordon/config.toml', `${limit(1)} `)
  expect((await refusal(open())).waiting).toEqual([{ path: '.cordon/config.toml', state: 'changed' }])
  // The same text elsewhere was never trusted.
  write('.cordon/config.toml', limit(1))
  write('.cordon.toml', limit(1))
  expect((await refusal(open())).waiting).toEqual([{ path: '.cordon.toml', state: 'new' }])
})

test('SPEC 2.1 text that is not trusted is not parsed: what is wrong with it is no obstacle', async () => {
  write('.cordon.toml', '[broken')
  mkdirSync(join(root, '.cordon/config.toml'))
  const project = await open({ trust: terms('nothing') })
  expect(project.notices).toEqual([
    'not trusted, and not in effect: .cordon.toml; see `cordon trust`',
    'not in effect: .cordon/config.toml: cannot read the config file: it is a directory\n  fix: put a file in its place, or take it away',
  ])
  expect(() => withWaiting(project)).toThrow('cannot read the config file: it is a directory')
  // What a person wrote is always read.
  mkdirSync(join(options.surroundings.home, '.config/cordon'), { recursive: true })
  writeFileSync(join(options.surroundings.home, '.config/cordon/config.toml'), '[broken')
  await expect(open({ trust: terms('nothing') })).rejects.toMatchObject({ code: 'CONFIG' })
})

test('SPEC 2.1 at a terminal: asked once each, remembered before it counts; the first no ends it', async () => {
  write('.cordon/config.toml', limit(1))
  write('.cordon.toml', limit(2))
  const yesNo = terms('files', 'view', 'yes', 'no')
  expect((await refusal(open({ trust: yesNo }))).waiting).toEqual([{ path: '.cordon.toml', state: 'new' }])
  expect(yesNo.asked.map((question) => question.split('\n').at(-1))).toEqual([
    'Trust .cordon/config.toml as it is now? (v: view all of it) [y/N/v] ',
    'Trust .cordon/config.toml as it is now? (v: view all of it) [y/N/v] ',
    'Trust .cordon.toml as it is now? (v: view all of it) [y/N/v] ',
  ])
  expect(yesNo.asked[1]).toBe(
    '.cordon/config.toml, whole:\n\n  sandbox.limits.processes = 1\n\n\nIn all: settings: 1\nTrust .cordon/config.toml as it is now? (v: view all of it) [y/N/v] ',
  )
  const again = terms('files', 'yes')
  expect(processes(await open({ trust: again }))).toBe(2)
  expect(again.asked).toHaveLength(1)
  expect(processes(await open())).toBe(2)
})

test('SPEC 2.1 what was read is what is trusted and merged, whatever the file holds by then', async () => {
  write('.cordon/config.toml', limit(1))
  const swapping = terms('files')
  const reviewer = {
    reviews: () => {
      write('.cordon/config.toml', limit(666)) // while the person looks
      return Promise.resolve('yes' as const)
    },
  }
  expect(processes(await open({ trust: { ...swapping, reviewer: () => reviewer } }))).toBe(1)
  expect((await refusal(open())).waiting).toEqual([{ path: '.cordon/config.toml', state: 'changed' }])
})

test('SPEC 2.1 nobody is asked by a command that needs nothing, and nothing is read of a store without files', async () => {
  write('.cordon/config.toml', limit(1))
  const quiet = terms('nothing', 'yes')
  await open({ trust: quiet })
  expect(quiet.asked).toEqual([])
  rmSync(join(root, '.cordon/config.toml'))
  mkdirSync(workspace.local, { recursive: true })
  writeFileSync(join(workspace.local, 'approvals.json'), 'junk')
  expect((await open()).notices).toEqual([])
})

test('SPEC 2.1 a malformed store trusts nothing, and the error says why', async () => {
  write('.cordon/config.toml', limit(1))
  await trust('.cordon/config.toml')
  writeFileSync(join(workspace.local, 'approvals.json'), '{"configs": 1}')
  expect((await refusal(open())).message).toContain(
    `  because: approvals are ignored: ${join(workspace.local, 'approvals.json')}: "configs" is not a list; nothing counts as approved\n`,
  )
})

test('SPEC 2.1 what a conversation says without a seal is one more item, after the files and under its own name', async () => {
  const value = { sandbox: { limits: { processes: 7 } } }
  const foreignSource: Source = { layer: 'conversation', label: 'conversation c', key: [], value }
  const conversation = {
    ref: { id: 'c' },
    sources: [],
    foreign: { name: 'conversations/c', text: JSON.stringify([value]), sources: [foreignSource] },
  } as unknown as ConversationLayer
  expect((await refusal(open({ conversation }))).waiting).toEqual([{ path: 'conversations/c', state: 'new' }])
  const asked = terms('files', 'yes')
  expect(processes(await open({ conversation, trust: asked }))).toBe(7)
  expect(asked.asked[0]).toContain('sandbox.limits = { processes = 7 }')
  expect(processes(await open({ conversation }))).toBe(7)
  // What this user sealed wins over it.
  const sealed: Source = { ...foreignSource, sealed: true, value: { sandbox: { limits: { processes: 8 } } } }
  expect(processes(await open({ conversation: { ...conversation, sources: [sealed] } }))).toBe(8)
  const more = { ...conversation.foreign!, text: '[]' }
  expect((await refusal(open({ conversation: { ...conversation, foreign: more } }))).waiting).toEqual([
    { path: 'conversations/c', state: 'changed' },
  ])
})

test('SPEC 2.1 what waits is checked in its place among the layers, and nothing of it is in effect', async () => {
  write('.cordon.toml', limit(1))
  write('a/.cordon.toml', limit(2))
  await trust('a/.cordon.toml')
  const project = await open({ cwd: join(root, 'a'), trust: terms('nothing') })
  expect(processes(project)).toBe(2)
  expect(processes(withWaiting(project))).toBe(2) // the deeper file wins, trusted or not
})

const set = { layer: 'workspace', key: 'sandbox.limits.processes', value: '5' } as const

test('SPEC 2.1 what a person changes through Cordon stays trusted; a missing file counts as trusted', async () => {
  await changeSetting(options, set)
  expect(processes(await open())).toBe(5)
  await changeSetting(options, { ...set, value: '6' })
  expect(processes(await open())).toBe(6)
})

test('SPEC 2.1 an edit never makes trusted what nobody saw', async () => {
  write('.cordon/config.toml', limit(1))
  expect((await refusal(changeSetting(options, set))).waiting).toEqual([
    { path: '.cordon/config.toml', state: 'new' },
  ])
  expect(readFileSync(join(root, '.cordon/config.toml'), 'utf8')).toBe(limit(1))
  // A person's own layers need nothing of it.
  await changeSetting({ ...options, trust: terms('nothing') }, { ...set, layer: 'user-workspace' })
  expect(processes(await open({ trust: terms('nothing') }))).toBe(5)
  expect((await refusal(open())).waiting).toHaveLength(1)
})

test('SPEC 2.1 the file is changed between reading and writing: refused, and nothing new is trusted', async () => {
  write('.cordon/config.toml', limit(1))
  // The person trusts what was shown; meanwhile something else is written.
  const reviewer = {
    reviews: () => {
      write('.cordon/config.toml', limit(666))
      return Promise.resolve('yes' as const)
    },
  }
  const refused = changeSetting({ ...options, trust: { ...terms('files'), reviewer: () => reviewer } }, set)
  await expect(refused).rejects.toMatchObject({ code: 'CONFIG_WRITE' })
  expect((await refusal(open())).waiting).toEqual([{ path: '.cordon/config.toml', state: 'changed' }])
})

test('SPEC 2.1 the write of the store fails after the edit: the file is changed, and not trusted', async () => {
  await changeSetting(options, set)
  const before = readFileSync(join(workspace.local, 'approvals.json'), 'utf8')
  rmSync(join(workspace.local, 'locks'), { recursive: true })
  writeFileSync(join(workspace.local, 'locks'), '')
  await expect(changeSetting(options, { ...set, value: '9' })).rejects.toThrow()
  expect(readFileSync(join(workspace.local, 'approvals.json'), 'utf8')).toBe(before)
  expect((await refusal(open())).waiting).toEqual([{ path: '.cordon/config.toml', state: 'changed' }])
})

const LOCAL = '[conversation.tools.t]\nsource = "local"\ncommand = ["true"]\n'
const NET = '[conversation.tools.t.access]\nnet = [{ host = "a.example", allow = true }]\n'

test('SPEC 2.1 what is not whole without a file that waits is left out and named, and all else of it counts', async () => {
  write('.cordon/config.toml', LOCAL)
  write('.cordon.toml', limit(7) + NET)
  await trust('.cordon.toml')
  const without = await open({ trust: terms('nothing') })
  expect(without.loaded.config.conversation.tools['t']).toBeUndefined()
  expect(processes(without)).toBe(7)
  expect(without.notices).toEqual([
    'not trusted, and not in effect: .cordon/config.toml; see `cordon trust`',
    'not complete without what waits, and not in effect: `conversation.tools.t` (.cordon.toml:2:1)',
  ])
  expect(withWaiting(without).loaded.config.conversation.tools['t']).toMatchObject({
    command: ['true'],
    access: { net: [{ host: 'a.example' }] },
  })
  expect((await refusal(open())).code).toBe('NOT_TRUSTED')
})

test('SPEC 2.1 with nothing that waits it is an error; so is what no other file could put right', async () => {
  write('.cordon.toml', NET)
  await trust('.cordon.toml')
  const message =
    'error: `conversation.tools.t` has `access`, but no layer gives it a `source`\n  at .cordon.toml:1:1\n' +
    '  fix: write source = "local" with a command, or source = "mcp.<server>", or correct the name of the tool'
  expect(await refusal(open({ trust: terms('nothing') }))).toMatchObject({ code: 'CONFIG', message })
  write('a/.cordon.toml', '')
  write('.cordon.toml', `${NET}timeout_secs = "x"\n`)
  await trust('.cordon.toml')
  const { code, message: other } = await refusal(open({ cwd: join(root, 'a'), trust: terms('nothing') }))
  expect({ code, other }).toEqual({
    code: 'CONFIG',
    other: expect.stringMatching(/^error: [^]*timeout_secs[^]*at \.cordon\.toml/) as string,
  })
  expect(other).not.toContain('no layer')
})

test('SPEC 2.1 a server that is not whole takes its tools with it; an edit of a person’s own file still works', async () => {
  write('.cordon/config.toml', '[providers.mcp.s]\ncommand = "s"\nstateful = false\n')
  const own = join(options.surroundings.home, '.config/cordon/config.toml')
  mkdirSync(dirname(own), { recursive: true })
  writeFileSync(own, '[providers.mcp.s]\noptional = true\n[conversation.tools.t]\nsource = "mcp.s"\n')
  const without = await open({ trust: terms('nothing') })
  expect(without.loaded.config.providers.mcp['s']).toBeUndefined()
  expect(without.loaded.config.conversation.tools['t']).toBeUndefined()
  expect(without.notices.at(-1)).toBe(
    `not complete without what waits, and not in effect: \`providers.mcp.s\` (${own}:1:1), \`conversation.tools.t\` (${own}:4:1)`,
  )
  const changed = await changeSetting(
    { ...options, trust: terms('nothing') },
    { layer: 'user', key: 'conversation.tools.u.access.env', value: '+{ name = "A", read = true }' },
  )
  expect(changed.notices.at(-1)).toMatch(/^not complete without what waits[^]*`conversation\.tools\.u`/)
})
