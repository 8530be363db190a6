/**
 * The tools as a program: `node main.ts [name] < call.json`. One JSON object on standard output; exit code 0
 * for success and for a question, 1 for an error. Plain reads and writes: streams would double the start.
 * `node main.ts name serve` stays for further calls (decision 0200).
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { runTool } from './run-tool.ts'
import { serveCalls } from './serve.ts'

const [, , name, mode] = process.argv

// No top-level await: the bundle of this file is CommonJS, which starts faster (decision 0104).
if (name !== undefined && mode === 'serve') void serveCalls(name)
else
  // oxlint-disable-next-line unicorn/prefer-top-level-await
  void runTool(name, readFileSync(0, 'utf8')).then((result) => {
    writeFileSync(1, `${JSON.stringify(result)}\n`)
    process.exit(result.type === 'error' ? 1 : 0) // everything is written, and Node need not take its heap down
  })
