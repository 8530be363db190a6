/** What a command costs before it does anything: whole processes, both with the same Node, ours by its installed entry. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare } from './measure.ts'

const cordon = join(import.meta.dirname, '../packages/cli/bin/cordon')

const configured = join(import.meta.dirname, '../examples/workspace/.cordon/config.toml')

/** The workspace, and beside it a place for what is trusted in it: that is not the machine's business. */
const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
const dir = join(base, 'w')

const started =
  (cwd: string, program: string, ...args: string[]) =>
  () => {
    const env = { ...process.env, XDG_DATA_HOME: join(base, 'data') }
    const { status, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' })
    const wanted = args.at(-1) === '/bin/false' ? 1 : 0
    if (status !== wanted) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stderr}`)
  }

function run(): void {
  mkdirSync(dir)
  const theirs = { name: 'node -e 0', run: started(dir, process.execPath, '-e', '0') }
  const against = (title: string, args: readonly string[], atMost?: number, cwd = dir): void => {
    compare({
      title,
      ours: { name: `cordon ${args.join(' ')}`, run: started(cwd, cordon, ...args) },
      theirs,
      batch: 1,
      ...(atMost === undefined ? {} : { atMost }),
    })
  }
  const SUCCEEDS = ['run', '--', '/bin/true']
  const FAILS = ['run', '--', '/bin/false']
  try {
    against('the program alone', ['--version'], 1.35)
    against('where nobody ran cordon init', SUCCEEDS, 1.8)
    against('with a host to filter', ['run', '--allow-net', 'example.com', '--', '/bin/true'], 2.0)
    started(dir, cordon, 'init')()
    against('in a new workspace', SUCCEEDS, 1.8)
    against('when the command fails', FAILS, 2.3)
    cpSync(configured, join(dir, '.cordon/config.toml'))
    started(dir, cordon, 'trust', '--yes')()
    against('with a configuration to read', SUCCEEDS)
    against('with a configuration to read, when the command fails', FAILS, 2.3)
    const deep = join(dir, 'a/b/c')
    mkdirSync(deep, { recursive: true })
    for (const at of ['', 'a', 'a/b', 'a/b/c'])
      writeFileSync(
        join(dir, at, '.cordon.toml'),
        `${'# as long as people write them\n'.repeat(20)}[sandbox.limits]\nprocesses = 100\n`,
      )
    started(deep, cordon, 'trust', '--yes')()
    against('with five trusted files (SPEC 2.1)', SUCCEEDS, 1.9, deep)
  } finally {
    rmSync(base, { recursive: true })
  }
}

run()
