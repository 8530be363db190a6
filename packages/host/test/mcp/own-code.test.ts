import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codePlaces, identify } from '../../src/mcp/identity.ts'
import { sessionOf } from '../gateway/support.ts'
import { SessionPlace } from '../worker/support.ts'

/** Writes where it is told to, and says what came of it. */
const SERVER = `
import { renameSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
const write = (path) => {
  const [from, to] = path.split('>')
  try {
    if (to === undefined) writeFileSync(path, 'changed')
    else renameSync(from, to)
    return 'written'
  } catch (error) {
    return error.code
  }
}
const answer = ({ method, params }) => {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'small', version: '1' },
    }
  if (method === 'tools/list') return { tools: [{ name: 'write', inputSchema: { type: 'object' } }] }
  if (method === 'tools/call')
    return { content: [{ type: 'text', text: params.arguments.paths.map(write).join() }] }
  return {}
}
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, ...request } = JSON.parse(line)
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answer(request) }))
})
`

const config = (entry: string, more = ''): string => `
[providers.mcp.small]
command = ${JSON.stringify(process.execPath)}
arguments = ["--import", "./first.mjs", "${entry}"]
${more}`

interface Written {
  readonly came: string
  readonly said: readonly string[]
  readonly texts: readonly string[]
}

async function written(files: Record<string, string>, paths: readonly string[]): Promise<Written> {
  await using where = new SessionPlace({ 'first.mjs': '', ...files })
  return await writtenAt(where, paths)
}

async function writtenAt(where: SessionPlace, paths: readonly string[]): Promise<Written> {
  const said: string[] = []
  const session = await sessionOf(where, (text) => said.push(text))
  try {
    const route = await session.route('write')
    if (route?.kind !== 'server') expect.unreachable()
    const { content } = await route.server.ask(
      (client) => client.callTool({ name: 'write', arguments: { paths } }),
      { as: route.as },
    )
    const [block] = content
    const texts = paths.map((path) => join(where.root, path))
    return {
      came: block?.type === 'text' ? block.text : '',
      said: said.map((text) => text.replaceAll(where.root, 'ROOT')),
      texts: texts.map((path) => (existsSync(path) ? readFileSync(path, 'utf8') : 'none')),
    }
  } finally {
    await session.close()
  }
}

test('SPEC 4.10: a server does not change what its next start runs: its files, nor their packages', async () => {
  const files = {
    '.cordon/config.toml': config('own/dist/index.mjs'),
    'own/package.json': '{"name":"own"}',
    'own/dist/index.mjs': SERVER,
    'own/lib.mjs': 'as it was',
  }
  const paths = ['own/dist/index.mjs', 'own/lib.mjs', 'own/new.mjs', 'first.mjs', 'other.txt']
  expect(await written(files, paths)).toEqual({
    came: 'EROFS,EROFS,EROFS,EROFS,written',
    said: [],
    texts: [SERVER, 'as it was', 'none', '', 'changed'],
  })
})

test('SPEC 4.10: also of a stateless one; and a rule that names it, as everywhere, overrides that', async () => {
  const files = {
    '.cordon/config.toml': config('server.mjs', 'stateful = false'),
    'server.mjs': SERVER,
  }
  expect(await written(files, ['server.mjs'])).toMatchObject({ came: 'EROFS', texts: [SERVER] })
  const named = `[conversation.tools.write]
source = "mcp.small"
[[conversation.tools.write.access.fs]]
path = "."
read = true
write = true
[[conversation.tools.write.access.fs]]
path = "server.mjs"
read = true
write = true
`
  const stateless = config('server.mjs', `stateful = false\n${named}`)
  expect(
    await written({ ...files, '.cordon/config.toml': stateless }, ['server.mjs', 'first.mjs']),
  ).toMatchObject({
    came: 'written,EROFS',
  })
})

test('SPEC 4.10: where the workspace is its package, that cannot be held, and is said', async () => {
  const files = {
    '.cordon/config.toml': config('server.mjs'),
    'package.json': '{"name":"mine"}',
    'server.mjs': SERVER,
  }
  const warning =
    'MCP server small may write ROOT, where its own program is: its next start runs what it changes there, unless rules for files name what it has to write'
  expect(await written(files, ['server.mjs', 'lib.mjs'])).toEqual({
    came: 'EROFS,written',
    said: [warning],
    texts: [SERVER, 'changed'],
  })
  const narrow = `[[providers.mcp.small.access.fs]]
path = "."
read = true
[[providers.mcp.small.access.fs]]
path = "out"
read = true
write = true
`
  const narrowed = { ...files, '.cordon/config.toml': config('server.mjs', narrow), 'out/a.txt': '' }
  expect(await written(narrowed, ['lib.mjs', 'out/a.txt'])).toEqual({
    came: 'EROFS,written',
    said: [],
    texts: ['none', 'changed'],
  })
})

const TOKEN = `
[[conversation.tools.act.access.env]]
name = "TOKEN"
read = true
`
const NARROW = `
[[providers.mcp.small.access.fs]]
path = "."
read = true
write = true
execute = true
`

test.each([
  ['it has an access of its own', TOKEN, true],
  ['rules say what the other has of the workspace', NARROW, true],
  ['both have the workspace, and nothing else', '', false],
])('SPEC 4.10: nobody changes what a server runs, where %s', async (_, rules, isHeld) => {
  const other = `
[providers.mcp.other]
command = ${JSON.stringify(process.execPath)}
arguments = ["--env-file", "srv/.env", "srv/link.mjs"]
stateful = false
[conversation.tools.act]
source = "mcp.other.act"
${rules}`
  await using where = new SessionPlace({
    'first.mjs': '',
    '.cordon/config.toml': config('server.mjs', other),
    'server.mjs': SERVER,
    'srv/.env': 'A=1',
    'srv/dist/other.mjs': 'as accepted',
    'srv/dist/evil.mjs': 'evil',
    'srv/evil.mjs': 'evil',
    'srv/data.db': '',
  })
  symlinkSync('dist/other.mjs', join(where.root, 'srv/link.mjs'))
  const ways = [
    'srv/dist/other.mjs',
    'srv/dist/evil.mjs>srv/dist/other.mjs',
    'srv/evil.mjs>srv/link.mjs',
    'srv/.env',
    'srv/dist>srv/old',
    'srv>old',
  ]
  const { came } = await writtenAt(where, ['srv/data.db', 'srv/dist/new.mjs', ...ways])
  expect(came).toBe(
    `written,written,${isHeld ? 'EROFS,EBUSY,EBUSY,EROFS,EBUSY,EBUSY' : ways.map(() => 'written').join()}`,
  )
  if (isHeld) expect(readFileSync(join(where.root, 'srv/link.mjs'), 'utf8')).toBe('as accepted')
})

test('SPEC 4.10: every file that may be the one to run is code; what comes after it is data', async () => {
  const names = ['.env', 'ignore', 'run', 'first.mjs', 'server.mjs', 'server.py', 'server.ts', 'data.db']
  await using where = new SessionPlace(Object.fromEntries(names.map((name) => [name, name])))
  const code = (...argv: [string, ...string[]]): string =>
    codePlaces(argv, where.root)
      .files.map((file) => file.slice(where.root.length + 1))
      .join(' ')
  const cases: readonly (readonly [string, string])[] = [
    ['node server.mjs data.db', 'server.mjs'],
    ['node --env-file .env server.mjs data.db', '.env server.mjs'],
    ['node --env-file=.env server.mjs data.db', '.env server.mjs'],
    ['node -C ignore server.mjs', 'ignore server.mjs'],
    ['node --test-reporter first.mjs server.mjs', 'first.mjs server.mjs'],
    ['node --inspect server.mjs data.db', 'server.mjs'],
    ['node --unheard-of server.mjs data.db', 'server.mjs data.db'],
    ['python3 -W ignore server.py data.db', 'ignore server.py'],
    ['python3 -u server.py data.db', 'server.py'],
    ['deno run -A server.ts data.db', 'run server.ts'],
    ['ruby -r./first.mjs run data.db', 'first.mjs run data.db'],
    ['env A=1 node -r first.mjs server.mjs', 'first.mjs server.mjs'],
    ['nice -n 5 node server.mjs data.db', 'server.mjs'],
    ['mcp-server data.db', ''],
  ]
  expect(cases.map(([line]) => [line, code(...(line.split(' ') as [string, ...string[]]))])).toEqual(cases)
})

test('SPEC 4.10: a module that Python would find in the workspace is code, by every name that it may have', async () => {
  await using where = new SessionPlace({
    'data.db': '',
    'pkg/__init__.py': '',
    'pkg/sub/__main__.py': '',
    'pkg/other.py': '',
  })
  const code = (line: string): string =>
    codePlaces(line.split(' ') as [string, ...string[]], where.root)
      .files.map((file) => file.slice(where.root.length + 1))
      .join(' ')
  expect(
    ['python3 -m srv data.db', 'python3 -u -m pkg.sub data.db', 'python3 -mpkg.other'].map(code),
  ).toEqual(['', 'pkg/__init__.py pkg/sub/__main__.py', 'pkg/__init__.py pkg/other.py'])
  const before = identify(['python3', '-m', 'srv'], where.root, process.env)
  for (const name of ['srv.py', 'srv.abi3.so', 'srv/__main__.py', 'srv.pyc']) {
    where.write(name, 'evil')
    expect(code('python3 -m srv data.db')).toBe(name)
    // What a person accepted is not what would be started: it is asked about before.
    expect(identify(['python3', '-m', 'srv'], where.root, process.env)).not.toEqual(before)
    // Then it is not looked for there.
    expect(['python3 -P -m srv', 'python3 -I -m srv', 'python3 -Im srv'].map(code)).toEqual(['', '', ''])
    rmSync(join(where.root, name))
  }
})

test('a word that is no name of a file is no code', () => {
  expect(codePlaces(['sh', '-c', 'x'.repeat(5000), 'a\0b'], '/')).toEqual({ files: [], packages: [] })
})
