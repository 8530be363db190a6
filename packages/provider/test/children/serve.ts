/** A provider in a process of its own, to be killed. argv: data directory, database as JSON, port. */
import { openAmbientDatabase } from '../../src/storage/database.ts'
import { serveProvider } from '../../src/http/serve.ts'

const [dir, choice, port] = process.argv.slice(2)
process.once('disconnect', () => process.exit())
const serving = await serveProvider({
  database: await openAmbientDatabase(JSON.parse(choice!) as { file: string }),
  dir: dir!,
  host: '127.0.0.1',
  port: Number(port),
  version: 'test',
  log: () => {},
})
process.send!({ url: serving.url })
process.once('SIGTERM', () => void serving.stop().then(() => process.exit(0)))
