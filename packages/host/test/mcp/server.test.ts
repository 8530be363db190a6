import { appendFileSync, mkdirSync, mkdtempSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseRelPath, openAmbientRoot } from '@cordon/policy'
import { expect, test } from 'vitest'
import { rootsOf } from '../../src/mcp/boundary.ts'
import { identify } from '../../src/mcp/identity.ts'
import { sortTools } from '../../src/mcp/offer.ts'
import { schemaKey } from '../../src/mcp/schema-cache.ts'

const temporary = (): string => mkdtempSync(join(tmpdir(), 'cordon-mcp-'))

test('SPEC 5.1: a server is known by its program, what that runs, the package and the digest', () => {
  const dir = temporary()
  mkdirSync(join(dir, 'node_modules/p/dist'), { recursive: true })
  writeFileSync(join(dir, 'node_modules/p/package.json'), '{"name":"p","version":"1.2.3"}')
  writeFileSync(join(dir, 'node_modules/p/dist/index.js'), 'one')
  writeFileSync(join(dir, 'node'), '#!/bin/sh\n', { mode: 0o755 })
  symlinkSync(join(dir, 'node_modules/p/dist/index.js'), join(dir, 'link.js'))
  const env = { PATH: dir }
  const argv = ['node', '--flag', 'link.js', 'package.json'] as const
  const known = identify(argv, dir, env)
  expect(known).toEqual({
    program: join(dir, 'node'),
    entry: join(dir, 'node_modules/p/dist/index.js'),
    package: 'p@1.2.3',
    sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  const asked = { name: 's', stateful: true, argv, capabilities: [] }
  const key = schemaKey(asked, known)
  for (const other of [
    { argv: ['node', 'other.js'] },
    { name: 't' },
    { stateful: false },
    { capabilities: ['sampling'] },
  ])
    expect(schemaKey({ ...asked, ...other }, known)).not.toBe(key)
  writeFileSync(join(dir, 'node_modules/p/dist/index.js'), 'two')
  expect(schemaKey(asked, identify(argv, dir, env))).not.toBe(key)
  expect(() => identify(['missing'], dir, env)).toThrow('it is in no directory of PATH')
})

test('SPEC 5.1: code that is loaded first counts, `env` is looked behind, and no program is too large', () => {
  const dir = temporary()
  for (const [name, text] of Object.entries({ 'pre.mjs': 'one', 'server.mjs': 'server', 'data.db': 'x' }))
    writeFileSync(join(dir, name), text)
  for (const name of ['node', 'env', 'large']) writeFileSync(join(dir, name), '#!/bin/sh\n', { mode: 0o755 })
  truncateSync(join(dir, 'large'), 20 * 1024 * 1024)
  const known = (...argv: [string, ...string[]]) => identify(argv, dir, { PATH: dir })
  const lines: [string, ...string[]][] = [
    ['node', '--import', 'pre.mjs', 'server.mjs'],
    ['node', '--import=./pre.mjs', 'server.mjs', 'data.db'],
    ['env', 'A=b', 'node', '-r', 'pre.mjs', 'server.mjs'],
  ]
  const before = lines.map((line) => known(...line))
  expect(before.map(({ program, entry }) => [program, entry])).toEqual(
    lines.map(() => [join(dir, 'node'), join(dir, 'server.mjs')]),
  )
  expect(new Set(before.map(({ sha256 }) => sha256)).size).toBe(1)
  writeFileSync(join(dir, 'data.db'), 'y')
  expect(lines.map((line) => known(...line))).toEqual(before)
  writeFileSync(join(dir, 'pre.mjs'), 'two')
  for (const [i, line] of lines.entries()) expect(known(...line).sha256).not.toBe(before[i]!.sha256)
  const large = known('large').sha256
  appendFileSync(join(dir, 'large'), 'more')
  expect(known('large').sha256).not.toBe(large)
})

test('SPEC 5.3: roots are where something is granted, each once', () => {
  const dir = temporary()
  const root = openAmbientRoot(dir)
  const rule = (path: string, grants: readonly 'read'[], more = {}) => ({
    path: parseRelPath(path),
    grants: new Set(grants),
    external: false,
    ...more,
  })
  const uris = (fs: Parameters<typeof rootsOf>[0]['fs']): string[] =>
    rootsOf({ fs, net: [], env: [] }, root).map(({ uri }) => uri.replace(`file://${root.path}`, ''))
  expect(uris([])).toEqual([''])
  expect(uris([rule('.', ['read']), rule('src', ['read']), rule('.env', [])])).toEqual([''])
  expect(
    uris([rule('.', []), rule('src', ['read']), rule('src/a', ['read']), rule('docs', ['read'])]),
  ).toEqual(['/src', '/docs'])
  const outside = { external: true, approvedTarget: '/home/u/Documents' }
  expect(uris([rule('.', ['read']), rule('Documents', ['read'], outside)])).toEqual([
    '',
    'file:///home/u/Documents',
  ])
  expect(uris([rule('.', ['read']), rule('Documents', [], outside)])).toEqual([''])
})

test('SPEC 5.5: tools whose names or schemas nobody can judge are left out', () => {
  const tool = (name: string, inputSchema: Record<string, unknown> = {}) => ({
    name,
    inputSchema: { type: 'object' as const, ...inputSchema },
  })
  let deep: unknown = 1
  for (let i = 0; i < 100; i++) deep = { deep }
  const { tools, unusable } = sortTools([
    tool('a.b/c-d_1'),
    tool('a.b/c-d_1'),
    tool('re\u0430d'),
    tool('x\n'),
    tool('deep', { deep }),
    tool('large', { description: 'x'.repeat(300_000) }),
  ])
  expect(tools.map(({ name }) => name)).toEqual(['a.b/c-d_1'])
  expect(unusable).toEqual([
    '"a.b/c-d_1" is offered twice',
    '"re\\u{430}d" is no tool name: letters, digits and _ - . / are',
    '"x\\n" is no tool name: letters, digits and _ - . / are',
    '"deep" has a description or schema beyond all measure',
    '"large" has a description or schema beyond all measure',
  ])
})
