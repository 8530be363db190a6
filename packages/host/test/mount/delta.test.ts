import { type LoadedConfig, mergeSources, type Source } from '@cordon/config'
import { parseRelPath } from '@cordon/policy'
import type { JsonObject } from '@cordon/workspace'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BUILT_IN_TOOLS } from '../../src/built-in-tools.ts'
import { mountDelta, restoringDelta, unmountDelta } from '../../src/mount/delta.ts'
import type { MountMode } from '../../src/mount/grammar.ts'

const workspace = (text: string): Source => ({ layer: 'workspace', label: 'config.toml', text })
const said = (value: JsonObject): Source => ({
  layer: 'conversation',
  label: 'conversation x',
  key: [],
  value,
})
const load = (...sources: Source[]): LoadedConfig => mergeSources([BUILT_IN_TOOLS, ...sources])

const fork = parseRelPath('fork')
const names = new Set([fork])
const rules = (tool: string, loaded: LoadedConfig): unknown =>
  loaded.explain(['conversation', 'tools', tool, 'access', 'fs'])?.value

const PRESERVED = { path: '.', read: true, write: true, execute: true }
const RO = { path: 'fork', external: true, read: true }
const RW = { ...RO, write: true }

const inTool = (tool: string, fs: unknown): unknown => ({
  conversation: { tools: { [tool]: { access: { fs } } } },
})

test('SPEC 3.3 a tool without file rules keeps the workspace, to execute as well', () => {
  const { config } = load()
  expect(mountDelta(config, ['unix_utils'], { name: fork, mode: 'ro' })).toEqual({
    delta: inTool('unix_utils', [PRESERVED, RO]),
    subjects: [{ kind: 'tool', name: 'unix_utils', key: ['conversation', 'tools', 'unix_utils', 'access'] }],
  })
})

test('SPEC 3.3 a tool with file rules in any layer gets the mount alone, also with access but no file rule', () => {
  const declared = load(
    workspace('conversation.tools.unix_utils.access.fs = [{ path = "src", read = true }]'),
  )
  expect(mountDelta(declared.config, ['unix_utils'], { name: fork, mode: 'rw' })?.delta).toEqual(
    inTool('unix_utils', [RW]),
  )
  const net = load(workspace('conversation.tools.unix_utils.access.net = [{ host = "a.b", allow = true }]'))
  expect(mountDelta(net.config, ['unix_utils'], { name: fork, mode: 'ro' })?.delta).toEqual(
    inTool('unix_utils', [PRESERVED, RO]),
  )
})

test('SPEC 3.3 re-running adds only what is new; ro to rw appends, and the last wins', () => {
  const first = mountDelta(load().config, ['unix_utils'], { name: fork, mode: 'ro' })!
  const once = load(said(first.delta))
  expect(mountDelta(once.config, ['unix_utils'], { name: fork, mode: 'ro' })).toBeUndefined()
  expect(mountDelta(once.config, ['unix_utils', 'fs_read_file'], { name: fork, mode: 'ro' })?.delta).toEqual(
    inTool('fs_read_file', [PRESERVED, RO]),
  )
  const wider = mountDelta(once.config, ['unix_utils'], { name: fork, mode: 'rw' })!
  expect(wider.delta).toEqual(inTool('unix_utils', [RW]))
  const twice = load(said(first.delta), said(wider.delta))
  expect(rules('unix_utils', twice)).toEqual([PRESERVED, RO, RW])
  expect([...twice.config.conversation.tools['unix_utils']!.access!.fs.at(-1)!.grants]).toEqual([
    'read',
    'create',
    'update',
    'delete',
  ])
})

test('SPEC 3.3 the mutation is idempotent whatever rules there are', () => {
  const rule = fc.record({
    path: fc.constantFrom('.', 'src', 'fork', 'fork/sub'),
    external: fc.boolean(),
    read: fc.boolean(),
    write: fc.boolean(),
    execute: fc.boolean(),
  })
  const mode = fc.constantFrom<MountMode>('ro', 'rw')
  fc.assert(
    fc.property(fc.array(rule, { maxLength: 4 }), mode, (written, wanted) => {
      const before = said(inTool('unix_utils', written) as JsonObject)
      const options = { name: fork, mode: wanted }
      const added = mountDelta(load(before).config, ['unix_utils'], options)
      const after = added ? load(before, said(added.delta)) : load(before)
      expect(mountDelta(after.config, ['unix_utils'], options)).toBeUndefined()
      const last = after.config.conversation.tools['unix_utils']!.access!.fs.findLast(
        ({ path }) => path === 'fork',
      )!
      expect({ external: last.external, grants: [...last.grants] }).toEqual({
        external: true,
        grants: wanted === 'ro' ? ['read'] : ['read', 'create', 'update', 'delete'],
      })
    }),
  )
})

test('SPEC 3.4 a replace snapshot without the mounts, as the rules were written', () => {
  const loaded = load(
    workspace(
      'conversation.tools.unix_utils.access.fs = [{ path = "./src/", read = true, write = true, delete = false }]',
    ),
    said(inTool('unix_utils', [RO, RW]) as JsonObject),
  )
  const kept = [{ path: './src/', read: true, write: true, delete: false }]
  const removed = unmountDelta(loaded, names)!
  expect(removed.delta).toEqual(inTool('unix_utils', { strategy: 'replace', value: kept }))
  expect(removed.subjects).toMatchObject([{ kind: 'tool', name: 'unix_utils' }])
})

test('SPEC 3.4 an empty snapshot becomes a deny-all', () => {
  const loaded = load(
    workspace('conversation.tools.unix_utils.access.fs = [{ path = "fork", external = true, read = true }]'),
  )
  const { delta } = unmountDelta(loaded, names)!
  expect(delta).toEqual(inTool('unix_utils', { strategy: 'replace', value: [{ path: '.' }] }))
  const after = load(
    workspace('conversation.tools.unix_utils.access.fs = [{ path = "fork", external = true, read = true }]'),
    said(delta),
  )
  expect(after.config.conversation.tools['unix_utils']!.access!.fs).toMatchObject([
    { path: '.', grants: new Set() },
  ])
})

test('SPEC 3.4 every subject counts, by whoever the rule was written, and rules below the mount go with it', () => {
  const loaded = load(
    workspace(`
[providers.mcp.web]
command = "true"
access.fs = [{ path = "fork", external = true, read = true }, { path = "docs", read = true }]
[profiles.p.access]
fs = [{ path = "fork/sub", external = true, read = true }, { path = "forks", external = true, read = true }]
`),
  )
  expect(unmountDelta(loaded, names)?.delta).toEqual({
    providers: {
      mcp: { web: { access: { fs: { strategy: 'replace', value: [{ path: 'docs', read: true }] } } } },
    },
    profiles: {
      p: { access: { fs: { strategy: 'replace', value: [{ path: 'forks', external: true, read: true }] } } },
    },
  })
  expect(unmountDelta(loaded, new Set([parseRelPath('nothing')]))).toBeUndefined()
})

test('SPEC 3.4 what a command line adds is not written into the conversation', () => {
  const cfg: Source = {
    layer: 'command-line',
    label: '--cfg',
    key: ['conversation', 'tools', 'unix_utils', 'access', 'fs'],
    value: [{ path: 'tmp', write: true }],
  }
  const loaded = load(said(inTool('unix_utils', [PRESERVED, RO]) as JsonObject), cfg)
  expect(unmountDelta(loaded, names)?.delta).toEqual(
    inTool('unix_utils', { strategy: 'replace', value: [PRESERVED] }),
  )
})

test('SPEC 3.3 going back restores the rules, and the defaults where there were none', () => {
  const text = workspace('conversation.tools.fs_read_file.access.fs = [{ path = "src", read = true }]')
  const before = load(text)
  const { delta, subjects } = mountDelta(before.config, ['fs_read_file', 'unix_utils'], {
    name: fork,
    mode: 'ro',
  })!
  const back = load(text, said(delta), said(restoringDelta(before, subjects)))
  for (const tool of ['fs_read_file', 'unix_utils'])
    expect(back.config.conversation.tools[tool]?.access?.fs.map(({ path }) => path) ?? []).toEqual(
      before.config.conversation.tools[tool]?.access?.fs.map(({ path }) => path) ?? [],
    )
})
