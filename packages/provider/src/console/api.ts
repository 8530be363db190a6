import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'
import { approvalRoutes } from './approvals.ts'
import type { OverviewAnswer } from './answers.ts'
import type { ConsoleContext } from './context.ts'
import { ConsoleRefusal } from './errors.ts'
import { halvesOf, PAGE_HEADERS, requireHost, requireOwnPage, requireSession } from './guard.ts'
import { Live } from './live.ts'
import { operationRoutes } from './operations.ts'
import { DayView } from './overview.ts'
import { findSession } from '../sessions/sessions.ts'
import { signInRoutes } from './sign-in.ts'
import { trailRoutes } from './trail.ts'

/** A connection that says nothing for a minute is cut; and whoever signed out elsewhere is not told more for long. */
const HEARTBEAT_MS = 5000

/** What the page may ask without being signed in. */
const OPEN = new Set(
  ['session', 'register/options', 'register', 'sign-in/options', 'sign-in'].map(
    (name) => `/console/api/${name}`,
  ),
)

/** SPEC 7.7: everything the console can do. Its own page asks, from its own host, signed in. */
export function consoleApi(context: ConsoleContext): Hono {
  const { provider } = context
  const app = new Hono()
  const live = new Live(context)
  const day = new DayView(provider.database)

  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(PAGE_HEADERS)) c.header(name, value)
    c.header('cache-control', 'no-store')
    c.header('x-cordon-process', context.process.id)
    const site = context.site()
    requireHost(c, site)
    requireOwnPage(c, site)
    if (!OPEN.has(c.req.path)) await requireSession(c, context)
    await next()
  })
  app.onError(async (error, c) => {
    if (!(error instanceof ConsoleRefusal)) context.unexpected(error)
    const { code, message, detail, status } =
      error instanceof ConsoleRefusal ? error : await unavailable(context)
    return c.json({ error: { code, message, ...detail } }, status)
  })

  app.route('/', signInRoutes(context))
  app.route('/approvals', approvalRoutes(context))
  app.route('/audit', trailRoutes(context))
  app.route('/', operationRoutes(context))

  app.get('/overview', async (c) => {
    const now = provider.clock()
    const today = await day.read(now)
    return c.json({
      now,
      version: context.version,
      database: provider.database.engine,
      ...today,
    } satisfies OverviewAnswer)
  })

  app.get('/events', (c) =>
    streamSSE(c, async (stream) => {
      // Looked at and not renewed: an open page alone is nobody who does something, and no cookie can be sent any more.
      const halves = await halvesOf(c, context)
      const stop = await live.follow((now) => {
        stream.writeSSE({ event: 'now', data: JSON.stringify(now) }).catch(() => undefined) // it is gone
      })
      try {
        while (!stream.aborted && context.isOpen()) {
          await stream.sleep(HEARTBEAT_MS)
          if (!halves || !(await findSession(provider.database, halves, provider.clock()))) break
          await stream.writeSSE({ event: 'alive', data: '' })
        }
      } catch {
        // the database is gone: the page asks again and is told
      } finally {
        stop()
      }
    }),
  )
  // Last, and not `notFound`, which would leave it to the page.
  app.all('*', () => {
    throw new ConsoleRefusal('not_found', 'there is no such thing')
  })
  return app
}

/** With the reason, where one is known. */
async function unavailable({ trouble }: ConsoleContext): Promise<ConsoleRefusal> {
  const found = await trouble()
  return new ConsoleRefusal('unavailable', found?.why ?? 'it cannot be answered now; try again')
}
