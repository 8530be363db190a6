import { describe, expect, test } from 'vitest'
import { looksSecret } from '../../src/mcp/clients/secrets.ts'
import { lookAlike } from '../../src/mcp/install/install.ts'
import { readRunner } from '../../src/mcp/install/runner.ts'

const read = (line: string): unknown => {
  const [command = '', ...args] = line.split(' ')
  return readRunner(command, args)
}

test.each([
  ['npx -y @acme/srv', { from: 'npm', name: '@acme/srv', version: undefined, program: undefined, args: [] }],
  [
    '/usr/bin/npx srv@^1.2 --flag -y',
    { from: 'npm', name: 'srv', version: '^1.2', program: undefined, args: ['--flag', '-y'] },
  ],
  [
    'npx --yes --package=@acme/srv@1 run x',
    { from: 'npm', name: '@acme/srv', version: '1', program: 'run', args: ['x'] },
  ],
  ['npx -p srv -- run x', { from: 'npm', name: 'srv', version: undefined, program: 'run', args: ['x'] }],
  ['npm exec -- srv x', { from: 'npm', name: 'srv', version: undefined, program: undefined, args: ['x'] }],
  [
    'uvx mcp-server-git --repository .',
    {
      from: 'pypi',
      name: 'mcp-server-git',
      version: undefined,
      program: undefined,
      args: ['--repository', '.'],
    },
  ],
  [
    'uvx --from srv[extra]==1.2 run',
    { from: 'pypi', name: 'srv[extra]', version: '1.2', program: 'run', args: [] },
  ],
  ['uv tool run srv@latest', { from: 'pypi', name: 'srv', version: undefined, program: undefined, args: [] }],
  ['pipx run --spec srv==2 run x', { from: 'pypi', name: 'srv', version: '2', program: 'run', args: ['x'] }],
  ['node server.js', undefined],
  ['npm start', undefined],
  ['uv run server.py', undefined],
])('%s', (line, wanted) => {
  expect(read(line)).toEqual(wanted)
})

describe('what cannot be pinned is refused', () => {
  test.each([
    'npx git+https://github.com/a/b',
    'npx github:a/b',
    'npx a/b',
    'npx https://example.com/x.tgz',
    'npx file:../x',
    'npx ./x',
    'npx ../x',
    'npx /x',
    'npx npm:alias@1',
    'npx x@https://example.com/x.tgz',
    'npx x@git+ssh://h/x',
    'npx x.tgz',
    'npx @scope',
    'npx x;id',
    'npx',
    'npx -c id',
    'npx --registry=http://evil x',
    'npx --userconfig x y',
    'npx -p a -p b c',
    'npx -p a',
    'uvx --from git+https://github.com/a/b x',
    'uvx --index-url http://evil x',
    'uvx --with evil x',
    'uvx ./x.whl',
    'uvx',
    'pipx install x',
    'pipx run --pip-args=--index-url=http://evil x',
    'bunx x',
    'pnpm dlx x',
    'yarn dlx x',
  ])('%s', (line) => {
    expect(() => read(line)).toThrow()
  })
})

test('a name that is nearly a well-known one is noticed, the well-known one and a stranger are not', () => {
  expect(lookAlike({ name: '@modelcontextprotocol/server-filesytem' })).toBe(
    '@modelcontextprotocol/server-filesystem',
  )
  expect(lookAlike({ name: '@modelcontextprotocol/server-filesystem' })).toBe(undefined)
  expect(lookAlike({ name: '@acme/server' })).toBe(undefined)
})

test.each([
  ['postgres://me:pw@host/db'],
  ['--api-key=abcdef1'],
  ['sk-proj-abc'],
  ['ghp_0123456789'],
  ['0123456789abcdef0123456789abcdef'],
  ['hunter22', '--token'],
  ['hunter22', '--db-password'],
  ['GITHUB_TOKEN=hunter22'],
])('%j after %j looks like a secret', (word, before?: string) => {
  expect(looksSecret(word, before)).toBe(true)
})

test.each([
  ['-y'],
  ['@modelcontextprotocol/server-sequential-thinking'],
  ['/home/me/projects/2024/some-quite-long-directory-name'],
  ['https://example.com/a/b'],
  ['--port=8080'],
  ['PORT=8080808'],
  ['--verbose', '--token'],
  ['./token.txt', '--token-file'],
  ['stdio'],
])('%j after %j does not', (word, before?: string) => {
  expect(looksSecret(word, before)).toBe(false)
})
