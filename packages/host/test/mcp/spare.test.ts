import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Connection } from '../../src/mcp/connection.ts'
import { sessionOf } from '../gateway/support.ts'
import { launchers } from '../worker/seen.ts'
import { SessionPlace } from '../worker/support.ts'

const SMALL = readFileSync(join(import.meta.dirname, '../../../../e2e/harness/small-server.mjs'), 'utf8')
const CONFIG = `
[providers.mcp.small]
command = ${JSON.stringify(process.execPath)}
arguments = ["small.mjs"]
stateful = false
spare = true
`

test('SPEC 5.1: a process is ended, and the next one started, when the answer is on its way', async () => {
  await using where = new SessionPlace({ '.cordon/config.toml': CONFIG, 'small.mjs': SMALL })
  const session = await sessionOf(where)
  await session.start()
  const route = await session.route('pid')
  if (route?.kind !== 'server') expect.unreachable()
  const ask = (): Promise<Connection> =>
    route.server.ask(
      async (client, connection) => {
        await client.callTool({ name: 'pid', arguments: {} })
        return connection
      },
      { as: route.as },
    )
  const seen = new Set<number>()
  for (let call = 0; call < 3; call++) {
    const used = await ask()
    for (const pid of call === 0 ? launchers() : []) seen.add(pid)
    // Whatever is done before an answer can leave is done by now.
    for (let turns = 0; turns < 200; turns++) await Promise.resolve()
    expect(used.failure()).toBeUndefined()
    expect(launchers().filter((pid) => !seen.has(pid))).toEqual([])
    await used.ended
    await expect.poll(() => launchers().filter((pid) => !seen.has(pid))).toHaveLength(1)
    for (const pid of launchers()) seen.add(pid)
  }
  await session.close()
  expect(launchers()).toEqual([])
})
