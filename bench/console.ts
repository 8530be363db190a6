/** The console's figures, in a real browser; a program of its own, because its types are a browser's. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const script = join(import.meta.dirname, '../packages/provider/test/browser/figures.ts')
const { status } = spawnSync(process.execPath, ['--conditions=cordon-source', script], { stdio: 'inherit' })
process.exitCode = status ?? 1
