import { lstatSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import type { AccessPolicy } from '@cordon/policy'
import { assumeKernel, buildEnvironment, type Plan } from '@cordon/sandbox'
import { planFor } from '../confine/plan.ts'
import type { ProcessRequest } from '../execute/process.ts'
import { Ways } from '../execute/ways.ts'
import { describeConfinement } from './sameness.ts'

/** What a worker is started with. */
export interface PlannedWorker {
  readonly plan: Plan
  readonly env: Record<string, string>
  /** All that decides what its sandbox is like, in one text. */
  readonly description: string
}

/**
 * The plan for every call, made from the disk. It is taken again for the same policy while it would come out the same: all
 * paths that it is about lead where they led, and nothing was mounted or changed in the system's configuration
 * meanwhile (decision 0252). Which file or directory stands behind a path is asked for every call, by `Sameness`.
 */
export class Plans {
  readonly #last = new WeakMap<AccessPolicy, LastPlan>()

  /** What was planned the last time for the same question. Whether it would come out the same now is not asked. */
  lastFor(request: ProcessRequest): PlannedWorker | undefined {
    const last = this.#last.get(request.policy)
    return last && isSameQuestion(last.request, request) ? last.planned : undefined
  }

  planFor(request: ProcessRequest): PlannedWorker {
    const last = this.#last.get(request.policy)
    if (last?.ways && isSameQuestion(last.request, request) && last.host === hostOf(last.planned.plan))
      if (last.ways.areSame()) return last.planned
    // What counts is known from the plan before. It is looked at before this one is made, and after.
    const host = last && hostOf(last.planned.plan)
    const ways = last && Ways.follow(pathsOf(last))
    const planned = plan(request)
    const isKnown =
      planned.description === last?.planned.description &&
      host === hostOf(planned.plan) &&
      ways?.areSame() === true
    this.#last.set(request.policy, { request, planned, host, ways: isKnown ? ways : undefined })
    return planned
  }
}

interface LastPlan {
  readonly request: ProcessRequest
  readonly planned: PlannedWorker
  readonly host: string | undefined
  /** Undefined until two plans in a row were the same. */
  readonly ways: Ways | undefined
}

function plan(request: ProcessRequest): PlannedWorker {
  // A worker of ours starts no program by its name, so it is shown none of those that PATH leads to.
  const { PATH: _, ...env } = buildEnvironment(request.policy, request.env)
  const made = planFor(assumeKernel(), request, env)
  return { plan: made, env, description: describeConfinement(request, made, env) }
}

/** The call itself, what it may cost and who may end it have no part in the plan. */
function isSameQuestion(before: ProcessRequest, now: ProcessRequest): boolean {
  const { argv, cwd, root, home, env, boundary, sandbox, own } = now
  return (
    cwd === before.cwd &&
    home === before.home &&
    env === before.env &&
    boundary === before.boundary &&
    (root === before.root || isDeepStrictEqual(root, before.root)) &&
    (sandbox === before.sandbox || isDeepStrictEqual(sandbox, before.sandbox)) &&
    areSame(argv, before.argv) &&
    areSame(own ?? [], before.own ?? [])
  )
}

const areSame = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((each, i) => each === others[i])

function pathsOf({ request, planned }: LastPlan): readonly string[] {
  const { argv, cwd, root, home, own = [] } = request
  const { kinds, links } = planned.plan.survey
  return [root.path, cwd, home, argv[0], ...own, ...kinds.keys(), ...links.map(({ path }) => path)]
}

/** What of the host a plan and its description depend on besides: all that is mounted, and changes of `/etc`. */
const hostOf = ({ survey }: Plan): string =>
  [
    readFileSync('/proc/self/mountinfo', 'utf8'),
    ...survey.configuration.map((path) => lstatSync(path, { bigint: true }).ctimeNs),
  ].join('\n')
