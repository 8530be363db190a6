import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { sessionOf } from '../gateway/support.ts'
import { launchers } from '../worker/seen.ts'
import { SessionPlace } from '../worker/support.ts'

const SMALL = readFileSync(join(import.meta.dirname, '../../../../e2e/harness/small-server.mjs'), 'utf8')
/** Writes down that it was started; `BEFORE` is what it does before it can be asked. */
const started = (before: string): string =>
  `import { appendFileSync } from 'node:fs'\nappendFileSync('started', 'x')\n${before}\n${SMALL}`
const CONFIG = `
[providers.mcp.small]
command = ${JSON.stringify(process.execPath)}
arguments = ["small.mjs"]
stateful = false
`
const AT_ONCE = Math.max(8, 4 * availableParallelism())

async function placeFor(before: string) {
  const where = new SessionPlace({ '.cordon/config.toml': CONFIG, 'small.mjs': started(before) })
  const session = await sessionOf(where)
  await session.start()
  const route = await session.route('slow')
  if (route?.kind !== 'server') expect.unreachable()
  const ask = (signal?: AbortSignal): Promise<string> =>
    route.server
      .ask((client) => client.callTool({ name: 'slow', arguments: {} }, signal ? { signal } : {}), {
        as: route.as,
        signal,
      })
      .then(() => 'answered')
      .catch((error: unknown) => String(error))
  const starts = (): number => {
    const file = join(where.root, 'started')
    return existsSync(file) ? readFileSync(file, 'utf8').length : 0
  }
  return { where, session, ask, starts }
}

const NOT_STARTED = expect.stringContaining(
  'MCP server small was not started: nobody waits for it any more',
) as string

test('SPEC 5.5: a call that is cancelled while it waits in line is never started', async () => {
  const { where, session, ask, starts } = await placeFor('')
  await using _ = where
  const before = starts()
  const stop = new AbortController()
  const gone = new AbortController()
  const running = Array.from({ length: AT_ONCE }, () => ask(gone.signal))
  const waiting = Array.from({ length: 5 }, () => ask(stop.signal))
  const later = Array.from({ length: 5 }, () => ask())
  await expect.poll(starts).toBe(before + AT_ONCE)
  stop.abort()
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => NOT_STARTED))
  // Who is gone is told of nothing, and nothing of what waited is started.
  await session.close()
  expect(await Promise.all(later)).toEqual(later.map(() => NOT_STARTED))
  await Promise.all(running)
  await sleep(100)
  expect([starts(), launchers()]).toEqual([before + AT_ONCE, []])
  expect(await ask(AbortSignal.abort())).toEqual(NOT_STARTED)
})

test('SPEC 5.4: who cancels while a server starts is told no cause', async () => {
  const { where, session, ask, starts } = await placeFor(
    "console.error('EACCES: permission denied, open /etc/shadow'); await new Promise((resolve) => setTimeout(resolve, 400))",
  )
  await using _ = where
  const before = starts()
  const stop = new AbortController()
  const asked = ask(stop.signal)
  await expect.poll(starts).toBe(before + 1)
  stop.abort()
  expect(await asked).toBe('ServerError: MCP server small was stopped before it was initialised')
  await session.close()
})
