/**
 * The tools as a program: `node main.ts [name] < call.json`. One JSON object on standard output; exit code 0
 * for success and for a question, 1 for an error.
 */
import { buffer } from 'node:stream/consumers'
import { runTool } from './run-tool.ts'

const stdin = await buffer(process.stdin)
const result = await runTool(process.argv[2], stdin.toString('utf8'))
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exitCode = result.type === 'error' ? 1 : 0
