import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { GatewayClient } from './harness/gateway.ts'
import { type Ended, Place, PROGRAM } from './harness/place.ts'
import { play, type Played } from './harness/terminal.ts'
import { until } from './harness/waiting.ts'

/** Places outside, with the real servers that need them, in a git repository that nobody has marked. */
const bin = (name: string): string => join(import.meta.dirname, '../node_modules/.bin', name)
const ASKED_BY_THE_CLIENT = ['--cfg', 'conversation.tools.*.run=unattended']

let place: Place
beforeEach(() => {
  place = new Place()
  rmSync(join(place.root, '.cordon'), { recursive: true })
  place.mkdir(join(place.root, '.git'))
})

/** The commands that a text prints, as they stand there. */
const commandsIn = (text: string): readonly string[] =>
  text
    .split('to allow it, in the workspace:\n')[1]!
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(?:cordon|ln|mkdir|touch) /.test(line))

function paste(commands: readonly string[]): Played {
  const script = commands.map((line) => line.replace(/^cordon /, '"$1" "$2" ')).join(' && ')
  const { uid, gid } = place.person
  return play(
    {
      argv: ['/bin/sh', '-c', script, 'sh', PROGRAM.node, PROGRAM.cordon],
      cwd: place.root,
      env: place.env({ TERM: 'xterm' }),
      steps: [['Approve? [y/N] ', 'y\r']],
    },
    uid === undefined ? {} : { uid, gid: gid! },
  )
}

const mcp = (...args: string[]): Ended => place.cordon(['mcp', ...args])

test('what is printed works as pasted, without `cordon init`; the server finds the place under its own name', async () => {
  const documents = place.mkdir(join(place.home, 'Documents'))
  place.write(join(documents, 'letter.txt'), 'dear\n')
  const added = mcp('add', 'files', '--', bin('mcp-server-filesystem'), documents)
  const pasted = paste(commandsIn(added.stdout))
  expect([pasted.missed, pasted.code]).toEqual([[], 0])
  await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
  // It asks for the roots when it has started, and takes them in place of its arguments.
  await until(async () => (await gateway.text('list_allowed_directories')).includes(place.root))
  expect(await gateway.text('list_allowed_directories')).toContain(documents)
  expect(await gateway.text('list_directory', { path: documents })).toContain('letter.txt')
  expect(await gateway.text('list_directory', { path: place.root })).toContain('.git')
  expect(place.cordon(['policy', 'explain', 'files']).code).toBe(0)
  expect(place.cordon(['why', 'files', 'read', 'Documents/letter.txt']).code).toBe(0)
})

test('server-memory saves by a rename: its file gets a directory of its own; granted by itself, what fails is explained', async () => {
  const pointTo = (path: string): string =>
    place.write(
      join(place.home, '.cursor/mcp.json'),
      JSON.stringify({
        mcpServers: { mem: { command: bin('mcp-server-memory'), env: { MEMORY_FILE_PATH: path } } },
      }),
      0o600,
    )
  const file = join(place.home, 'memory.json')
  pointTo(file)
  const imported = mcp('import')
  expect(imported.stdout).toContain('then point it to ~/memory/memory.json: ')
  const pasted = paste(commandsIn(imported.stdout))
  expect([pasted.missed, pasted.code]).toEqual([[], 0])
  const saved = join(place.home, 'memory/memory.json')
  pointTo(saved)
  const entities = [{ name: 'x', entityType: 'y', observations: ['kept'] }]
  {
    await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
    expect((await gateway.call('create_entities', { entities })).isError).not.toBe(true)
  }
  expect(readFileSync(saved, 'utf8')).toContain('kept')

  place.write(file, '')
  pointTo(file)
  const warned = mcp('doctor', 'mem')
  expect(paste(commandsIn(warned.stdout)).code).toBe(0)
  await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
  expect(await gateway.text('create_entities', { entities })).toContain('EBUSY')
  await gateway.told('hint: ~/memory.json is granted by itself, so it is written in place and not replaced')
  const doctor = mcp('doctor', 'mem', '--call', 'create_entities', '--args', JSON.stringify({ entities }))
  expect(doctor.stdout).toContain('hint: ~/memory.json is granted by itself')

  const run = place.run(['--write', file, '--', 'sh', '-c', `echo a > ${file}; sed -i s/a/b/ ${file}`])
  expect(run.stderr).toContain('~/memory.json is granted by itself')
  expect(run.code).not.toBe(0)
})

test('a path outside that a tool is asked for is said with the commands that grant it: to be read, where it was read', async () => {
  const shared = place.write(join(place.home, 'shared/d.txt'), 'there\n')
  expect(mcp('add', 'reader', '--', PROGRAM.node, place.write('reader.mjs', READER)).code).toBe(0)
  await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
  const answer = await gateway.text('read', { path: shared })
  expect(answer).toContain('ENOENT')
  expect(answer).not.toContain('exists on the host') // a model does not learn what there is
  await gateway.told('cordon policy compile')
  expect(gateway.stderr).toContain('~/shared/d.txt exists on the host, and is not granted')
  const rule = '{ path = "d.txt", external = true, read = true }'
  expect(gateway.stderr).toContain(
    `cordon config set --user-workspace providers.mcp.reader.access.fs '+${rule}'`,
  )
  const doctor = mcp('doctor', 'reader', '--call', 'read', '--args', JSON.stringify({ path: shared }))
  expect(doctor.stdout).toContain(rule)
})

test('a host that is allowed and cannot be reached is named, to the person and to the model', async () => {
  place.write('reader.mjs', READER)
  const host = ['--allow-net', 'nowhere.invalid']
  expect(mcp('add', 'reader', ...host, '--', PROGRAM.node, 'reader.mjs').code).toBe(0)
  await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
  const path = 'https://nowhere.invalid/'
  expect(await gateway.text('fetch', { path })).toMatch(/allowed, but: .*nowhere\.invalid/)
  await gateway.told('allowed, but: ')
  const doctor = mcp('doctor', 'reader', '--call', 'fetch', '--args', JSON.stringify({ path }))
  expect(doctor.stdout).toMatch(/allowed, but: .*nowhere\.invalid/)
})

/** Reads what it is asked for, and fetches what has an address. */
const READER = `
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
const schema = { type: 'object', properties: { path: { type: 'string' } } }
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    answer(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'reader', version: '1' } })
  if (method === 'tools/list') answer(id, { tools: [{ name: 'read', inputSchema: schema }, { name: 'fetch', inputSchema: schema }] })
  if (method !== 'tools/call') continue
  try {
    const { path } = params.arguments
    const text = params.name === 'read' ? readFileSync(path, 'utf8') : await fetch(path)
    answer(id, { content: [{ type: 'text', text: String(text) }] })
  } catch (error) {
    answer(id, { content: [{ type: 'text', text: String(error) }], isError: true })
  }
}
`

test('a server that writes into its own package is told what helps, and never that the package is to be granted', async () => {
  expect(mcp('add', 'memory', '--', bin('mcp-server-memory')).code).toBe(0)
  const entities = [{ name: 'x', entityType: 'y', observations: ['kept'] }]
  const helps =
    'is where the server itself is installed, and nothing confined writes there; the variable MEMORY_FILE_PATH names another place, which may be in the workspace'
  {
    await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
    expect(await gateway.text('create_entities', { entities })).not.toContain('to allow it')
    await gateway.told(helps)
    expect(gateway.stderr).not.toContain('to allow it')
  }
  const call = ['--call', 'create_entities', '--args', JSON.stringify({ entities })]
  const { stdout } = mcp('doctor', 'memory', ...call)
  expect(stdout).toContain(helps)
  expect(stdout).not.toMatch(/to allow it|this would allow/)
  // As docs/mcp-import.md has it.
  const added = mcp('add', 'memory', '--replace', '--env', 'MEMORY_FILE_PATH', '--', bin('mcp-server-memory'))
  expect(added.code).toBe(0)
  const env = { MEMORY_FILE_PATH: join(place.root, 'memory.json') }
  await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT, env })
  expect((await gateway.call('create_entities', { entities })).isError).not.toBe(true)
  expect(readFileSync(env.MEMORY_FILE_PATH, 'utf8')).toContain('kept')
})
