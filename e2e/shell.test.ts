import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { CORDON, cordon, temporary } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

const { version } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../packages/cli/package.json'), 'utf8'),
) as { version: string }

let here: { cwd: string; home: string }
beforeAll(() => {
  here = { cwd: temporary(), home: temporary() }
})

test('--version prints the version and nothing else', () => {
  const expected = { code: 0, stdout: `${version}\n`, stderr: '' }
  expect(cordon(here, '--version')).toEqual(expected)
  expect(cordon(here, '-V')).toEqual(expected)
})

test('--help lists every command, also without arguments', () => {
  const help = cordon(here, '--help')
  expect(help).toMatchObject({ code: 0, stderr: '' })
  for (const name of ['init', 'why', 'policy', 'config'])
    expect(help.stdout).toMatch(new RegExp(`^  ${name} `, 'm'))
  expect(cordon(here)).toEqual(help)
})

test('SPEC 2: --help says which conversation a command takes without --id', () => {
  const own = (...command: string[]): string | undefined =>
    /--id <conversation>.*?;\s+else\s+(.*?)\n {2}-/s
      .exec(cordon(here, ...command, '--help').stdout)?.[1]
      ?.replaceAll(/\s+/g, ' ')
  expect(own('why')).toBe('in the last used')
  for (const command of ['serve', 'doctor']) expect(own('mcp', command)).toBe('in none')
  for (const command of [['run'], ['mcp', 'wrap']])
    expect(own(...command)).toBe('in none, or with --tool or --profile in the last used')
})

test('an unknown command gets a suggestion and exit code 2', () => {
  for (const words of [['wyh'], ['help', 'wyh']])
    expect(cordon(here, ...words)).toEqual({
      code: 2,
      stdout: '',
      stderr: "cordon: unknown command 'wyh'\n(Did you mean why?)\n(run with --help for the usage)\n",
    })
})

test('an unknown option gets a suggestion and exit code 2', () => {
  const { code, stdout, stderr } = cordon(here, 'why', '--jsn', 'a', 'read', 'b')
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toBe(
    "cordon: unknown option '--jsn'\n(Did you mean --json?)\n(run with --help for the usage)\n",
  )
})

test('a missing argument is a usage error', () => {
  const { code, stderr } = cordon(here, 'why', 'fs_read_file')
  expect(code).toBe(2)
  expect(stderr).toBe("cordon: missing required argument 'capability'\n(run with --help for the usage)\n")
})

test('outside a workspace it says how to make one', () => {
  expect(cordon(here, 'tool', 'ls')).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: no workspace at or above ${here.cwd}\n  fix: run \`cordon init\` in the directory you want to work in\n`,
  })
})

test('a home, or what is above it, does not become a workspace, and nothing is made', () => {
  const above = temporary()
  const home = join(above, 'home')
  mkdirSync(home)
  for (const dir of [home, above]) {
    expect(cordon({ cwd: here.cwd, home }, 'init', dir)).toEqual({
      code: 2,
      stdout: '',
      stderr: `cordon: no workspace at or above ${dir}\n  fix: start in a project's directory; your home, and what is above it, would give away all you have\n`,
    })
    expect(existsSync(join(dir, '.cordon'))).toBe(false)
  }
  expect(readdirSync(home)).toEqual([])
})

test('a program that was not built says so', () => {
  const bin = join(temporary(), 'bin')
  cpSync(dirname(CORDON), bin, { recursive: true })
  for (const command of ['run', 'why']) {
    const { status, stderr } = spawnSync(process.execPath, [join(bin, 'cordon.cjs'), command], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([
      command === 'run' ? 125 : 2,
      'cordon: it has not been built, or is being built\n  fix: run `npm run build` in the clone\n',
    ])
  }
})

test('colour only on a terminal, and not with NO_COLOR', () => {
  const coloured = cordonAtTerminal(here, ['wyh'], [])
  expect(coloured.raw).toContain('\u001B[31mcordon:\u001B[39m')
  expect(cordonAtTerminal({ ...here, env: { NO_COLOR: '1' } }, ['wyh'], []).raw).not.toContain('\u001B[')
  expect(cordon(here, 'wyh').stderr).not.toContain('\u001B[')
})

test('a closed pipe is not an error', async () => {
  const child = spawn(process.execPath, [CORDON, 'config', 'schema'], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.stdout.destroy()
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = await new Promise((resolve) => child.on('exit', resolve))
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
})
