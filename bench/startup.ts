/** What a command costs before it does anything: whole processes, both with the same Node. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { compare } from './measure.ts'

const cordon = join(import.meta.dirname, '../packages/cli/bin/cordon.cjs')
const node =
  (...args: string[]) =>
  () => {
    const { status } = spawnSync(process.execPath, args)
    if (status !== 0) throw new Error(`node ${args.join(' ')} ended with ${status}`)
  }

export function run(): void {
  compare({
    title: 'cordon --version against node -e 0',
    ours: { name: 'cordon --version', run: node(cordon, '--version') },
    theirs: { name: 'node -e 0', run: node('-e', '0') },
    batch: 1,
    atMost: 1.35,
  })
}
