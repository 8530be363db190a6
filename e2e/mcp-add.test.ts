import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Ended, Place, PROGRAM, SOMEBODY } from './harness/place.ts'
import { Registry } from './harness/registry.ts'
import { play } from './harness/terminal.ts'

let registry: Registry
let at: Place
let env: Record<string, string>

/** Says what it was given and what it can reach, and ends. */
const SERVER = `#!/usr/bin/env node
const left = require('left')
require('node:http').get('http://example.com', () => {}).on('error', (error) => {
  console.log(JSON.stringify({ args: process.argv.slice(2), left, net: error.code, key: process.env.KEY, other: process.env.OTHER }))
  process.exit(0)
})
`

/** An install script that tries what it can, and writes down what worked. */
const NOSY = `const { readFileSync, writeFileSync } = require('node:fs')
const worked = []
try { readFileSync(process.env.HOME + '/secret'); worked.push('secret') } catch {}
try { writeFileSync(require('node:path').join(__dirname, '../../../../evil'), '') } catch {}
fetch('http://example.com').then(() => worked.push('example.com'), () => {})
  .then(() => writeFileSync('worked.json', JSON.stringify(worked)))
`

const PYTHON = `import json, os, sys, urllib.request
def main():
    try:
        urllib.request.urlopen("http://example.com")
    except Exception:
        print(json.dumps({"args": sys.argv[1:], "key": os.environ.get("KEY")}))
`

beforeAll(async () => {
  registry = await Registry.open()
  env = registry.env
  registry.publish({ name: 'left', version: '1.0.0', files: { 'index.js': 'module.exports = "left"' } })
  const manifest = {
    bin: { 'test-server': 'dist/server.js' },
    dependencies: { left: '^1.0.0' },
    scripts: { install: 'node nosy.js' },
  }
  const acme = { name: '@acme/test-server', files: { 'dist/server.js': SERVER, 'nosy.js': NOSY }, manifest }
  registry.publish({ ...acme, version: '1.0.0' })
  registry.publish({ ...acme, version: '1.1.0' })
  registry.publish({
    name: 'failing',
    version: '1.0.0',
    files: { 's.js': '' },
    manifest: { bin: 's.js', scripts: { install: 'echo no compiler here >&2; exit 3' } },
  })
  registry.publishWheel('snake-server', '2.0.0', PYTHON)
  at = new Place(SOMEBODY)
})

afterAll(() => registry.close())

/** Not `Place.cordon`, which waits for the end: this process is the registry. */
const mcp = (...args: string[]): Promise<Ended> => at.cordonMeanwhile(['mcp', ...args], { env })
const configFile = (): string => join(at.home, '.config/cordon/config.toml')
const installed = (from: string): string => join(at.home, '.local/share/cordon/mcp/packages', from)
const packages = (from: string): string[] => (existsSync(installed(from)) ? readdirSync(installed(from)) : [])

interface Shown {
  readonly line: readonly [string, ...string[]]
  readonly package: Readonly<Record<string, unknown>>
}
const show = async (name: string): Promise<Shown> =>
  JSON.parse((await mcp('show', name, '--json')).stdout) as Shown

/** Installers take seconds, and machines differ. */
const SLOW = 600_000

describe('npm', () => {
  test(
    'npx becomes a pinned installation that starts confined without network, npx or cache, and that nothing confined changes',
    async () => {
      at.write('.npmrc', 'registry=http://127.0.0.1:1/\n') // of the workspace: it does not choose the registry
      const added = await mcp(
        'add',
        'acme',
        '--env',
        'KEY',
        '--',
        'npx',
        '-y',
        '@acme/test-server@1.0.0',
        '--verbose',
      )
      expect(added).toMatchObject({ code: 0, stderr: 'installing @acme/test-server 1.0.0\n' })
      const { line, package: pin } = await show('acme')
      expect(line).toEqual([
        expect.stringMatching(/\/node_modules\/@acme\/test-server\/dist\/server\.js$/),
        '--verbose',
      ])
      expect(pin).toMatchObject({
        from: 'npm',
        name: '@acme/test-server',
        version: '1.0.0',
        scripts: 'not run',
      })
      expect(pin['integrity']).toMatch(/^sha512-/)
      expect(existsSync(join(String(pin['dir']), 'node_modules/@acme/test-server/worked.json'))).toBe(false)

      registry.asked.length = 0
      const ran = at.run(['--tool', 'acme', '--', ...line], { env: { KEY: 'v', OTHER: 'o' } })
      expect(JSON.parse(ran.stdout)).toEqual({
        args: ['--verbose'],
        left: 'left',
        net: expect.any(String),
        key: 'v',
      })
      expect(registry.asked).toEqual([])

      const before = readFileSync(line[0], 'utf8')
      at.run(['--tool', 'acme', '--', 'sh', '-c', `echo evil > ${line[0]}`])
      expect(readFileSync(line[0], 'utf8')).toBe(before)
    },
    SLOW,
  )

  test(
    'install scripts that are asked for run confined: no home, no other host, nothing outside',
    async () => {
      writeFileSync(join(at.home, 'secret'), 's')
      expect((await mcp('add', 'nosy', '--scripts', '--', 'npx', '@acme/test-server@1.0.0')).code).toBe(0)
      const { package: pin } = await show('nosy')
      expect(pin['scripts']).toBe('confined')
      const worked = readFileSync(
        join(String(pin['dir']), 'node_modules/@acme/test-server/worked.json'),
        'utf8',
      )
      expect(worked).toBe('[]')
      expect(packages('npm')).not.toContain('evil')

      const [config, before] = [readFileSync(configFile(), 'utf8'), packages('npm')]
      const failed = await mcp('add', 'f', '--scripts', '--', 'npx', 'failing')
      expect(failed.code).toBe(1)
      expect(failed.stderr).toContain('cordon: an install script failed, confined')
      expect(failed.stderr).toContain('no compiler here')
      expect([readFileSync(configFile(), 'utf8'), packages('npm')]).toEqual([config, before])
    },
    SLOW,
  )

  test(
    'a registry that sends something else than it stated, or has no such package: nothing is installed',
    async () => {
      const before = packages('npm')
      registry.exchanged = Buffer.from('something else')
      const added = await mcp('add', 'x', '--', 'npx', '@acme/test-server@1.1.0').finally(() => {
        registry.exchanged = undefined
      })
      expect(added.code).toBe(1)
      const fickle = { name: 'fickle', version: '1.0.0', files: { 's.js': '' }, manifest: { bin: 's.js' } }
      registry.publish(fickle)
      registry.restate = () => registry.publish({ ...fickle, files: { 's.js': 'evil' } })
      const restated = await mcp('add', 'x', '--', 'npx', 'fickle')
      expect(restated.code).toBe(1)
      expect(restated.stderr).toContain('is not what the registry stated before')
      expect(await mcp('add', 'x', '--', 'npx', 'nothing-there')).toMatchObject({
        code: 1,
        stderr: 'cordon: the registry has no nothing-there\n',
      })
      expect(packages('npm')).toEqual(before)
    },
    SLOW,
  )

  test(
    'update asks, installs beside what was there, and keeps the rest of the line',
    async () => {
      const before = await show('acme')
      expect(await mcp('update', 'acme')).toMatchObject({
        code: 1,
        stdout: 'acme stays 1.0.0; 1.1.0 was not accepted (--yes, or a terminal)\n',
      })
      expect(await show('acme')).toEqual(before)
      expect((await mcp('update', 'acme', '--yes')).code).toBe(0)
      const after = await show('acme')
      expect(after.line).toEqual([expect.stringContaining('@1.1.0-'), '--verbose'])
      expect(existsSync(before.line[0])).toBe(true)

      // As a kill -9 leaves it: files, and no manifest. It does not count, and the next one goes on.
      const manifest = join(String(after.package['dir']), 'cordon-package.json')
      writeFileSync(manifest, '')
      expect((await show('acme')).package).toBe(null)
      expect((await mcp('add', 'again', '--', 'npx', '@acme/test-server')).code).toBe(0)
      expect(statSync(manifest).size).toBeGreaterThan(0)
    },
    SLOW,
  )
})

test(
  'uvx and pipx become a virtual environment of wheels, pinned by hash, that starts confined',
  async () => {
    expect(await mcp('add', 'snake', '--env', 'KEY', '--', 'uvx', 'snake-server', '--flag')).toMatchObject({
      code: 0,
    })
    const { line, package: pin } = await show('snake')
    const ran = at.run(['--tool', 'snake', '--', ...line], { env: { KEY: 'v' } })
    expect(ran.stdout).toBe('{"args": ["--flag"], "key": "v"}\n')
    expect(pin).toMatchObject({ from: 'pypi', name: 'snake-server', version: '2.0.0' })
    expect(pin['integrity']).toMatch(/^sha256:[0-9a-f]{64}$/)
    expect((await mcp('add', 'p', '--', 'pipx', 'run', 'snake-server')).code).toBe(0)
    expect(packages('pypi')).toHaveLength(1)
  },
  SLOW,
)

describe('what a package needs from elsewhere than the registry is refused, and none of it is run', () => {
  /** Whatever runs writes this. */
  const proof = (): string => join(at.home, 'ran')
  const refuses = async (line: readonly string[], words: string): Promise<void> => {
    const before = [packages('npm'), packages('pypi')]
    const { code, stderr } = await mcp('add', 'elsewhere', '--', ...line)
    expect({ code, stderr, ran: existsSync(proof()) }).toEqual({
      code: 1,
      stderr: expect.stringContaining(words),
      ran: false,
    })
    expect([packages('npm'), packages('pypi')]).toEqual(before)
  }
  const needs = (name: string, dependencies: Record<string, string>): void =>
    registry.publish({
      name,
      version: '1.0.0',
      files: { 's.js': '' },
      manifest: { bin: 's.js', dependencies },
    })

  test(
    'npm: git, whose preparation npm would run; a URL; a directory',
    async () => {
      const repository = join(at.root, 'helper')
      const manifest = {
        name: 'helper',
        version: '1.0.0',
        scripts: { prepare: `touch ${proof()}` },
        devDependencies: { inner: 'git+ssh://git@127.0.0.1/inner.git' },
      }
      at.write('helper/package.json', JSON.stringify(manifest))
      at.write('helper/.npmrc', 'git=./evil.sh\n')
      at.write('helper/evil.sh', `#!/bin/sh\ntouch ${proof()}\n`, 0o755)
      const commit = 'git -c user.name=x -c user.email=x@x.invalid commit -qm x'
      expect(at.shell(`cd helper && git init -q && git add -A && ${commit}`, []).code).toBe(0)
      needs('with-git', { helper: `git+file://${repository}` })
      needs('with-url', { left: `${registry.url}/tarballs/left/1.0.0.tgz?elsewhere` })
      needs('with-directory', { helper: `file:${repository}` })
      needs('deeper', { 'with-git': '1.0.0' })
      const words = 'not from the registry'
      for (const name of ['with-git', 'deeper', 'with-url', 'with-directory'])
        await refuses(['npx', name], words)
    },
    SLOW,
  )

  test(
    'pip: a direct reference, which pip would build',
    async () => {
      at.write(
        'evil-1.0/setup.py',
        `open(${JSON.stringify(proof())}, "w")\nimport setuptools\nsetuptools.setup()\n`,
      )
      at.write('evil-1.0/PKG-INFO', 'Metadata-Version: 1.0\nName: evil\nVersion: 1.0\n')
      expect(at.shell('tar czf evil-1.0.tar.gz evil-1.0', []).code).toBe(0)
      const reference = `evil @ file://${at.root}/evil-1.0.tar.gz`
      registry.publishWheel('with-reference', '1.0.0', PYTHON, reference)
      await refuses(['uvx', 'with-reference'], 'not from the index')
      registry.publishWheel(
        'direct-wheel',
        '1.0.0',
        PYTHON,
        `snake-server @ ${registry.url}/wheels/snake_server-2.0.0-py3-none-any.whl`,
      )
      await refuses(['uvx', 'direct-wheel'], 'not from the index')
    },
    SLOW,
  )
})

describe('the configuration', () => {
  test('add, ls and rm of a plain command; comments around it stay', async () => {
    const here = new Place(SOMEBODY)
    const own = here.write(
      join(here.home, '.config/cordon/config.toml'),
      '# mine\n[sandbox]\nmode = "enforce" # so\n',
    )
    const before = readFileSync(own, 'utf8')
    const line = [
      '--allow-net',
      'api.example.com:8443',
      '--read',
      'src',
      '--write-path',
      'out',
      '--optional',
      '--',
      'python3',
      's.py',
      'a b',
    ]
    expect(here.cordon(['mcp', 'add', 'mine', ...line])).toMatchObject({
      code: 0,
      stdout: `added mine to ${own}\n  python3 s.py 'a b'\n`,
      stderr:
        'warning: python3 is to run s.py, which is not there: the server is added, and starts once it is\n' +
        'warning: s.py is a relative path, and this server is for all workspaces: in each it is another program; --user-workspace adds it for this one alone\n',
    })
    const [listed] = JSON.parse(here.cordon(['mcp', 'ls', '--json']).stdout) as unknown[]
    expect(listed).toEqual({
      name: 'mine',
      line: ['python3', 's.py', 'a b'],
      stateful: true,
      optional: true,
      startupTimeoutSecs: 60,
      variables: [],
      confined: true,
      defined: '~/.config/cordon/config.toml:6:1',
      layer: 'user',
      state: 'in effect',
      paths: [
        { path: 'src', grants: ['read'] },
        { path: 'out', grants: ['read', 'create', 'update', 'delete'] },
      ],
      hosts: [{ host: 'api.example.com', allow: true }],
      package: null,
      clients: [],
    })
    expect(here.cordon(['mcp', 'add', 'x', 'npx', '-y', 'p']).stderr).toBe(
      "cordon: unknown option '-y'\n(the command stands behind --, with options of its own: cordon mcp add NAME -- COMMAND)\n",
    )
    expect(here.cordon(['tool', 'ls']).stderr).toBe(
      'and the tools of 1 MCP server, for `cordon query` and `cordon mcp serve`: see `cordon mcp ls`\n',
    )
    expect(here.cordon(['mcp', 'ls']).stdout).toBe(
      'NAME  STATE               ACCESS                    PROGRAM  DEFINED\n' +
        'mine  stateful, optional  src out, api.example.com  python3  ~/.config/cordon/config.toml:6:1\n',
    )
    expect(here.cordon(['mcp', 'add', 'mine', '--', 'true'])).toMatchObject({
      code: 2,
      stderr:
        'cordon: there is a server "mine" already (~/.config/cordon/config.toml)\n  fix: choose another name, or add --replace\n',
    })
    expect(here.cordon(['mcp', 'rm', 'mine']).code).toBe(0)
    expect(here.cordon(['mcp', 'add', 'box', '--', 'docker', 'run', 'x'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: docker needs the socket of its daemon'),
    })
    expect(here.cordon(['mcp', 'rm', 'box']).code).toBe(0)
    expect(readFileSync(own, 'utf8')).toBe(before)
    // A home is no workspace, and a person's own configuration can be changed there all the same.
    expect(here.cordon(['mcp', 'add', 'x', '--', 'true'], { cwd: here.home })).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('SPEC 5.5: what a server was granted goes with it, or is said; another of its name gets it by a person’s word alone', () => {
    const here = new Place(SOMEBODY)
    here.init()
    const mcpHere = (...args: string[]): Ended => here.cordon(['mcp', ...args])
    const grant = (where: string[], host: string, cwd = here.root): void =>
      expect(
        here.cordon(
          ['config', 'set', ...where, 'providers.mcp.ev.access.net', `+{ host = "${host}", allow = true }`],
          {
            cwd,
          },
        ).code,
      ).toBe(0)
    const other = here.mkdir(join(here.dir, 'other'))
    expect(here.cordon(['init'], { cwd: other }).code).toBe(0)
    expect(mcpHere('add', 'ev', '--', 'node', 'a.js').code).toBe(0)
    grant(['--user-workspace'], 'own.example')
    grant([], 'shared.example')
    grant(['--user-workspace'], 'other.example', other)

    const removed = mcpHere('rm', 'ev')
    expect(removed).toMatchObject({ code: 0, stderr: '' })
    expect(removed.stdout).toMatch(/and what it was granted from .*\/workspace\/w-\w+\/config\.toml\n/)
    expect(removed.stdout).toContain('    to take it out: cordon config unset providers.mcp.ev\n')
    const elsewhere = `cd ${other} && cordon config unset --user-workspace providers.mcp.ev`
    expect(removed.stdout).toContain(`    to take it out: ${elsewhere}\n`)
    expect(mcpHere('rm', 'ev')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no server "ev", only what is granted to that name'),
    })

    const refused = mcpHere('add', 'ev', '--', 'node', 'b.js')
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--keep-access') })
    expect(refused.stderr).toContain(elsewhere)
    expect(mcpHere('ls').stdout).toBe('')
    // Of this workspace alone: what another one grants is of no consequence.
    expect(mcpHere('add', 'ev', '--user-workspace', '--', 'node', 'b.js').stderr).not.toContain(elsewhere)
    here.write(join(here.home, '.cursor/mcp.json'), '{"mcpServers":{"ev":{"command":"evil"}}}', 0o600)
    expect(mcpHere('import', '--dry-run').stdout).toContain('ev: would be taken as ev-cursor')

    const asked = play(
      {
        argv: [PROGRAM.node, PROGRAM.cordon, 'mcp', 'add', 'ev', '--', 'node', 'b.js'],
        cwd: here.root,
        env: here.env({ TERM: 'xterm' }),
        steps: [['Shall the new server have it? [y/N] ', 'n\r']],
      },
      here.person.uid === undefined ? {} : { uid: here.person.uid, gid: here.person.gid! },
    )
    expect([asked.missed, asked.code, mcpHere('ls').stdout]).toEqual([[], 2, ''])

    expect(here.cordon(['config', 'unset', 'providers.mcp.ev']).code).toBe(0)
    expect(mcpHere('add', 'ev', '--', 'node', 'b.js').code).toBe(2)
    expect(
      here.cordon(['config', 'unset', '--user-workspace', 'providers.mcp.ev'], { cwd: other }).code,
    ).toBe(0)
    expect(mcpHere('add', 'ev', '--', 'node', 'b.js').code).toBe(0)
    expect(mcpHere('ls').stdout).toContain('the workspace, no network')
    grant([], 'shared.example')
    expect(mcpHere('add', 'ev', '--replace', '--', 'node', 'c.js').code).toBe(2)
    expect(mcpHere('add', 'ev', '--replace', '--keep-access', '--', 'node', 'c.js').code).toBe(0)
    expect(mcpHere('ls').stdout).toContain('shared.example')
  })

  test('SPEC 2.1 what waits for trust is listed as waiting; what is added to a trusted file keeps it trusted', () => {
    const here = new Place(SOMEBODY)
    here.write('.cordon/config.toml', '[providers.mcp.theirs]\ncommand = "evil"\n')
    const list = (): (readonly unknown[])[] =>
      (JSON.parse(here.cordon(['mcp', 'ls', '--json']).stdout) as Record<string, unknown>[]).map(
        ({ name, state, defined }) => [name, state, defined],
      )
    expect(list()).toEqual([['theirs', 'waits for trust', '.cordon/config.toml:2:1']])
    for (const args of [
      ['add', 'x', '--shared', '--', 'true'],
      ['rm', 'theirs'],
    ])
      expect(here.cordon(['mcp', ...args])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('nobody has trusted'),
      })
    // A person's own is theirs to change, whatever waits.
    for (const args of [
      ['add', 'zz', '--', 'true'],
      ['rm', 'zz'],
    ])
      expect(here.cordon(['mcp', ...args])).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('not trusted, and not in effect'),
      })
    here.trust()
    expect(here.cordon(['mcp', 'add', 'x', '--shared', '--', 'true']).code).toBe(0)
    expect(list()).toEqual([
      ['theirs', 'in effect', '.cordon/config.toml:2:1'],
      ['x', 'in effect', '.cordon/config.toml:5:1'],
    ])
  })

  test('what is refused writes nothing, and repeats no value', () => {
    const here = new Place(SOMEBODY)
    const refused: [string[], string][] = [
      [['__proto__', '--', 'true'], 'is not a server name'],
      [['x', '--env', 'KEY=hunter22', '--', 'true'], '--env KEY=…: a value here would stand in a file'],
      [['x', '--shared', '--', 'srv', '--token', 'hunter22'], 'an argument looks like a secret'],
      [['x', '--shared', '--', 'npx', '@acme/test-server'], 'is installed in your own place'],
      [['x', '--stateless', '--env', 'K', '--', 'true'], 'stateless MCP server'],
      [['x', '--', 'npx', 'github:a/b'], 'is not a package of the registry'],
      [
        ['x', '--env', 'ghp_hunter22abcdefghijklmnopqrstuvwxyz', '--', 'true'],
        '--env takes the name of a variable, and this looks like a value',
      ],
      [['x', '--shared', '--', 'env', 'API_TOKEN=hunter22', 'srv'], 'an argument looks like a secret'],
      [
        ['x', '--no-install', '--scripts', '--', 'npx', '@acme/test-server'],
        '--scripts is about what is installed, so it cannot be with --no-install',
      ],
    ]
    for (const [args, words] of refused) {
      const { code, stderr } = here.cordon(['mcp', 'add', ...args])
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(words) })
      expect(stderr).not.toContain('hunter22')
    }
    expect(existsSync(join(here.home, '.config'))).toBe(false)
    expect(existsSync(join(here.root, '.cordon/config.toml'))).toBe(false)
  })

  test('decision 0500: a program that is not there, and what looks like a secret, are said, and no value is repeated', () => {
    const here = new Place(SOMEBODY)
    const warned: [string[], string][] = [
      [
        ['a', '--', 'no-such-server'],
        'warning: cannot start no-such-server: it is in no directory of PATH: the server is added, and starts once it is there\n',
      ],
      [
        ['b', '--', './srv'],
        'warning: cannot start ./srv: it does not exist: the server is added, and starts once it is there\n' +
          'warning: ./srv is a relative path, and this server is for all workspaces: in each it is another program; --user-workspace adds it for this one alone\n',
      ],
      [
        ['b', '--user-workspace', '--', './srv'],
        'warning: cannot start ./srv: it does not exist: the server is added, and starts once it is there\n',
      ],
      [
        ['c', '--', 'python3', '-m', 'srv'],
        'warning: python3 -m looks for what is imported in the workspace first: whoever may write there can have the server run other code, with its access\n' +
          '  fix: where it is not to be found there: python3 -P -m srv (Python 3.11 or newer), or the program that the server has\n',
      ],
      [['c', '--', 'python3', '-P', '-m', 'srv'], ''],
      [
        ['d', '--user-workspace', '--', 'true', '--token', 'hunter22'],
        'warning: an argument looks like a secret: it stands in your configuration now, and in the list of processes while the server runs\n' +
          '  fix: where the server takes it from a variable, name that, and set it where the server is started: cordon mcp add d --replace --user-workspace --env NAME -- true …\n',
      ],
      [
        ['e', '--', 'env', 'API_TOKEN=hunter22', 'true'],
        'warning: an argument looks like a secret: it stands in your configuration now, and in the list of processes while the server runs\n' +
          '  fix: where the server takes it from a variable, name that, and set it where the server is started: cordon mcp add e --replace --env API_TOKEN -- env …\n',
      ],
    ]
    for (const [args, stderr] of warned) {
      const added = here.cordon(['mcp', 'add', ...args])
      expect(added).toMatchObject({ code: 0, stderr })
      expect(added.stdout).not.toContain('hunter22')
      expect(here.cordon(['mcp', 'rm', args[0]!]).code).toBe(0)
    }
  })
})
