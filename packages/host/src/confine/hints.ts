import { isAbsolute, join, resolve } from 'node:path'
import { allowNetFlag, below, EnvIndex, isMinimalEnv, shellWord, show } from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { typedPath } from '../outside/place.ts'
import { parseQuestion } from '../why/question.ts'
import { isLoopback } from './addresses.ts'
import { ask, type Hint, type HintFacts } from './hint.ts'
import type { HostMention, Mentions, PathMention } from './mentions.ts'
import { outsideHint } from './outside-hints.ts'
import { workspaceHint } from './workspace-hints.ts'

/** Looks up in the policy whatever is named. The texts come with the most telling one first, and of two hints about one thing the first is kept. */
export function findHints(mentions: readonly Mentions[], facts: HintFacts): Hint[] {
  const withPort = new Set(
    mentions.flatMap(({ hosts }) => hosts.filter(({ port }) => port !== '').map(({ host }) => host)),
  )
  const hints = mentions.flatMap(({ paths, hosts, variables }) => [
    ...paths.flatMap((mention) => pathHint(mention, facts)),
    // Most programs name the port only once, where they name the whole URL.
    ...hosts
      .filter(({ host, port }) => port !== '' || !withPort.has(host))
      .flatMap((mention) => hostHint(mention, facts)),
    ...variables.flatMap((name) => variableHint(name, facts)),
  ])
  const seen = new Set<string>()
  return hints.filter(({ about }) => !seen.has(about) && seen.add(about)).slice(0, MOST)
}

const MOST = 5

/** For a command that succeeds although it could not write something guarded, such as husky's `prepare`: its exit code does not tell. */
export function findGuardHints(mentions: Mentions, facts: HintFacts): Hint[] {
  const guards = new Set<string>([
    ...facts.policy.fs.flatMap(({ path, guard }) => (guard ? [path] : [])),
    ...facts.outside.flatMap((rule) => (rule.guard ? [nameOf(rule)] : [])),
  ])
  const written = mentions.paths.filter(({ trouble }) => trouble === 'busy' || trouble === 'read-only')
  return findHints([{ paths: written, hosts: [], variables: [] }], facts).filter(({ about }) =>
    guards.has(about),
  )
}

function pathHint(mention: PathMention, facts: HintFacts): Hint[] {
  const { path } = mention
  const { root, home, cwd } = facts
  if (path.startsWith('~') && path !== '~' && !path.startsWith('~/')) return []
  const absolute = path.startsWith('~') ? join(home, path.slice(1)) : resolve(cwd, path)
  const inside = below(root.path, absolute, root.foldCase)
  if (inside !== undefined) {
    const found = leavingHint(absolute, mention, facts)
    return found.length > 0 ? found : workspaceHint(inside, mention, facts)
  }
  if (!isAbsolute(path) && !path.startsWith('~') && !path.startsWith('..')) return []
  return outsideHint(absolute, mention, facts)
}

/** Of what leaves the workspace by a link the place is granted where it leads. The flag names it by the way, if more links are on it. */
function leavingHint(path: string, mention: PathMention, facts: HintFacts): Hint[] {
  const way = facts.wayOut(path)
  if (way === undefined || isWaiting(path, facts)) return []
  const real = facts.realName(way)
  // SPEC 4.9: the link may be a command's work. It does not choose which secret a person is asked for.
  if (facts.isSensitive(real)) return []
  return outsideHint(real, mention, facts).map((hint) =>
    hint.place?.path === real && hint.fix !== undefined
      ? { ...hint, fix: `--${hint.place.wanted} ${typedPath(way, facts.home)}` }
      : hint,
  )
}

/** A mount that nobody approved is to be approved. */
const isWaiting = (path: string, { policy, root }: HintFacts): boolean =>
  policy.fs.some(
    (rule) =>
      rule.external &&
      rule.approvedTarget === undefined &&
      below(join(root.path, rule.path), path, root.foldCase) !== undefined,
  )

function hostHint({ scheme, host, port, path }: HostMention, facts: HintFacts): Hint[] {
  if (isLoopback(host)) return [] // what the host has there is looked up (`network-hints.ts`)
  // Where a part of the host is granted, the proxy was there to say exactly what else was refused.
  if (facts.isKnown(host) || facts.policy.net.some((rule) => rule.allow && rule.host === host && path === ''))
    return []
  const target = port === '' ? host : `${host}:${port}`
  const found = ask('net', `${scheme}://${target}${path || '/'}`, facts)
  if (!found || found.allowed) return []
  return [
    {
      about: target,
      text: `network access to ${show(target)} is denied: ${found.because}${facts.canHoldHosts ? '' : `; ${NO_HOSTS}`}`,
      fix: facts.canHoldHosts
        ? allowNetFlag({ host, port: port === '' ? undefined : Number(port) })
        : undefined,
      question: found.question,
      audience: 'anyone',
    },
  ]
}

/** SPEC 4.7: no flag is named that would be refused. */
export const NO_HOSTS =
  'without namespaces no host can be allowed on this machine, and cordon doctor says how to get them'

function variableHint(name: string, { policy, hasVariable }: HintFacts): Hint[] {
  // A variable of the minimal set is missing only where a rule takes it away on purpose.
  if (!hasVariable(name) || isMinimalEnv(name)) return []
  const decision = new EnvIndex(policy.env).evaluate(name)
  if (decision.kind === 'allowed') return []
  return [
    {
      about: name,
      text: `the variable ${show(name)} is set on the host, and not granted`,
      fix: `--env ${shellWord(name)}`,
      question: parseQuestion('env', name),
      audience: 'person',
    },
  ]
}
