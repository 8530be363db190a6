/**
 * The tools as a program: `node main.ts [name] < call.json`. One JSON object on standard output; exit code 0
 * for success and for a question, 1 for an error. Plain reads and writes: streams would double the start.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { runTool } from './run-tool.ts'

// No top-level await: the bundle of this file is CommonJS, which starts faster (decision 0104).
// oxlint-disable-next-line unicorn/prefer-top-level-await
void runTool(process.argv[2], readFileSync(0, 'utf8')).then((result) => {
  writeFileSync(1, `${JSON.stringify(result)}\n`)
  process.exitCode = result.type === 'error' ? 1 : 0
})
