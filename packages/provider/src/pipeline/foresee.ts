import { findApp } from '../apps/app.ts'
import { type Issued, listDelegations } from '../apps/delegations.ts'
import { explain, type PolicyExplanation } from '../cedar/decide.ts'
import type { PolicyRequest, Resource } from '../cedar/request.ts'
import { type Command, coversCommand } from '../commands.ts'
import { Refusal } from '../errors.ts'
import { OPERATIONS } from '../operations/index.ts'
import { policiesOf, PolicyRefused } from '../policies/store.ts'
import type { Database } from '../storage/database.ts'
import { coversPath, parsePrefix, type PathPrefix } from '../tokens/prefix.ts'
import { requireEnabled } from './pipeline.ts'
import { requireBelowPrefix, requireInScope, requireNoMetacharacters, requireNoTempName } from './scope.ts'

export interface Foreseen extends PolicyExplanation {
  /** Of the whole order of checks: a no before the policy is a no. */
  readonly answer: PolicyExplanation['verdict']
  /** What refuses it, whatever the policy says, or though it does not. */
  readonly refusal: { readonly code: Refusal['code']; readonly message: string } | undefined
}

/** What there is at a path, as far as the command tells: what `/filesystem/dir/…` is about is a directory. */
export const supposedAt = (
  command: Command,
  { path, exists, isDirectory = false, size = 0 }: Pick<Resource, 'path' | 'exists'> & Partial<Resource>,
): Resource => ({ path, exists, size, isDirectory: isDirectory || command.startsWith('/filesystem/dir/') })

/**
 * What the provider would answer, by its own checks in their order (SPEC 7.3), as far as it is known without a token: the
 * app's switch, what was delegated to it, the shape of the paths, the policy, and that what was delegated is not itself
 * changed. Where links lead is not looked at.
 */
export async function foresee(database: Database, request: PolicyRequest, now: number): Promise<Foreseen> {
  const loaded = await policiesOf(database, request.app)
  if (loaded.kind === 'refused') throw new PolicyRefused(request.app, loaded)
  const told = explain(loaded, request)
  const { app: id, command, resource, destination } = request
  const paths = [resource.path, ...(destination ? [destination.path] : [])]
  const { changes } = OPERATIONS[command]
  try {
    requireEnabled(await findApp(database, id))
    const live = liveFor(await listDelegations(database, id), command, now)
    const prefix = requireDelegated(live, command, paths, changes)
    for (const path of paths) requireNoMetacharacters(path)
    for (const path of paths) requireNoTempName(path)
    if (changes && told.verdict !== 'deny') for (const path of paths) requireBelowPrefix(prefix, path)
    return { ...told, answer: told.verdict, refusal: undefined }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { ...told, answer: 'deny', refusal: { code: error.code, message: error.message } }
  }
}

const liveFor = (issued: readonly Issued[], command: Command, now: number): PathPrefix[] =>
  issued
    .filter(
      (each) =>
        !each.revoked &&
        (each.expiresAt === undefined || each.expiresAt > now) &&
        coversCommand(each.command, command),
    )
    .map(({ prefix }) => parsePrefix(prefix))

/** An agent sends the delegation that fits best; a refusal is told of the last one, as if that had been sent. */
function requireDelegated(
  live: readonly PathPrefix[],
  command: Command,
  paths: readonly string[],
  changes: boolean,
): PathPrefix {
  const covering = live.filter((prefix) => paths.every((path) => coversPath(prefix, path)))
  const best = covering.find((prefix) => !changes || !paths.includes(prefix))
  const sent = best ?? covering[0] ?? live.at(-1)
  if (sent === undefined)
    throw new Refusal('token_command_not_covered', `no delegation of this app is for ${command} now`)
  for (const path of paths) requireInScope(sent, path)
  return sent
}
