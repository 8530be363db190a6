import { findApp } from '../apps/app.ts'
import { type Issued, listDelegations } from '../apps/delegations.ts'
import { explain, type PolicyExplanation } from '../cedar/decide.ts'
import type { PolicyRequest } from '../cedar/request.ts'
import { coversCommand } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { policiesOf, PolicyRefused } from '../policies/store.ts'
import type { Database } from '../storage/database.ts'
import { coversPath, parsePrefix } from '../tokens/prefix.ts'
import { requireEnabled } from './pipeline.ts'
import { requireInScope, requireNoMetacharacters } from './scope.ts'

export interface Foreseen extends PolicyExplanation {
  /** Of the whole order of checks: a no before the policy is a no. */
  readonly answer: PolicyExplanation['verdict']
  /** What refuses it before the policy is asked. */
  readonly refusal: { readonly code: Refusal['code']; readonly message: string } | undefined
}

/**
 * What the provider would answer, by its own checks in their order (SPEC 7.3), as far as it is known without a token: the
 * app's switch, what was delegated to it, the shape of the paths, and the policy. Where links lead is not looked at.
 */
export async function foresee(database: Database, request: PolicyRequest, now: number): Promise<Foreseen> {
  const loaded = await policiesOf(database, request.app)
  if (loaded.kind === 'refused') throw new PolicyRefused(request.app, loaded)
  const told = explain(loaded, request)
  const refusal = await refusalBefore(database, request, now)
  return { ...told, answer: refusal ? 'deny' : told.verdict, refusal }
}

async function refusalBefore(
  database: Database,
  { app: id, command, resource, destination }: PolicyRequest,
  now: number,
): Promise<Foreseen['refusal']> {
  const paths = [resource.path, ...(destination ? [destination.path] : [])]
  try {
    requireEnabled(await findApp(database, id))
    requireDelegated(await listDelegations(database, id), command, paths, now)
    for (const path of paths) requireNoMetacharacters(path)
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, message: error.message }
    throw error
  }
}

/** An agent sends the delegation that fits; a refusal is told of the last one, as if that had been sent. */
function requireDelegated(
  issued: readonly Issued[],
  command: PolicyRequest['command'],
  paths: readonly string[],
  now: number,
): void {
  const live = issued.filter(
    (each) =>
      !each.revoked &&
      (each.expiresAt === undefined || each.expiresAt > now) &&
      coversCommand(each.command, command),
  )
  const fits = live.find(({ prefix }) => paths.every((path) => coversPath(parsePrefix(prefix), path)))
  const sent = fits ?? live.at(-1)
  if (!sent) throw new Refusal('token_command_not_covered', `no delegation of this app is for ${command} now`)
  for (const path of paths) requireInScope(parsePrefix(sent.prefix), path)
}
