/** What a command costs before it does anything: whole processes, both with the same Node. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare } from './measure.ts'

const cordon = join(import.meta.dirname, '../packages/cli/bin/cordon.cjs')

const configured = join(import.meta.dirname, '../examples/workspace/.cordon/config.toml')

const node =
  (cwd: string, ...args: string[]) =>
  () => {
    const { status, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
    const wanted = args.at(-1) === '/bin/false' ? 1 : 0
    if (status !== wanted) throw new Error(`node ${args.join(' ')} ended with ${status}: ${stderr}`)
  }

function run(): void {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
  const nothing = { name: 'node -e 0', run: node(dir, '-e', '0') }
  try {
    compare({
      title: 'cordon --version against node -e 0',
      ours: { name: 'cordon --version', run: node(dir, cordon, '--version') },
      theirs: nothing,
      batch: 1,
      atMost: 1.35,
    })
    compare({
      title: 'cordon run -- /bin/true where nobody ran cordon init',
      ours: { name: 'cordon run -- /bin/true', run: node(dir, cordon, 'run', '--', '/bin/true') },
      theirs: nothing,
      batch: 1,
      atMost: 1.6,
    })
    compare({
      title: 'the same with a host to filter, for which Node stays',
      ours: {
        name: 'cordon run --allow-net',
        run: node(dir, cordon, 'run', '--allow-net', 'example.com', '--', '/bin/true'),
      },
      theirs: nothing,
      batch: 1,
    })
    node(dir, cordon, 'init')()
    compare({
      title: 'cordon run -- /bin/true in a new workspace against node -e 0',
      ours: { name: 'cordon run -- /bin/true', run: node(dir, cordon, 'run', '--', '/bin/true') },
      theirs: nothing,
      batch: 1,
      atMost: 1.6,
    })
    cpSync(configured, join(dir, '.cordon/config.toml'))
    compare({
      title: 'the same with a configuration to read',
      ours: { name: 'cordon run -- /bin/true', run: node(dir, cordon, 'run', '--', '/bin/true') },
      theirs: nothing,
      batch: 1,
    })
    compare({
      title: 'the same when the command fails, and Node is started again to explain it',
      ours: { name: 'cordon run -- /bin/false', run: node(dir, cordon, 'run', '--', '/bin/false') },
      theirs: nothing,
      batch: 1,
    })
  } finally {
    rmSync(dir, { recursive: true })
  }
}

run()
