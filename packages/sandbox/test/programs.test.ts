import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import {
  give,
  IDENTITIES,
  type Identity,
  reachableLauncher,
  makeWorld,
  run,
  scratchDir,
  removeWorlds,
} from './confine.ts'

afterAll(removeWorlds)

const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
const SELF: Identity = { name: 'self' }
const NODE_DIR = join(process.execPath, '..')

describe.each(IDENTITIES)('with the default policy, as $name', (who) => {
  test.runIf(has('git'))('git commits', async () => {
    const world = makeWorld(who, { a: 'a', '~/.gitconfig': '[user]\nname = Nobody\n' })
    const { stdout, stderr, code } = await run({
      who,
      world,
      script:
        'git init -q . && git add . && git -c user.name=u -c user.email=u@example.com commit -qm first && git log --format=%s%n%an',
    })
    expect([stdout, stderr.replaceAll(/^hint:.*\n/gm, ''), code]).toEqual(['first\nu\n', '', 0])
  })

  test('npm test', async () => {
    const world = makeWorld(who, {
      'package.json': '{"name":"x","scripts":{"test":"node --test"}}',
      'x.test.js': "require('node:test')('adds', () => { require('node:assert').equal(1 + 1, 2) })",
    })
    const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
    const { stdout, stderr, code } = await run({
      who,
      world,
      argv: [npm, 'test'],
      env: { PATH: `${NODE_DIR}:/usr/local/bin:/usr/bin:/bin` },
    })
    expect([code, stderr, /pass 1/.test(stdout)]).toEqual([0, '', true])
  })

  test.runIf(existsSync('/usr/bin/python3'))('a Python virtual environment', async () => {
    const world = makeWorld(who)
    const { stdout, stderr, code } = await run({
      who,
      world,
      script:
        '/usr/bin/python3 -m venv --without-pip .venv && . .venv/bin/activate && python -c "import sys, json; print(sys.prefix)"',
    })
    expect([stdout, stderr, code]).toEqual([`${world.root}/.venv\n`, '', 0])
  })

  test('a program in the home is found with its interpreter, and nothing beside it', async () => {
    const world = makeWorld(who, {
      '~/bin/tool': '#!/bin/sh\necho "tool $1"; ls -A ~ ~/bin',
      '~/bin/other': 'x',
      '~/.netrc': 'KEY',
    })
    execFileSync('chmod', ['755', join(world.home, 'bin/tool')])
    const { stdout } = await run({ who, world, argv: ['tool', 'x'], env: { PATH: `${world.home}/bin:/bin` } })
    expect(stdout).toBe(`tool x\n${world.home}:\nbin\n\n${world.home}/bin:\ntool\n`)
  })
})

test('a project on PATH is not taken for an installation', async () => {
  const world = makeWorld(SELF, {
    '~/proj/bin/x': '#!/bin/sh\n',
    '~/proj/lib/a': '',
    '~/proj/.git/config': '',
    '~/rails/bin/x': '#!/bin/sh\n',
    '~/rails/lib/a': '',
    '~/rails/config/key': '',
    '~/py/bin/x': '#!/bin/sh\n',
    '~/py/lib/a': '',
  })
  const path = ['proj', 'rails', 'py'].map((name) => `${world.home}/${name}/bin`).join(':')
  const { stdout } = await run({ who: SELF, world, argv: ['/bin/ls', world.home], env: { PATH: path } })
  expect(stdout).toBe('py\n')
})

/** Of the user who runs the tests: his toolchain lies in his home. */
test.runIf(existsSync(`${homedir()}/.cargo/bin/cargo`))('cargo builds a small crate', async () => {
  const world = makeWorld(SELF, {
    'Cargo.toml': '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    'src/main.rs': 'fn main() { println!("built") }',
  })
  const { stdout, code } = await run({
    who: SELF,
    world: { ...world, home: homedir() },
    argv: ['cargo', 'run', '-q', '--offline'],
    env: { HOME: homedir(), PATH: `${homedir()}/.cargo/bin:/usr/bin:/bin` },
  })
  expect([stdout, code]).toEqual(['built\n', 0])
})

/** `script` gives us a terminal; the launcher inside it is started the way spawnConfined starts it. */
describe.runIf(has('script'))('at a terminal', () => {
  const [who] = IDENTITIES

  async function atTerminal(shell: string, typed: string): Promise<string> {
    const world = makeWorld(who!)
    const dir = scratchDir()
    const orders = join(dir, 'orders.json')
    writeFileSync(orders, JSON.stringify({ world, shell, launcher: reachableLauncher().path }))
    give(who!, dir)
    const driver = fileURLToPath(new URL('terminal.ts', import.meta.url))
    const out = join(dir, 'typescript')
    // Typed when the program is ready, and the terminal stays until the host has said how it ended.
    const typing = `until grep -qa ready ${out}; do sleep 0.1; done; sleep 0.2; printf '${typed}'; until grep -qa signal ${out}; do sleep 0.1; done`
    const host = `${process.execPath} --conditions=cordon-source ${driver} ${orders}`
    spawnSync('sh', ['-c', `(${typing}) 2>/dev/null | script -qfec '${host}' ${out}`], { timeout: 110_000 })
    return readFileSync(out, 'utf8').replaceAll('\r', '')
  }

  test('a shell has its terminal, its size and job control', async () => {
    const out = await atTerminal(
      'echo ready; exec bash --norc -i',
      'stty size; tty; sleep 500 &\\njobs; kill %%1; exit 7\\n',
    )
    expect(out).toMatch(/^\d+ \d+$/m)
    expect(out).toMatch(/Running +sleep 500/)
    expect(out).not.toContain('no job control')
    expect(out).toContain('{"code":7,"signal":null}')
  })

  test('a signal to its process group does not leave the sandbox', async () => {
    const out = await atTerminal('echo ready; kill -KILL 0', '')
    expect(out).toContain('{"code":null,"signal":"SIGKILL"}')
  })

  test('Ctrl-C reaches the program and not the host', async () => {
    const out = await atTerminal(
      "trap 'echo interrupted; exit 5' INT; echo ready; while :; do sleep 0.1; done",
      '\\003',
    )
    expect(out).toContain('interrupted')
    expect(out).toContain('{"code":5,"signal":null}')
  })
})
