import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { CordonError } from '@cordon/policy'
import { openConversation } from '@cordon/workspace'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findChosen } from '../../src/conversation/choose.ts'
import { shelfOf } from '../../src/conversation/open.ts'
import { applyMounts } from '../../src/mount/apply.ts'
import { MountFailedError } from '../../src/mount/errors.ts'
import type { MountFlag } from '../../src/mount/plan.ts'
import { watchedEffects } from './effects.ts'
import { Lab, mount, noMount } from './lab.ts'

let lab: Lab
let x: string
let y: string

beforeEach(() => {
  lab = new Lab()
  x = lab.place('x')
  y = lab.place('y')
})
afterEach(() => rmSync(lab.base, { recursive: true }))

class Injected extends CordonError {
  readonly code = 'STORAGE'
}

/** Applies the flags to the last used conversation; the effect with this number fails. Returns all effects tried. */
async function applyFailing(flags: readonly MountFlag[], failing: number): Promise<string[]> {
  const project = await lab.project()
  const shelf = shelfOf(project.workspace, lab.user)
  const ref = (await findChosen(shelf, 'lab', 'last used'))!
  const plan = await lab.plan(flags)
  const writer = await openConversation(shelf, ref, { wait: 0 })
  const tried: string[] = []
  const effects = watchedEffects(project, writer, (effect) => {
    tried.push(effect)
    if (tried.length === failing) throw new Injected(`no ${effect}`)
  })
  try {
    await applyMounts(plan, effects)
  } finally {
    await writer.close()
  }
  return tried
}

/** What a person could see of it: links, who may do what, states. */
async function visible(): Promise<unknown> {
  const grants = []
  for (const tool of ['fs_read_file', 'fs_modify_file'])
    for (const capability of ['read', 'update'])
      for (const path of ['a/b/fork/file', 'old/file', 'src'])
        grants.push(await lab.allows(tool, capability, path))
  return { tree: lab.tree(), grants, mounts: await lab.mounts(), approvals: approvals() }
}

function approvals(): unknown {
  const places = join(lab.home, '.local/share/cordon/workspace')
  if (!existsSync(places)) return 'no store'
  const [place] = readdirSync(places).filter((name) => !name.startsWith('.'))
  const file = join(places, place!, 'approvals.json')
  if (!existsSync(file)) return 'no store'
  const { mounts } = JSON.parse(readFileSync(file, 'utf8')) as { mounts: Record<string, unknown>[] }
  return mounts.map(({ rule_path, canonical_target }) => [rule_path, canonical_target])
}

test('SPEC 3.3 the effects: link with its directories, approval, rules; and again changes nothing', async () => {
  const outcome = await lab.change([mount(`a/b/fork=${x}`)])
  expect(outcome).toMatchObject({ kind: 'done', started: 'new' })
  expect(lab.tree()).toEqual(['a/', 'a/b/', `a/b/fork -> ${x}`])
  expect(approvals()).toEqual([['a/b/fork', x]])
  expect(await lab.allows('fs_read_file', 'read', 'a/b/fork/file')).toBe(true)
  expect(await lab.allows('fs_read_file', 'update', 'a/b/fork/file')).toBe(false)
  expect(await lab.allows('unix_utils', 'execute', 'src')).toBe(true)
  const log = join(outcome.kind === 'done' ? outcome.conversation.dir : '', 'events.jsonl')
  const before = readFileSync(log, 'utf8')
  expect(await lab.change([mount(`a/b/fork=${x}`)])).toMatchObject({ started: 'known', plan: { deltas: [] } })
  expect(readFileSync(log, 'utf8')).toBe(before)
})

test('SPEC 3.2 nothing of the target is in the conversation, and nothing of it in the workspace but the link', async () => {
  const secret = lab.place('a-very-private-name/deep-inside')
  await lab.change([mount(`fork=${secret}`), mount(`t2/fork=${lab.home}`)])
  const everything = readdirSync(join(lab.root, '.cordon'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name + readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .join('\n')
  expect(everything).toContain('"path":"fork"')
  // Longer than what the random ids beside them could hold by chance.
  for (const part of ['a-very-private-name', 'deep-inside', 'outside', '/home'])
    expect(everything).not.toContain(part)
})

const FLAGS = (): MountFlag[] => [noMount('old'), mount(`a/b/fork=${x}`), mount(`fs_modify_file:c=${y}:rw`)]
const EFFECTS = [
  'revoke old',
  'unlink old',
  'mkdir a',
  'mkdir a/b',
  'link a/b/fork',
  'link c',
  'append',
  'approve a/b/fork',
  'approve c',
]

test('SPEC 3.3 a failure at any effect takes back everything, and nothing is left', async () => {
  await lab.change([mount(`old=${y}`)])
  const before = await visible()
  for (let failing = 1; failing <= EFFECTS.length; failing++) {
    const error: unknown = await applyFailing(FLAGS(), failing).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(MountFailedError)
    expect((error as Error).message).toBe(`no ${EFFECTS[failing - 1]}\n  nothing was changed`)
    expect({ failing, ...((await visible()) as object) }).toEqual({ failing, ...(before as object) })
  }
  expect(await applyFailing(FLAGS(), 0)).toEqual(EFFECTS)
})

test('SPEC 3.3 what cannot be taken back is said', async () => {
  await lab.change([mount(`old=${y}`)])
  const project = await lab.project()
  const shelf = shelfOf(project.workspace, lab.user)
  const plan = await lab.plan([mount(`a/fork=${x}`)])
  const writer = await openConversation(shelf, (await findChosen(shelf, 'lab', 'last used'))!, { wait: 0 })
  const effects = watchedEffects(project, writer, (effect) => {
    if (effect !== 'append') return
    writeFileSync(join(lab.root, 'a/theirs'), '')
    throw new Injected('no append')
  })
  await expect(applyMounts(plan, effects)).rejects.toThrow(
    'no append\n  taking it back failed, too:\n    remove the directory a: cannot remove a: it is not empty',
  )
  await writer.close()
  expect(lab.tree()).toEqual(['a/', 'a/theirs', `old -> ${y}`])
})

test('SPEC 3.3 a link that does not lead where it was checked is not granted', async () => {
  await lab.change([mount(`old=${y}`)])
  const project = await lab.project()
  const shelf = shelfOf(project.workspace, lab.user)
  const plan = await lab.plan([mount(`fork=${x}`)])
  const writer = await openConversation(shelf, (await findChosen(shelf, 'lab', 'last used'))!, { wait: 0 })
  const effects = watchedEffects(project, writer, () => {})
  const elsewhere = { link: () => symlinkSync(y, join(lab.root, 'fork')) }
  await expect(applyMounts(plan, { ...effects, linker: elsewhere })).rejects.toThrow(
    `fork does not lead to ${x}: one of them was changed meanwhile\n  nothing was changed`,
  )
  await writer.close()
  expect(lab.tree()).toEqual([`old -> ${y}`])
  expect(approvals()).toEqual([['old', y]])
})

test('SPEC 3.3 what is done is what was confirmed: other tools meanwhile are a reason to stop', async () => {
  const person = {
    confirms: () => {
      lab.write('[conversation.tools.newer]\nsource = "local"\ncommand = ["true"]\n')
      return Promise.resolve(true)
    },
  }
  const audience = { person, tell: () => {} }
  await expect(lab.change([mount(`fork=${x}`)], { audience })).rejects.toThrow(
    'the configuration or the links changed meanwhile; run it again\n  nothing was changed',
  )
  expect(lab.tree()).toEqual([])
  expect(readdirSync(join(lab.root, '.cordon/conversations'))).toEqual([])
})

test('SPEC 3.3 a new conversation that came to nothing is gone again', async () => {
  mkdirSync(join(lab.root, 'a'))
  // Becomes a file between the check and the link: somebody is quicker.
  const person = {
    confirms: () => {
      symlinkSync(y, join(lab.root, 'a/fork'))
      return Promise.resolve(true)
    },
  }
  const audience = { person, tell: () => {} }
  await expect(lab.change([mount(`a/fork=${x}`)], { audience })).rejects.toThrow(
    `mount a/fork=${x}: a/fork is a link to ${y} already; unmount it first`,
  )
  expect(readdirSync(join(lab.root, '.cordon/conversations'))).toEqual([])
  expect(lab.tree()).toEqual(['a/', `a/fork -> ${y}`])
  expect(approvals()).toBe('no store')
})

test('SPEC 3.3 a no changes nothing at all, and nobody is asked about one tool or what is there already', async () => {
  const asked: string[] = []
  const person = { confirms: (question: string) => Promise.resolve(asked.push(question) > 1) }
  const audience = { person, tell: () => {} }
  expect(await lab.change([mount(`fork=${x}`)], { audience })).toEqual({ kind: 'refused' })
  expect(lab.tree()).toEqual([])
  expect(readdirSync(lab.home)).toEqual([])
  expect(existsSync(join(lab.root, '.cordon/conversations'))).toBe(false)
  await lab.change([mount(`fs_read_file:one=${x}`)], { audience })
  expect(asked.length).toBe(1)
  await lab.change([mount(`fork=${x}`)], { audience })
  await lab.change([mount(`fork=${x}`)], { audience })
  expect(asked.length).toBe(2)
})

test('SPEC 3.4 unmounting takes the link, the approval and the rules of every tool, and keeps other access', async () => {
  await lab.change([mount(`fork=${x}`), mount(`other=${y}`)])
  await lab.change([noMount('fork')])
  expect(lab.tree()).toEqual([`other -> ${y}`])
  expect(approvals()).toEqual([['other', y]])
  expect((await lab.mounts()).map(({ name, state }) => [name, state])).toEqual([['other', 'ok']])
  expect(await lab.allows('fs_modify_file', 'update', 'src')).toBe(true)
  await lab.change([noMount()])
  expect(lab.tree()).toEqual([])
  expect(await lab.mounts()).toEqual([])
  expect(await lab.change([noMount()])).toEqual({ kind: 'nothing' })
})

test('SPEC 3.4 only symlinks are unlinked, and nothing behind a link', async () => {
  mkdirSync(join(x, 'sub'))
  symlinkSync(y, join(x, 'nested'))
  lab.write(`
conversation.tools.fs_read_file.access.fs = [
  { path = "real", external = true, read = true },
  { path = "alias/nested", external = true, read = true },
  { path = "alias/sub", external = true, read = true },
]
`)
  mkdirSync(join(lab.root, 'real'))
  symlinkSync(x, join(lab.root, 'alias'))
  const outcome = await lab.change([noMount()])
  expect(outcome).toMatchObject({
    plan: {
      steps: [
        { name: 'alias/nested', link: 'not a link' },
        { name: 'alias/sub', link: 'not a link' },
        { name: 'real', link: 'not a link' },
      ],
    },
  })
  expect(lab.tree()).toEqual([`alias -> ${x}`, 'real/'])
  expect(readdirSync(x).toSorted()).toEqual(['file', 'nested', 'sub'])
  // Nothing was left of the list, and nothing must not become everything.
  expect(await lab.allows('fs_read_file', 'read', 'src')).toBe(false)
})

test('SPEC 3.4 flags apply left to right', async () => {
  await lab.change([mount(`fork=${x}`)])
  await lab.change([noMount('fork'), mount(`fs_read_file:fork=${y}`)])
  expect(lab.tree()).toEqual([`fork -> ${y}`])
  expect(approvals()).toEqual([['fork', y]])
  expect((await lab.mounts()).map(({ tools, mode, state }) => [tools, mode, state])).toEqual([
    [['fs_read_file'], 'ro', 'ok'],
  ])
  expect(await lab.allows('unix_utils', 'read', 'fork/file')).toBe(false)
  // Mounted and taken away again: as if nothing had been typed.
  await lab.change([mount(`passing=${x}`), noMount('passing')])
  expect(lab.tree()).toEqual([`fork -> ${y}`])
  expect(approvals()).toEqual([['fork', y]])
  // In the place of the mount there may be a directory with mounts of its own.
  await lab.change([noMount('fork'), mount(`fork/deeper=${x}`)])
  expect(lab.tree()).toEqual(['fork/', `fork/deeper -> ${x}`])
  expect(await lab.problem([mount(`fork/deeper=${x}`), mount(`fork/deeper=${x}`)])).toContain(
    'the same NAME twice',
  )
})

test('SPEC 3.4 a mount that a later layer brings back is not reported as removed', async () => {
  const rule = '{ path = "fork", external = true, read = true }'
  writeFileSync(join(lab.root, 'more.toml'), `[conversation.tools.unix_utils.access]\nfs = [${rule}]\n`)
  symlinkSync(x, join(lab.root, 'fork'))
  await expect(
    lab.change([noMount('fork')], { options: lab.options(lab.root, ['more.toml']) }),
  ).rejects.toThrow(
    'mount fork: fork is also mounted by more.toml:2:7, after the conversation; take it out there',
  )
  expect(lab.tree()).toEqual([`fork -> ${x}`, 'more.toml'])
})

test('SPEC 3.4 the states of a mount', async () => {
  await lab.change([mount(`fork=${x}`)])
  const state = async (): Promise<unknown> =>
    (await lab.mounts()).map((view) => [view.target, view.state, view.reason])
  expect(await state()).toEqual([[x, 'ok', undefined]])
  unlinkSync(join(lab.root, 'fork'))
  expect(await state()).toEqual([[undefined, 'broken', 'there is no link fork']])
  symlinkSync(y, join(lab.root, 'fork'))
  expect(await state()).toEqual([[y, 'retargeted', `it was approved for ${x}`]])
  expect(await lab.allows('fs_read_file', 'read', 'fork/file')).toBe(false)
  unlinkSync(join(lab.root, 'fork'))
  mkdirSync(join(lab.root, 'fork'))
  expect(await state()).toEqual([[undefined, 'broken', 'it leads to fork, inside the workspace']])
  rmSync(join(lab.root, 'fork'), { recursive: true })
  lab.write('conversation.tools.unix_utils.access.fs = [{ path = "hand", external = true, read = true }]')
  symlinkSync(y, join(lab.root, 'hand'))
  expect((await lab.mounts()).find(({ name }) => name === 'hand')).toEqual({
    name: 'hand',
    target: y,
    tools: ['unix_utils'],
    mode: 'ro',
    state: 'unapproved',
    reason: 'its target was never approved',
  })
})
