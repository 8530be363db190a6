import { show, showSigned } from '@cordon/policy'
import type {
  Admin,
  App,
  Approval,
  Issued,
  PolicyExplanation,
  CaseResult,
  Foreseen,
  Delegation,
  Passkey,
  StoredPolicy,
} from '@cordon/provider'
import { formatSize } from './attachments.ts'
import { formatTable, isoTime } from './text.ts'

type KnownKey = Awaited<ReturnType<Admin['keys']>>['known'][number]

/** Behind a proxy that does TLS the origin is the proxy's. Where both speak the same, the port should be the same, too. */
export function formatServing({ url, origin }: { readonly url: string; readonly origin: string }): string {
  const [here, there] = [new URL(url), new URL(origin)]
  const [listens, sought] = [portOf(here), portOf(there)]
  const isOther = here.protocol === there.protocol && listens !== sought
  const warning = `warning: browsers look for the console at port ${sought}, and this listens on port ${listens}: give --port ${sought}, or --origin ${there.protocol}//${there.hostname}:${listens}, unless something leads from one to the other\n`
  return `listening on ${url}\nconsole at ${origin}/console/\n${isOther ? warning : ''}`
}

const portOf = ({ port, protocol }: URL): string => port || (protocol === 'https:' ? '443' : '80')

export const formatApps = (apps: readonly App[]): string =>
  formatTable(apps.map(({ id, enabled, did }) => [id, enabled ? 'enabled' : 'disabled', did]))

export function formatApp({ id, did, enabled, limits }: App, issued: readonly Issued[]): string {
  const { requestsPerMinute, concurrent, bytesPerMinute } = limits
  return (
    `${id}  ${enabled ? 'enabled' : 'disabled'}\n${did}\n` +
    `at most ${requestsPerMinute} requests a minute, ${concurrent} at once, ${formatSize(bytesPerMinute)} a minute\n` +
    formatTable(issued.map(delegationRow))
  )
}

export const appJson = ({ id, did, enabled, limits, createdAt }: App): object => ({
  id,
  did,
  enabled,
  limits: {
    requests_per_minute: limits.requestsPerMinute,
    concurrent: limits.concurrent,
    bytes_per_minute: limits.bytesPerMinute,
  },
  created_at: isoTime(createdAt),
})

export const delegationJson = ({ cid, command, prefix, issuedAt, expiresAt, revoked }: Issued): object => ({
  cid,
  command,
  prefix,
  issued_at: isoTime(issuedAt),
  expires_at: expiresAt === undefined ? null : isoTime(expiresAt),
  revoked,
})

export const keyJson = ({ did, createdAt, retiredAt }: KnownKey): object => ({
  did,
  created_at: isoTime(createdAt),
  retired_at: retiredAt === undefined ? null : isoTime(retiredAt),
})

export const passkeyJson = ({ id, name, rpId, createdAt, usedAt }: Passkey): object => ({
  id,
  name,
  host: rpId,
  created_at: isoTime(createdAt),
  used_at: usedAt === undefined ? null : isoTime(usedAt),
})

export const policyJson = ({ scope, name, version, text, cases, createdAt }: StoredPolicy): object => ({
  app: scope === '*' ? null : scope,
  name,
  version,
  text,
  cases,
  created_at: isoTime(createdAt),
})

export const approvalJson = ({ id, state, app, agent, command, ...rest }: Approval): object => {
  const { path, destination, also, files, directories, links, bytes, bytesNow, replaces } = rest.request
  const { onlyNames, paths, kinds, pathsLeftOut, diff, diffLeftOut, unshown } = rest.request
  return {
    id,
    state,
    app,
    agent,
    command,
    path,
    destination: destination ?? null,
    also: also ?? {},
    files,
    directories,
    links: links ?? 0,
    only_names: onlyNames === true,
    bytes,
    bytes_now: bytesNow ?? null,
    replaces: replaces === true,
    paths,
    path_kinds: (kinds ?? '').split('').map((letter) => KINDS[letter]),
    paths_left_out: pathsLeftOut ?? 0,
    diff: diff ?? null,
    diff_characters_left_out: diffLeftOut ?? 0,
    not_shown: unshown ?? null,
    opened_at: isoTime(rest.openedAt),
    expires_at: isoTime(rest.expiresAt),
    decided_by: rest.decidedBy ?? null,
  }
}

const explanationJson = ({ verdict, decision, decided, permits, besides }: PolicyExplanation): object => ({
  verdict,
  decided_on: besides?.command ?? null,
  decided_by: decided,
  errors: decision.errors,
  permitted_once_signed_by: permits,
})

export const foreseenJson = ({ answer, refusal, ...told }: Foreseen): object => ({
  answer,
  refusal: refusal ?? null,
  ...explanationJson(told),
})

export const caseJson = ({ case: each, passed, explanation }: CaseResult): object => ({
  case: each,
  passed,
  explanation: explanationJson(explanation),
})

export const formatWallet = (did: string, held: readonly Delegation[]): string =>
  `${did}\n${formatTable(
    held.map(({ cid, command, prefix, expires }) => [
      cid,
      command,
      show(prefix),
      `until ${isoTime(expires * 1000)}`,
    ]),
  )}`

export const walletJson = (did: string, held: readonly Delegation[]): object => ({
  did,
  delegations: held.map(({ cid, command, prefix, expires }) => ({
    cid,
    command,
    prefix,
    expires_at: isoTime(expires * 1000),
  })),
})

const delegationRow = ({ cid, command, prefix, expiresAt, revoked }: Issued): string[] => [
  cid,
  command,
  show(prefix),
  revoked ? 'revoked' : expiresAt === undefined ? '' : `until ${isoTime(expiresAt)}`,
]

export const formatKeys = (known: readonly KnownKey[], current: string): string =>
  formatTable(
    known.map(({ did, createdAt, retiredAt }) => [
      did,
      did === current ? 'signs' : retiredAt === undefined ? 'still counts' : 'retired',
      isoTime(createdAt),
    ]),
  )

export const formatPasskeys = (all: readonly Passkey[]): string =>
  formatTable(
    all.map(({ id, name, rpId, usedAt }) => [
      id.slice(0, 12),
      showSigned(name, 'name'),
      `for ${rpId}`,
      usedAt === undefined ? 'never used' : `last used ${isoTime(usedAt)}`,
    ]),
  )

export const formatApprovals = (all: readonly Approval[]): string =>
  formatTable(
    all.map(({ id, state, app, command, request, expiresAt }) => [
      id,
      state,
      app,
      command,
      showSigned(request.path, 'name'),
      isoTime(expiresAt),
    ]),
  )

/** A terminal scrolls; the console shows all of them. */
const MOST_LINES = 50

/** Of the letters in a request. */
const KINDS: Readonly<Record<string, string>> = { f: 'file', d: 'directory', l: 'link', o: 'no file' }

/** Everything in it was found by the provider; names of files are shown, not trusted. */
export function formatApproval({ app, agent, command, request, expiresAt }: Approval): string {
  const { path, destination, also = {}, replaces, diff, unshown } = request
  const { pathsLeftOut = 0, diffLeftOut = 0 } = request
  // Of a tree also its root, which goes with the rest.
  const isTree = command === '/filesystem/dir/delete_recursive'
  const all = isTree ? [path, ...request.paths] : request.paths
  const kinds = `${isTree ? 'd' : ''}${request.kinds ?? ''}`
  const paths = all.slice(0, MOST_LINES)
  const left = all.length - paths.length + pathsLeftOut
  return [
    `agent   ${app} (${agent})`,
    `action  ${command}`,
    `path    ${showSigned(path, 'name')}`,
    ...(destination === undefined ? [] : [`to      ${showSigned(destination, 'name')}`]),
    ...Object.entries(also).map(([name, value]) => `with    ${name}: ${showSigned(value, 'name')}`),
    ...(replaces === true ? ['REPLACES the file that is there now'] : []),
    `touches ${touched(request)}`,
    ...paths.map((each, i) => `  ${(KINDS[kinds.charAt(i)] ?? '').padEnd(11)}${showSigned(each, 'name')}`),
    ...(left > 0 ? [`  … ${left} more`] : []),
    ...(diff === undefined ? [] : diff.split('\n').map((line) => `  ${showSigned(line, 'line')}`)),
    ...(diffLeftOut > 0 ? [`  … ${diffLeftOut} more characters of the change`] : []),
    ...(unshown === undefined ? [] : [`content NOT SHOWN: it, or what is there now, is ${unshown}`]),
    `until   ${isoTime(expiresAt)}`,
  ].join('\n')
}

function touched(request: Approval['request']): string {
  const { files, directories, links = 0, bytes, bytesNow, onlyNames } = request
  const counted = [plural(files, 'file', 'files'), plural(directories, 'directory', 'directories')]
  const some = directories === 0 ? counted.slice(0, 1) : files === 0 ? counted.slice(1) : counted
  if (onlyNames === true) return `the names of ${some.join(' and ')}`
  const linked = links === 0 ? '' : ` (${plural(links, 'link', 'links')} among them, not what they lead to)`
  const from = bytesNow === undefined ? '' : `from ${bytesNow} to `
  return `${some.join(' and ')}${linked}, ${from}${plural(bytes, 'byte', 'bytes')}`
}

const plural = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`

export const formatPolicies = (all: readonly StoredPolicy[]): string =>
  formatTable(
    all.map(({ scope, name, version, cases, createdAt }) => [
      scope === '*' ? 'all apps' : scope,
      name,
      `version ${version}`,
      `${cases.length} cases`,
      isoTime(createdAt),
    ]),
  )

export function formatCase({ case: each, passed, explanation }: CaseResult): string {
  const what = each.name ?? `${each.command} ${show(each.path)}`
  return passed ? `ok    ${what}\n` : `WRONG ${what}: ${explanation.verdict}, expected ${each.expect}\n`
}

export function formatCases(results: readonly CaseResult[]): string {
  return `${results.map(formatCase).join('')}${results.filter(({ passed }) => passed).length} of ${results.length} as expected\n`
}

/** A no before the policy is told first; what the policy says of it, below. */
export function formatForeseen({ refusal, ...told }: Foreseen): string {
  const policy = formatDecision(told)
  return refusal ? `deny\n  ${refusal.code}: ${refusal.message}\nthe policy alone: ${policy}` : policy
}

function formatDecision({ verdict, decision, decided, permits, besides }: PolicyExplanation): string {
  const why =
    decided.length > 0
      ? decided
          .map(({ id, effect, line, text }) => {
            const name = id === `line ${line}` ? '' : ` ${show(id)}` // it has none of its own
            return `  ${effect}${name}, line ${line}\n${indent(text)}`
          })
          .join('')
      : decision.errors.length > 0
        ? decision.errors.map((error) => `  error: ${error}\n`).join('')
        : '  no statement permits it\n'
  const then =
    permits.length === 0 ? '' : `  once a person has signed: permitted by ${permits.map(show).join(', ')}\n`
  const also =
    besides?.as === 'told'
      ? `  it would be open there to ${besides.command}, which is asked about it here:\n`
      : besides
        ? `  it comes to ${besides.command} on ${show(besides.resource.path)}, too:\n`
        : ''
  return `${verdict === 'step_up' ? 'needs a person' : verdict}\n${also}${why}${then}`
}

const indent = (text: string): string =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}\n`)
    .join('')
