import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { CACHE, CORDON, cordon, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal, play } from './harness/terminal.ts'

/** A copy of the example, with its links as they are, and a home of its own. */
function example(): { cwd: string; home: string } {
  const base = temporary()
  cpSync(join(import.meta.dirname, '../examples'), base, { recursive: true, verbatimSymlinks: true })
  return { cwd: join(base, 'workspace'), home: temporary() }
}

/** The same after a person has trusted it, as its README says first. */
function trustedExample(): { cwd: string; home: string } {
  const here = example()
  trust(here)
  return here
}

/** The commands of the example's README, with what its comments say of them. */
const lines = readFileSync(join(import.meta.dirname, '../examples/workspace/README.md'), 'utf8')
  .split('\n')
  .filter((line) => /npx cordon .*# |npx cordon .*   #/.test(line))

test('examples/workspace: every command of its README does what is said beside it', () => {
  const here = example()
  expect(lines).toHaveLength(13)
  for (const line of lines) {
    const [command = '', says = ''] = line.split(/\s+# /)
    const script = command.replaceAll('npx cordon', `'${process.execPath}' '${CORDON}'`)
    const { status, stderr } = spawnSync('sh', ['-c', script], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home },
      encoding: 'utf8',
    })
    expect({ line, status, stderr }).toMatchObject({
      line,
      status: /denied|by the kernel/.test(says) ? 1 : 0,
    })
  }
})

test('examples/workspace: why the mount grants nothing, and how it would', () => {
  expect(cordon(trustedExample(), 'why', 'fs_modify_file', 'read', 'fork/src/lib.rs')).toEqual({
    code: 1,
    stdout:
      'denied: tool fs_modify_file, read fork/src/lib.rs\n' +
      '  because: nobody has approved where the mount fork leads, so it grants nothing\n' +
      '  rule at: .cordon/config.toml:22:1\n' +
      '  to allow it, at a terminal:\n' +
      '    cordon policy compile\n',
    stderr: '',
  })
})

test('examples/workspace: the mount is read through once it is approved, and nothing beside it', () => {
  const here = trustedExample()
  const cat = (path: string) => cordon(here, 'run', '--tool', 'fs_modify_file', '--', 'cat', path)
  expect(cat('fork/src/lib.rs')).toMatchObject({ code: 1, stdout: '' })
  expect(cordonAtTerminal(here, ['policy', 'compile'], [['[y/N] ', 'y\n']]).code).toBe(0)
  expect(cordon(here, 'why', 'fs_modify_file', 'read', 'fork/src/lib.rs').code).toBe(0)
  expect(cat('fork/src/lib.rs')).toMatchObject({ code: 0, stdout: 'pub fn forked() {}\n' })
  expect(cat('../broken/.cordon/config.toml')).toMatchObject({ code: 1, stdout: '' })
})

const pages = ['README.md', 'docs/provider.md'].map((file) => ({
  file,
  text: readFileSync(join(import.meta.dirname, '..', file), 'utf8'),
}))

test('README: no block that is pasted names a place that another user may have made', () => {
  for (const { file, text } of pages) {
    const blocks = [...text.matchAll(/^```sh\n(.*?)^```/gms)].map(([, block = '']) => block)
    expect(blocks.length).toBeGreaterThan(1)
    expect({ file, shared: blocks.filter((block) => block.includes('/tmp/')) }).toEqual({ file, shared: [] })
  }
})

test('README: the answer to "Ask why" is what the example says', () => {
  const answer = /^Then the answer:\n\n```\n(.*?)^```/ms.exec(pages[0]!.text)?.[1]
  expect(cordon(trustedExample(), 'why', 'fs_modify_file', 'update', '.env').stdout).toBe(answer)
})

test('README: "A day with it" is pasted whole at a terminal, and every line of it is run', () => {
  const home = temporary()
  const block = /^## A day with it\n\n```sh\n(.*?)^```/ms.exec(pages[0]!.text)?.[1] ?? ''
  const { screen, missed } = play({
    argv: ['bash', '--norc', '--noprofile', '-i'],
    cwd: home,
    env: {
      PATH: `${dirname(CORDON)}:${process.env['PATH'] ?? ''}`,
      HOME: home,
      XDG_CACHE_HOME: CACHE,
      CORDON_BACKGROUND: 'off',
      TERM: 'dumb',
      PS1: '> ',
    },
    steps: [
      ['> ', block],
      ['[y/N] ', 'y\n'],
      ['\n> ', 'echo "last: $?"; exit\n'],
    ],
  })
  expect({ screen, missed }).toEqual({ screen, missed: [] })
  expect(screen).toContain('\n1 notes.md\n') // run
  expect(screen).toContain('\nnotes.md\n1 entry.') // tool run
  expect(screen).toContain('\nattached file:///notes.md (text/markdown, 11 B)\n')
  expect(screen).toContain('\nlast: 0\n')
  expect(readlinkSync(join(home, 'cordon-try/mine/fork'))).toBe(join(home, 'cordon-try/fork'))
})

test('docs/writing-tools.md: the tool in TypeScript works as it is pasted, outside the clone, with its narrow rules', () => {
  const clone = join(import.meta.dirname, '..')
  const section = /^## In TypeScript\n(.*?)^## /ms.exec(
    readFileSync(join(clone, 'docs/writing-tools.md'), 'utf8'),
  )
  const block = (kind: string): string =>
    new RegExp(`^\`\`\`${kind}\\n(.*?)^\`\`\``, 'ms').exec(section?.[1] ?? '')?.[1] ?? ''
  const here = { cwd: temporary(), home: temporary() }
  const file = (name: string, text: string): void => writeFileSync(join(here.cwd, name), text)
  expect(cordon(here, 'init').code).toBe(0)
  const install = spawnSync('sh', ['-ec', block('sh').replace('PATH-OF-CLONE', clone)], {
    cwd: here.cwd,
    env: { PATH: process.env['PATH'], HOME: here.home, npm_config_offline: 'true' },
    encoding: 'utf8',
  })
  expect(install).toMatchObject({ status: 0 })
  mkdirSync(join(here.cwd, 'docs'))
  file('docs/a.md', 'one two three\n')
  file('key', 'secret\n')
  file('word-count.mjs', block('ts'))
  file('.cordon/config.toml', block('toml'))
  trust(here)
  const count = (path: string) =>
    cordon(here, 'tool', 'run', 'word_count', '--args', JSON.stringify({ path }))
  expect(count('docs/a.md')).toEqual({ code: 0, stdout: '3 words', stderr: '' })
  expect(count('key')).toEqual({
    code: 1,
    stdout: '',
    stderr:
      'cordon: access denied: read on key\n' +
      '  because: no rule covers that path\n' +
      '  granted: docs (read), word-count.mjs (read), node_modules (read)\n' +
      '  to allow it:\n' +
      `    cordon config set conversation.tools.word_count.access.fs '+{ path = "key", read = true }'\n`,
  })
})
