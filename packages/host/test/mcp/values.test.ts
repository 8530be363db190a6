import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { McpServerConfig } from '@cordon/config'
import type { Root } from '@cordon/policy'
import { buildEnvironment } from '@cordon/sandbox'
import { beforeEach, expect, test } from 'vitest'
import { performImport } from '../../src/mcp/clients/import.ts'
import { planImport } from '../../src/mcp/clients/plan.ts'
import { surveyClients } from '../../src/mcp/clients/survey.ts'
import { serverValues as valuesOf, type ServerValues } from '../../src/mcp/clients/values.ts'
import type { ServerWorld } from '../../src/mcp/connection.ts'
import { worldFor } from '../../src/mcp/server.ts'

let home: string
let file: string
const surroundings = (): {
  env: Record<string, string>
  platform: string
  home: string
  uid: number | undefined
} => ({
  env: {},
  platform: 'linux',
  home,
  uid: process.getuid?.(),
})

const serverValues = (
  name: string,
  line: readonly string[],
  around: ReturnType<typeof surroundings>,
): ServerValues => valuesOf({ name, line, root: '/any/workspace' }, around)

/** A server that was imported from Cursor's file, which was not changed. */
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'cordon-values-'))
  file = join(home, '.cursor/mcp.json')
  mkdirSync(join(home, '.cursor'))
  const env = { TOKEN: 's3cret', ASKED: '${input:x}', REGION: 'eu' }
  writeFileSync(file, JSON.stringify({ mcpServers: { a: { command: 'srv', args: ['x'], env } } }), {
    mode: 0o600,
  })
  const around = surroundings()
  const plan = planImport(
    surveyClients({ cwd: home, program: '/cordon', root: undefined, surroundings: around }),
    {
      records: [],
      taken: [],
      granted: new Set(),
      layer: undefined,
      install: 'packages',
    },
  )
  await performImport(plan, {
    surroundings: around,
    pid: process.pid,
    signal: AbortSignal.timeout(60_000),
    scripts: 'not run',
    options: { cwd: home, surroundings: around, cfg: [] },
    root: undefined,
    style: { program: '/opt/cordon', asks: 'client', directory: undefined },
    write: false,
    tell: () => undefined,
  })
})

test('values are read where they are, each time, and only for the command line that was imported', () => {
  expect(serverValues('a', ['srv', 'x'], surroundings())).toEqual({
    values: { TOKEN: 's3cret', REGION: 'eu' },
    missing: ['ASKED is filled in by the client; set it in the environment'],
  })
  const handedOver = { ...surroundings(), env: { TOKEN: 'of another client' } }
  expect(serverValues('a', ['srv', 'x'], handedOver).values).toEqual({ REGION: 'eu' })
  // The attack: another definition of the same name, such as a workspace's.
  expect(serverValues('a', ['evil', 'x'], surroundings())).toEqual({ values: {}, missing: [] })
  expect(serverValues('a', ['srv', 'x', '--dump'], surroundings())).toEqual({ values: {}, missing: [] })
  expect(serverValues('b', ['srv', 'x'], surroundings())).toEqual({ values: {}, missing: [] })
  writeFileSync(file, readFileSync(file, 'utf8').replace('s3cret', 'rotated').replace('"REGION"', '"LATER"'))
  expect(serverValues('a', ['srv', 'x'], surroundings()).values).toEqual({ TOKEN: 'rotated' })
})

test('values are for the server alone: where the network leads, and what is started, is the environment’s', () => {
  const env = { PATH: '/bin', https_proxy: 'http://mine:1' }
  const plain = { env } as unknown as ServerWorld
  const config = { command: 'srv', arguments: ['x'] } as unknown as McpServerConfig
  const { world } = worldFor(
    'a',
    config,
    { ...plain, root: { path: '/any' } as Root },
    { ...surroundings(), env },
  )
  expect([world.env, world.values]).toEqual([env, { TOKEN: 's3cret', REGION: 'eu' }])
})

test('a policy without the rule hides the value; a file that others may write has none', () => {
  const { values } = serverValues('a', ['srv', 'x'], surroundings())
  const policy = { fs: [], net: [], env: [{ name: 'TOKEN', read: true }] }
  expect(buildEnvironment(policy, { PATH: '/bin', ...values })).toEqual({ PATH: '/bin', TOKEN: 's3cret' })
  chmodSync(file, 0o666)
  // It is the trouble of this server alone.
  expect(serverValues('a', ['srv', 'x'], surroundings())).toEqual({
    values: {},
    missing: [expect.stringContaining(`${file}: it can be written by every user`)],
  })
  writeFileSync(file, '{ "mcpServers": ,,')
  chmodSync(file, 0o600)
  expect(serverValues('a', ['srv', 'x'], surroundings())).toEqual({
    values: {},
    missing: [expect.stringContaining(`${file}: not valid JSON`)],
  })
})
