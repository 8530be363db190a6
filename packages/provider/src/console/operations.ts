import { Hono } from 'hono'
import { z } from 'zod'
import { AppError, listApps, setEnabled, switched } from '../apps/app.ts'
import { listDelegations } from '../apps/delegations.ts'
import { changeRecorded } from '../audit/change.ts'
import { COMMANDS } from '../commands.ts'
import { foresee, supposedAt } from '../pipeline/foresee.ts'
import { listPolicies, PolicyRefused } from '../policies/store.ts'
import type { AppAnswer, PoliciesAnswer, TriedAnswer } from './answers.ts'
import { authorOf, type ConsoleContext } from './context.ts'
import { ConsoleRefusal } from './errors.ts'
import { requireSession } from './guard.ts'
import { readBody } from './read-body.ts'

const ENABLED = z.strictObject({ enabled: z.boolean() })
const path = z.string().min(1).max(4096)
const TRY = z.strictObject({
  app: z.string().max(64),
  agent: z.string().max(200),
  command: z.enum(COMMANDS),
  path,
  destination: path.optional(),
  exists: z.boolean(),
  cosigned: z.boolean(),
})

/** Apps with what was delegated to them, and the policies that decide. */
export function operationRoutes(context: ConsoleContext): Hono {
  const { provider } = context
  const { database } = provider
  const app = new Hono()

  app.get('/apps', async (c) => {
    const [apps, issued] = await Promise.all([listApps(database), listDelegations(database)])
    return c.json(
      apps.map(({ id, did, enabled, createdAt }): AppAnswer => ({
        id,
        did,
        enabled,
        created_at: createdAt,
        delegations: issued
          .filter((each) => each.app === id)
          .map(({ cid, command, prefix, issuedAt, expiresAt, revoked }) => ({
            cid,
            command,
            prefix,
            issued_at: issuedAt,
            expires_at: expiresAt ?? null,
            revoked,
          })),
      })),
    )
  })

  app.post('/apps/:id', async (c) => {
    const who = await requireSession(c, context)
    const { enabled } = await readBody(c, ENABLED)
    const id = c.req.param('id')
    try {
      await changeRecorded(provider, authorOf(who), async (inside) => {
        await setEnabled(inside, id, enabled)
        return { result: undefined, ...switched(id, enabled) }
      })
    } catch (error) {
      if (error instanceof AppError) throw new ConsoleRefusal('not_found', 'there is no such app')
      throw error
    }
    return c.json({ enabled })
  })

  app.get('/policies', async (c) => {
    const policies = await listPolicies(database)
    return c.json({
      commands: COMMANDS,
      apps: (await listApps(database)).map(({ id, did }) => ({ id, did })),
      policies: policies.map(({ scope, name, version, text, createdAt }) => ({
        scope,
        name,
        version,
        text,
        created_at: createdAt,
      })),
    } satisfies PoliciesAnswer)
  })

  app.post('/policies/try', async (c) => {
    const wanted = await readBody(c, TRY)
    const { command, destination } = wanted
    const question = {
      app: wanted.app,
      agent: wanted.agent,
      command,
      resource: supposedAt(command, wanted),
      ...(destination === undefined
        ? {}
        : { destination: supposedAt(command, { path: destination, exists: false }) }),
      cosigned: wanted.cosigned,
    }
    const told = await foresee(database, question, provider.clock()).catch((error: unknown) => {
      if (error instanceof PolicyRefused)
        throw new ConsoleRefusal('bad_request', 'the policies of this app do not load: everything is denied')
      if (error instanceof AppError) throw new ConsoleRefusal('not_found', 'there is no such app')
      throw error
    })
    const { answer, refusal, verdict, decided, permitting, decision } = told
    return c.json({
      answer,
      refusal: refusal ?? null,
      verdict,
      decided: decided.map(({ id, text }) => ({ id, text })),
      permits: permitting.map(({ id, text }) => ({ id, text })),
      errors: decision.errors,
    } satisfies TriedAnswer)
  })
  return app
}
