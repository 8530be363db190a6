import { randomUUID } from 'node:crypto'
import type { App } from '../apps/app.ts'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import type { AnyArgs } from '../operations/args.ts'
import { OPERATIONS } from '../operations/index.ts'
import type { Answer, Work } from '../operations/operation.ts'
import { surveyRemoval } from '../operations/tree.ts'
import { policiesOf } from '../policies/store.ts'
import type { Provider } from '../provider.ts'
import type { Now } from '../registry.ts'
import { requireApproval } from '../step-up/approvals.ts'
import { digestBinding, digestMeaning } from '../step-up/binding.ts'
import { surveyWork } from '../step-up/survey.ts'
import type { PathPrefix } from '../tokens/prefix.ts'
import type { VerifiedInvocation } from '../tokens/verify.ts'
import { readArgs } from './arguments.ts'
import { authenticate } from './authenticate.ts'
import { Deadline } from './deadline.ts'
import { type Asker, decideRequest, type Found, mayAlso } from './decide.ts'
import { perform } from './perform.ts'
import type { Lease } from './limits.ts'
import { asRefusal, type Meaning, type Place, type Visit } from './places.ts'
import { requireBelowPrefix, requireInScope, requireNoMetacharacters, requireNoTempName } from './scope.ts'

/** What follows a request. Each piece counts until the next is asked for. */
export interface Body extends AsyncIterable<Uint8Array> {
  /** So many were read. */
  readonly bytes: number
}

export interface Incoming {
  /** The command of the route. What is done is the one in the signed invocation, and they must agree. */
  readonly route: string
  readonly token: string | undefined
  readonly body: Body
  /** Calls when the client is gone before it was answered, at once if it is by now. */
  readonly whenGone: (act: () => void) => void
}

/** SPEC 7.3, in its order; the first failure answers. Throws a `Refusal`; anything else is a bug or the database. */
export async function handle(provider: Provider, incoming: Incoming): Promise<Answer> {
  if (incoming.token === undefined)
    throw new Refusal('token_missing', 'send the invocation as `Authorization: Bearer …`')
  const now = await provider.registry.current()
  const invocation = await authenticate(incoming.token, now, provider)
  const app = await requireApp(invocation, now)
  const args = readArgs(invocation, incoming.route)
  const visit = provider.places.visit()
  const announced = args.size ?? 0
  const lease = provider.limits.enter(app, now.now, announced)
  const held = endOnce(lease, () => {
    lease.charge(Math.min(incoming.body.bytes, announced) - announced) // what never came is given back
    visit.end()
  })
  try {
    const known = { invocation, args, app, now, incoming, visit }
    const { work, approval } = await admit(provider, known)
    return await perform(provider, { app: app.id, invocation, work, approval, lease: held })
  } catch (error) {
    held.leave()
    throw error
  }
}

/** Whatever a request holds ends with it, once, however it ends. */
function endOnce(lease: Lease, also: () => void): Lease {
  let open = true
  return {
    charge: (bytes) => lease.charge(bytes),
    leave: () => {
      if (open) also()
      open = false
      lease.leave()
    },
  }
}

async function requireApp({ app: did }: VerifiedInvocation, { snapshot }: Now): Promise<App> {
  const app = await snapshot.app(did)
  if (!app) throw new Refusal('app_unknown', 'the delegation is to an app that this provider does not know')
  requireEnabled(app)
  return app
}

export function requireEnabled({ id, enabled }: App): void {
  if (!enabled) throw new Refusal('app_disabled', `the app ${id} is disabled`)
}

interface Known {
  readonly invocation: VerifiedInvocation
  readonly args: AnyArgs
  readonly app: App
  readonly now: Now
  readonly incoming: Incoming
  readonly visit: Visit
}

interface Admission {
  readonly work: Work<Command>
  readonly approval: string | undefined
}

/** From the resource constraint to the step-up. What is refused to somebody who is known is recorded. */
async function admit(provider: Provider, known: Known): Promise<Admission> {
  try {
    const { work, verdict } = await decideBelow(known, await decide(provider, known))
    const needsPerson = verdict === 'step_up' && !isHarmless(known, work)
    return needsPerson ? await stepUp(provider, known, work) : { work, approval: undefined }
  } catch (thrown) {
    const error = asRefusal(thrown, known.args.path)
    if (error instanceof Refusal) recordRefusal(provider, known, error)
    throw error
  }
}

type Decided = Awaited<ReturnType<typeof decide>>

/** SPEC 7.5: a directory is removed with all that is in it, so what needs a person there needs one for the whole. */
async function decideBelow({ invocation }: Known, decided: Decided): Promise<Decided> {
  const { work, verdict } = decided
  const isRemoval = invocation.command === '/filesystem/dir/delete_recursive'
  if (!isRemoval || verdict === 'step_up' || work.place.stat?.kind !== 'directory') return decided
  const survey = await surveyRemoval(work)
  return survey.needPerson === 0
    ? { work: { ...work, survey }, verdict }
    : { work: { ...work, survey, cosigned: true }, verdict: 'step_up' }
}

/** A dry run changes nothing; but that of an edit tells what is in the file, and that of a delete how much is there. */
const isHarmless = ({ args, invocation }: Known, { may, place }: Work<Command>): boolean =>
  args.dry_run === true &&
  may(
    invocation.command === '/filesystem/file/edit' ? '/filesystem/file/read' : '/filesystem/dir/tree',
    place,
  )

async function decide(
  provider: Provider,
  { invocation, args, app, now, incoming, visit }: Known,
): Promise<{ work: Work<Command>; verdict: 'allow' | 'step_up' }> {
  const { agent, command, prefix } = invocation
  const paths = [args.path, ...(args.destination === undefined ? [] : [args.destination])]
  for (const path of paths) requireInScope(prefix, path)
  for (const path of paths) requireNoMetacharacters(path)
  for (const path of paths) requireNoTempName(path)

  const { meaning, changes } = OPERATIONS[command]
  const source = find(visit, prefix, args.path, meaning)
  const destination =
    args.destination === undefined ? undefined : find(visit, prefix, args.destination, 'object')
  const policies = await now.snapshot.remember(`policies ${app.id}`, () =>
    policiesOf(provider.database, app.id),
  )
  const asker: Asker = { app: app.id, agent, policies }
  const verdict = decideRequest(asker, command, args, source, destination)

  const deadline = new Deadline(provider.operationMs, provider.slowestBytesPerSecond)
  deadline.extendFor(args.size ?? 0)
  incoming.whenGone(() => deadline.abort(new Refusal('client_gone', 'the client went away')))
  const work: Work<Command> = {
    args: args,
    place: requirePlace(source, prefix, changes),
    destination: destination && requirePlace(destination, prefix, true),
    deadline,
    body: incoming.body,
    may: (other, resource, cosigned) => mayAlso(asker, other, resource, cosigned),
    cosigned: verdict === 'step_up',
  }
  return { work, verdict }
}

/** Where links lead is found out before the policy is asked, and told after it: it learns nothing from a no. */
function find(visit: Visit, prefix: PathPrefix, asked: string, meaning: Meaning): Found {
  try {
    return { asked, place: visit.find(prefix, asked, meaning) }
  } catch (error) {
    if (error instanceof Refusal) return { asked, place: error }
    throw error
  }
}

function requirePlace({ place }: Found, prefix: PathPrefix, changes: boolean): Place {
  if (place instanceof Refusal) throw place
  if (changes) requireBelowPrefix(prefix, place.path)
  return place
}

/** SPEC 7.5. Returns the approval that was used, and the work with what was read for it; without one, opens one and refuses. */
async function stepUp(
  provider: Provider,
  { app, invocation, args, now }: Known,
  asked: Work<Command>,
): Promise<Admission> {
  const { agent, command } = invocation
  const { work, content, meant = content, wanted, request } = await surveyWork(command, asked)
  const about = {
    app: app.id,
    command,
    path: work.place.path,
    destination: work.destination?.path,
    content,
  }
  const binding = digestBinding({ ...about, agent, args: { ...args } })
  const meaning = digestMeaning({ ...about, content: meant, wanted })
  const approval = await requireApproval(
    provider.database,
    { app: app.id, agent, command, binding, meaning, request },
    now.now,
    { lastsMs: provider.approvalMs, origin: provider.origin() },
  )
  return { work: { ...work, signedFor: content }, approval }
}

function recordRefusal(
  provider: Provider,
  { app, invocation, args }: Known,
  { code, detail }: Refusal,
): void {
  const { agent, command } = invocation
  const { path, destination } = args
  const { approval } = detail
  provider.audit
    .note({
      kind: 'refused',
      op: randomUUID(),
      app: app.id,
      agent,
      command,
      path,
      ...(destination === undefined ? {} : { destination }),
      code,
      ...(typeof approval === 'string' ? { approval } : {}),
    })
    .catch(() => undefined) // nothing was done; that the database is gone is told by the next request
}
