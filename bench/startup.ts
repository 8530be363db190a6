/** What a command costs before it does anything: whole processes, both with the same Node. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare } from './measure.ts'

const cordon = join(import.meta.dirname, '../packages/cli/bin/cordon.cjs')

const node =
  (cwd: string, ...args: string[]) =>
  () => {
    const { status } = spawnSync(process.execPath, args, { cwd })
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
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
    node(dir, cordon, 'init')()
    compare({
      title: 'cordon run -- /bin/true in a new workspace against node -e 0',
      ours: { name: 'cordon run -- /bin/true', run: node(dir, cordon, 'run', '--', '/bin/true') },
      theirs: nothing,
      batch: 1,
      atMost: 1.6,
    })
  } finally {
    rmSync(dir, { recursive: true })
  }
}

run()
