import { show } from '@cordon/policy'
import { judge, type PolicyVerdict } from '../cedar/decide.ts'
import type { LoadedPolicies, RefusedPolicies } from '../cedar/load.ts'
import type { PolicyRequest, Resource } from '../cedar/request.ts'
import type { Command } from '../commands.ts'
import { Refusal } from '../errors.ts'
import type { AnyArgs } from '../operations/args.ts'
import { missingAbove } from '../operations/directories.ts'
import type { Place } from './places.ts'

/** Who asks, and by which policies it is decided. */
export interface Asker {
  readonly app: string
  readonly agent: string
  readonly policies: LoadedPolicies | RefusedPolicies
}

/** A path as it was asked for, and where it is; or why it could not be found, which is told after the policy's answer. */
export interface Found {
  readonly asked: string
  readonly place: Place | Refusal
}

/**
 * SPEC 7.4: the policy decides on what will be touched, the canonical path; and on the path that was asked for where
 * links make a difference, so that neither name dodges a rule. Everything it is told was found by us.
 */
export function decideRequest(
  asker: Asker,
  command: Command,
  args: AnyArgs,
  source: Found,
  destination: Found | undefined,
): 'allow' | 'step_up' {
  const questions = resourcesOf(source, command).flatMap((resource) =>
    destination
      ? resourcesOf(destination, command).map((to) => ({
          command,
          resource,
          destination: { ...to, isDirectory: false },
        }))
      : [{ command, resource }],
  )
  // SPEC 7.2: overwriting needs the delete decision, too.
  const replaced =
    args.overwrite === true && destination && !(destination.place instanceof Refusal)
      ? resourcesOf(destination, command).filter(({ exists }) => exists)
      : []
  const all = [
    ...questions,
    ...replaced.map((resource) => ({ command: '/filesystem/file/delete' as const, resource })),
  ]
  let verdict: 'allow' | 'step_up' = 'allow'
  const decide = (question: Question): void => {
    const answer = ask(asker, question)
    if (answer.verdict === 'deny') throw denied(question, answer)
    if (answer.verdict === 'step_up') verdict = 'step_up'
  }
  all.forEach(decide)
  // Found out only now: who may not make the one is not told what is missing above it.
  if (args.parents === true) madeAbove(source).forEach((resource) => decide({ command, resource }))
  return verdict
}

type Question = Omit<PolicyRequest, 'app' | 'agent'>

/** Each directory that would be made above the one that was asked for, by both of its names. */
function madeAbove({ asked, place }: Found): Resource[] {
  if (place instanceof Refusal || place.stat) return []
  const missing = missingAbove(place).map(({ path }) => path)
  const named =
    asked === place.path ? [] : missing.map((path) => asked.slice(0, path.length - place.path.length))
  return [...named, ...missing].map((path) => resourceAt(path, undefined, '/filesystem/dir/create'))
}

/** For what is met on the way; `cosigned` where it is part of what a person signed for. */
export const mayAlso = (
  asker: Asker,
  command: Command,
  { path, stat }: Pick<Place, 'path' | 'stat'>,
  cosigned = false,
): boolean => ask(asker, { command, resource: resourceAt(path, stat, command), cosigned }).verdict === 'allow'

function ask({ app, agent, policies }: Asker, question: Question): PolicyVerdict {
  // Stored policies loaded once; if they do not any more, nothing is permitted.
  if (policies.kind === 'refused')
    return { verdict: 'deny', decision: { decision: 'deny', statements: [], errors: ['it does not load'] } }
  return judge(policies, { app, agent, ...question })
}

function resourcesOf({ asked, place }: Found, command: Command): Resource[] {
  if (place instanceof Refusal) return [resourceAt(asked, undefined, command)]
  const real = resourceAt(place.path, place.stat, command)
  return place.path === asked ? [real] : [{ ...real, path: asked }, real]
}

const resourceAt = (path: string, stat: Place['stat'], command: Command): Resource => ({
  path,
  exists: stat !== undefined,
  isDirectory: stat ? stat.kind === 'directory' : command === '/filesystem/dir/create',
  size: stat?.kind === 'file' ? stat.size : 0,
  ...(stat?.kind === 'link' ? { isLink: true } : {}),
})

function denied(
  { command, resource }: Pick<PolicyRequest, 'command' | 'resource'>,
  { decision, besides }: PolicyVerdict,
): Refusal {
  const { statements, errors } = decision
  const why =
    errors.length > 0
      ? 'the policy could not be evaluated, which is a no'
      : statements.length > 0
        ? `forbidden by ${statements.map(show).join(', ')}`
        : 'no policy permits it'
  const what =
    besides?.as === 'told'
      ? `it would be open there to ${besides.command}, which is asked about it here: ${why}`
      : besides
        ? `it comes to ${besides.command} on ${show(besides.resource.path)}, too: ${why}`
        : why
  return new Refusal('policy_denied', `${command} on ${show(resource.path)}: ${what}`, { statements })
}
