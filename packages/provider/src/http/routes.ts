import { createRoute, OpenAPIHono, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { COMMANDS, type Command, toolNameOf } from '../commands.ts'
import { consoleApi } from '../console/api.ts'
import type { ConsoleAssets } from '../console/assets.ts'
import { ConsoleRefusal } from '../console/errors.ts'
import { EVERY_HEADERS, requireNoOtherName } from '../console/guard.ts'
import { consolePages, sendLastWorker, sendPage } from '../console/pages.ts'
import type { Site } from '../console/site.ts'
import { Refusal, REFUSALS } from '../errors.ts'
import { troubleOf } from '../health.ts'
import { ARGS } from '../operations/args.ts'
import type { Provider } from '../provider.ts'
import { ConsoleProcess } from '../sessions/console-process.ts'
import { findApproval } from '../step-up/approvals.ts'
import { ANSWERS, APPROVAL_BODY, ERROR_BODY } from './answers.ts'
import type { Metrics } from './metrics.ts'

export interface Served {
  readonly provider: Provider
  readonly metrics: Metrics
  readonly version: string
  readonly site: () => Site
  readonly assets: ConsoleAssets | undefined
  /** False when new requests are to go elsewhere. */
  readonly isOpen: () => boolean
  readonly unexpected: (error: unknown) => void
  readonly answered: (request: {
    readonly command: string
    readonly code: string
    readonly ms: number
  }) => void
}

/** Everything but the commands themselves, which `answerCommand` serves; the document describes both. */
export function makeRoutes(served: Served): OpenAPIHono {
  const { provider, metrics } = served
  const app = new OpenAPIHono()
  for (const command of COMMANDS) {
    const args = app.openAPIRegistry.register(`${toolNameOf(command)}Args`, ARGS[command])
    app.openAPIRegistry.registerPath(describeCommand(command, 'sha256' in args.shape))
  }
  app.use(async (c, next) => {
    await next()
    for (const [name, value] of Object.entries(EVERY_HEADERS)) c.header(name, value)
  })
  app.use(async (c, next) => (c.req.header('service-worker') === 'script' ? sendLastWorker(c) : next()))
  const context = { ...served, process: new ConsoleProcess(), trouble: () => troubleOf(served) }
  app.route('/console/api', consoleApi(context))
  app.get('/', (c) => c.redirect('/console/', 302))
  app.get('/console', (c) => c.redirect('/console/', 302))
  app.route('/console', consolePages(context))
  app.use('/approvals/:id', async (c, next) => {
    // The same address for a browser, which gets the page, and for a program.
    if (c.req.method === 'GET' && /\btext\/html\b/.test(c.req.header('accept') ?? ''))
      return sendPage(c, context)
    requireNoOtherName(c, served.site())
    return next()
  })
  app.openapi(APPROVAL, async (c) => {
    const found = await findApproval(provider.database, c.req.valid('param').id, provider.clock())
    if (!found) return c.json(bodyOf(new Refusal('not_found', 'there is no such approval')), 404)
    const { id, app: name, agent, command, state } = found
    const [opened_at, expires_at] = [found.openedAt, found.expiresAt].map((at) => new Date(at).toISOString())
    return c.json(
      {
        id,
        app: name,
        agent,
        command,
        state,
        opened_at: opened_at!,
        expires_at: expires_at!,
      },
      200,
    )
  })
  app.get('/healthz', (c) => c.text('ok\n'))
  app.get('/readyz', async (c) => {
    const trouble = await troubleOf(served)
    return trouble ? c.text(`not ready: ${trouble.why}\n`, 503) : c.text('ready\n')
  })
  app.get('/metrics', async (c) => {
    const text = metrics.render({
      auditRecords: provider.audit.head?.seq ?? 0,
      ready: (await troubleOf(served)) === undefined,
      running: provider.traffic.running,
    })
    return c.text(text, 200, { 'content-type': 'text/plain; version=0.0.4' })
  })
  app.get('/openapi.json', (c) => c.json(documentOf(app, served.version)))
  app.notFound((c) => refuse(c, new Refusal('not_found', 'there is no such resource; see /openapi.json')))
  app.onError((error, c) => {
    if (error instanceof Refusal) return refuse(c, error)
    if (error instanceof ConsoleRefusal) return c.text(`${error.message}\n`, error.status)
    served.unexpected(error)
    return refuse(c, new Refusal('unavailable', 'it cannot be answered now'))
  })
  return app
}

export const bodyOf = ({
  code,
  message,
  detail,
}: Refusal): { error: { code: Refusal['code']; message: string } } => ({
  error: { code, message, ...detail },
})

const refuse = (c: Context, refusal: Refusal): Response => c.json(bodyOf(refusal), refusal.status as 400)

const documentOf = (app: OpenAPIHono, version: string): object =>
  app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Cordon filesystem provider',
      version,
      description:
        'Every command is asked for by a signed UCAN invocation, and what is done is what it says: its arguments are in it (schemas `…Args`), not in the request.',
    },
  })

const refused = Object.fromEntries(
  [...new Set(Object.values(REFUSALS))].map((status) => [
    status,
    { description: codesOf(status), content: { 'application/json': { schema: ERROR_BODY } } },
  ]),
)

function codesOf(status: number): string {
  return Object.entries(REFUSALS)
    .filter(([, each]) => each === status)
    .map(([code]) => code)
    .join(', ')
}

const BINARY = { 'application/octet-stream': { schema: z.string().openapi({ format: 'binary' }) } }

function describeCommand(
  command: Command,
  takesContent: boolean,
): Parameters<OpenAPIHono['openAPIRegistry']['registerPath']>[0] {
  const answer = ANSWERS[command]
  const name = toolNameOf(command)
  const content = answer ? { 'application/json': { schema: answer.openapi(`${name}Answer`) } } : BINARY
  return {
    method: 'post',
    path: command,
    operationId: name,
    description: `Arguments, in the invocation: \`#/components/schemas/${name}Args\``,
    request: {
      headers: z.object({
        authorization: z
          .string()
          .describe(`\`Bearer \` and a UCAN container: an invocation of ${command} with its chain`),
      }),
      ...(takesContent ? { body: { content: BINARY, required: true } } : {}),
    },
    responses: {
      200: { description: answer ? 'done' : 'the content', content },
      ...(answer ? {} : { 206: { description: 'the range that was asked for', content } }),
      ...refused,
    },
  }
}

const APPROVAL = createRoute({
  method: 'get',
  path: '/approvals/{id}',
  operationId: 'approval',
  request: { params: z.object({ id: z.string().max(64) }) },
  responses: {
    200: {
      description: 'what waits for a person',
      content: { 'application/json': { schema: APPROVAL_BODY } },
    },
    404: { description: 'not_found', content: { 'application/json': { schema: ERROR_BODY } } },
  },
})
