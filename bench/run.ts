/** `npm run bench [name…]`: every figure the project claims, as ratios measured in one run. Each is a program of its own. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'

const library = new Set(['run.ts', 'measure.ts', 'pass-through.ts', 'plain-server.ts', 'signed-read.ts'])
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && !library.has(file))
  .map((file) => file.slice(0, -3))
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !all.includes(name))
if (unknown.length > 0) {
  console.error(`no bench named ${unknown.join(', ')}; there are: ${all.join(', ')}`)
  process.exit(2)
}

const load = loadavg().map((n) => n.toFixed(1))
console.log(`node ${process.version}, ${cpus().length} cores, load ${load.join(' ')}`)
for (const name of wanted.length > 0 ? wanted : all) {
  console.log(`\n── ${name}`)
  const script = join(import.meta.dirname, `${name}.ts`)
  const { status } = spawnSync(process.execPath, ['--conditions=cordon-source', script], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
