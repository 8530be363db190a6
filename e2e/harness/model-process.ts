// Ends with its standard input, so also with the test that started it.
import { appendFileSync, writeFileSync } from 'node:fs'
import { type RecordedStep } from '../../packages/host/src/agent/recorded/script.ts'
import { RecordedModel } from '../../packages/host/src/agent/recorded/server.ts'

const [, , script = '[]', log = ''] = process.argv
writeFileSync(log, '')
const model = await RecordedModel.start(JSON.parse(script) as RecordedStep[], (request) =>
  appendFileSync(log, `${JSON.stringify(request)}\n`),
)
process.stdout.write(`${model.url}\n`)
process.stdin.resume().on('end', () => process.exit())
