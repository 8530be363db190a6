/** Two calls of one session, then it waits to be killed. Says what it read, and by which launcher. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ToolSession } from '../../src/execute/session.ts'
import { openAmbientProject } from '../../src/project.ts'
import { launchers, textOf } from '../worker/seen.ts'

const base = process.env['PLACE']!
const cwd = join(base, 'ws')
mkdirSync(join(cwd, '.cordon'), { recursive: true })
writeFileSync(join(cwd, 'a.txt'), 'hello')
const uid = process.getuid?.()
const surroundings = { env: {}, platform: process.platform, home: base, uid }
const session = new ToolSession({
  project: () => openAmbientProject({ cwd, surroundings, cfg: [] }),
  compiler: { pid: process.pid, uid, home: base, session: 'child', person: undefined },
  env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: base },
  installation: {
    node: process.execPath,
    tools: join(import.meta.dirname, '../../../cli/dist/tools.cjs'),
  },
})
const texts: string[] = []
for (let i = 0; i < 2; i++) texts.push(textOf(await session.call('fs_read_file', { path: 'a.txt' })))
process.stdout.write(`${JSON.stringify({ texts, launchers: launchers() })}\n`)
setInterval(() => undefined, 1000)
