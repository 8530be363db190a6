import { hash } from 'node:crypto'
import { Hono } from 'hono'
import { currentProviderKey } from '../keys/provider-key.ts'
import { askSignature, type Ceremony, verifySignature } from '../passkeys/ceremony.ts'
import {
  type Approval,
  ApprovalClosed,
  decideApproval,
  type Decider,
  findApproval,
  findNewer,
  listSummaries,
  takeBackNo,
} from '../step-up/approvals.ts'
import type { ApprovalAnswer, ApprovalDetail, ApprovalRow } from './answers.ts'
import type { ConsoleContext } from './context.ts'
import { ConsoleRefusal } from './errors.ts'
import { requireSession } from './guard.ts'
import { readBody, SIGNATURE } from './read-body.ts'
import { RefusedAttempts } from './refused-attempts.ts'

/** SPEC 7.5 in the browser. Everybody here is signed in; a yes is signed for once more, for exactly this request. */
export function approvalRoutes(context: ConsoleContext): Hono {
  const { provider } = context
  const { database } = provider
  const app = new Hono()
  const refused = new RefusedAttempts(provider, 'approval signature refused')
  const ceremony = (): Ceremony => ({ database, site: context.site(), now: provider.clock() })

  app.get('/', async (c) => {
    const all = await listSummaries(database, provider.clock())
    return c.json(
      all.map((each): ApprovalRow => {
        const { destination, replaces } = each.request
        return {
          ...summaryOf(each),
          path: each.path,
          ...(destination === undefined ? {} : { destination }),
          ...(replaces === undefined ? {} : { replaces }),
        }
      }),
    )
  })

  app.get('/:id', async (c) => {
    const found = await requireKnown(context, c.req.param('id'))
    const newer = (await findNewer(database, found, provider.clock())) ?? null
    const { request, binding } = found
    return c.json({ ...summaryOf(found), request, binding, newer } satisfies ApprovalDetail)
  })

  app.post('/:id/question', async (c) => {
    const { key } = await requireSession(c, context)
    const found = await requireKnown(context, c.req.param('id'))
    if (found.state !== 'open') throw closed(found)
    return c.json(await askSignature(ceremony(), 'step up', subjectOf(found, key)))
  })

  app.post('/:id/approve', async (c) => {
    const session = await requireSession(c, context)
    const { ceremony: asked, response } = await readBody(c, SIGNATURE)
    const found = await requireKnown(context, c.req.param('id'))
    if (found.state !== 'open') throw closed(found)
    const subject = subjectOf(found, session.key)
    const signed = await verifySignature(ceremony(), 'step up', subject, asked, response).catch(
      async (error: unknown) => {
        const detail = { approval: found.id, passkey: response.id.slice(0, 64) }
        if (error instanceof ConsoleRefusal) await refused.note(detail, `passkey ${session.name}`)
        throw error
      },
    )
    const { passkey, name, evidence } = signed
    const approve = currentProviderKey(provider.dir)
    const page = { page_key: session.key, shown_sha256: shownHash(found) }
    const by = { by: `passkey ${name}`, evidence: { passkey, ...page, ...evidence } }
    return c.json(summaryOf(await decideOnce(context, found.id, { approve }, by)))
  })

  app.post('/:id/deny', async (c) => {
    const { name, passkey } = await requireSession(c, context)
    const found = await requireKnown(context, c.req.param('id'))
    const by = { by: `passkey ${name}`, evidence: { passkey } }
    return c.json(summaryOf(await decideOnce(context, found.id, 'deny', by)))
  })

  app.post('/:id/ask-again', async (c) => {
    const { name, passkey } = await requireSession(c, context)
    const { id, noUntil } = await requireKnown(context, c.req.param('id'))
    if (noUntil === undefined)
      throw new ConsoleRefusal('decided', 'no answer of a person stands in the way of this request')
    const by = { by: `passkey ${name}`, evidence: { passkey } }
    return c.json(summaryOf(await takeBackNo(provider, id, by, provider.clock())))
  })
  return app
}

/**
 * SPEC 7.5: the binding is over command, canonical paths, content and all that the invocation says. The page computes the
 * challenge, too, from its address, its own key and what it shows: a signature that somebody else had it ask for is for
 * nothing (decision 0344, `stepUpChallenge` in `console/src/page-key.ts`).
 */
const subjectOf = (approval: Approval, key: string): string =>
  [approval.id, key, approval.binding, shownHash(approval)].join('\n')

const shownHash = ({ app, agent, command, request }: Approval): string =>
  hash('sha256', JSON.stringify([app, agent, command, request]), 'base64url')

const summaryOf = ({
  id,
  app,
  agent,
  command,
  state,
  openedAt,
  expiresAt,
  decidedBy,
  noUntil,
}: Omit<Approval, 'request'>): ApprovalAnswer => ({
  id,
  app,
  agent,
  command,
  state,
  opened_at: openedAt,
  expires_at: expiresAt,
  decided_by: decidedBy ?? null,
  no_until: noUntil ?? null,
})

async function requireKnown({ provider }: ConsoleContext, id: string): Promise<Approval> {
  const found = await findApproval(provider.database, id, provider.clock())
  if (found) return found
  throw new ConsoleRefusal('not_found', 'there is no such request; it may be of another provider')
}

/** Of two browsers one wins, and the other is told what came of it. */
async function decideOnce(
  { provider }: ConsoleContext,
  id: string,
  decision: Parameters<typeof decideApproval>[2],
  by: Decider,
): Promise<Approval> {
  try {
    return await decideApproval(provider, id, decision, by, provider.clock())
  } catch (error) {
    if (error instanceof ApprovalClosed) throw closed(error.approval)
    throw error
  }
}

function closed(approval: Approval): ConsoleRefusal {
  const { state, decidedBy = 'somebody' } = approval
  if (state === 'expired')
    return new ConsoleRefusal(
      'too_late',
      approval.decidedBy === undefined
        ? 'it was too late: nobody answered in time. The agent can ask again'
        : `${decidedBy} approved this, and the agent did not ask again in time`,
    )
  const what = state === 'denied' ? 'said no to' : 'approved'
  return new ConsoleRefusal('decided', `${decidedBy} ${what} this already; your answer was not needed`, {
    state,
  })
}
