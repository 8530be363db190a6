import { join } from 'node:path'
import { type AccessPolicy, below, type FsRule, show } from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
import { Looks, realName } from '../real-name.ts'
import { labelOf, type Subject } from './subject.ts'

// SPEC 4.9: where secrets live. `~/x` is a place in the home directory with everything below it; `**/x` is a
// name anywhere, with `*` for any characters. Configuration adds to this list and cannot shorten it.
export const SENSITIVE: readonly string[] = [
  '~/.ssh',
  '~/.gnupg',
  '~/.password-store',
  '~/.local/share/keyrings',
  '~/.aws',
  '~/.azure',
  '~/.config/gcloud',
  '~/.config/gh',
  '~/.config/op',
  '~/.config/containers',
  '~/.docker',
  '~/.kube',
  '~/.terraform.d',
  '~/.vault-token',
  '~/.netrc',
  '~/.npmrc',
  '~/.pypirc',
  '~/.cargo/credentials.toml',
  '~/.git-credentials',
  '~/.config/git/credentials',
  '~/.pgpass',
  '~/.mozilla',
  '~/.config/google-chrome',
  '~/.config/chromium',
  // Logins of agents, and files of MCP clients, in which variables with tokens stand (decision 0237).
  '~/.claude.json',
  '~/.claude/.credentials.json',
  '~/.config/Claude',
  '~/Library/Application Support/Claude',
  '~/.codex/auth.json',
  '~/.codex/config.toml',
  '~/.gemini/oauth_creds.json',
  '~/.gemini/mcp-oauth-tokens.json',
  '~/.gemini/settings.json',
  '~/.qwen/oauth_creds.json',
  '~/.cursor/mcp.json',
  '~/.config/Cursor',
  '~/.config/Code/User/mcp.json',
  '~/.config/Code/User/globalStorage',
  '~/.copilot',
  '~/.config/github-copilot',
  '~/.local/share/opencode/auth.json',
  '~/.config/opencode/opencode.json',
  '~/.codeium',
  '~/.continue',
  '~/.aider.conf.yml',
  '**/.env*',
  '**/id_rsa*',
  '**/id_ecdsa*',
  '**/id_ed25519*',
  '**/*.pem',
  '**/*.key',
  '**/*.p12',
  '**/*.pfx',
  '**/*.keystore',
  '**/credentials.json',
  '**/.netrc',
  '**/.git-credentials',
]

/** One rule that grants something where secrets live. */
export interface SensitiveGrant {
  readonly subject: Subject
  readonly rule: FsRule
  readonly pattern: string
  readonly key: string
}

export interface SensitiveOptions {
  readonly root: string
  readonly home: string
  readonly patterns: readonly string[]
}

export function sensitiveGrants(
  policies: ReadonlyMap<Subject, AccessPolicy>,
  options: SensitiveOptions,
): SensitiveGrant[] {
  let secrets: readonly ResolvedPattern[] | undefined // where nothing is granted, nobody looks where they are
  return [...policies].flatMap(([subject, { fs }]) =>
    fs.flatMap((rule): SensitiveGrant[] => {
      // The guard takes back of what a wider rule grants; it grants nothing of its own.
      if (rule.grants.size === 0 || rule.guard !== undefined) return []
      secrets ??= resolvePatterns(options)
      const pattern = patternAt(rule, options.root, secrets)
      return pattern === undefined ? [] : [{ subject, rule, pattern, key: grantKey(subject, rule) }]
    }),
  )
}

export const describeGrant = (grant: SensitiveGrant): string => describe(grant, 'is granted')

/** The same after a no. */
export const describeRefusedGrant = (grant: SensitiveGrant): string =>
  `${describe(grant, 'is not granted')}: you said no`

const describe = ({ subject, rule, pattern }: SensitiveGrant, verdict: string): string =>
  `${labelOf(subject)} ${verdict} ${[...rule.grants].join(', ')} on ${show(nameOf(rule))}, ` +
  `where secrets live (${pattern})`

/** The same grant has the same key in every command of a session. */
export const grantKey = (
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
  rule: Pick<FsRule, 'path' | 'grants'>,
): string => `${kind} ${name} ${nameOf(rule)} ${[...rule.grants].toSorted().join('+')}`

/** The first of the patterns that the place of a rule falls under. */
export const sensitivePattern = (
  rule: Pick<FsRule, 'path' | 'approvedTarget'>,
  options: SensitiveOptions,
): string | undefined => patternAt(rule, options.root, resolvePatterns(options))

function patternAt(
  rule: Pick<FsRule, 'path' | 'approvedTarget'>,
  root: string,
  secrets: readonly ResolvedPattern[],
): string | undefined {
  const place = rule.approvedTarget ?? join(root, rule.path)
  const names = rule.path.split('/')
  return secrets.find(({ pattern, places }) => {
    if (places.length > 0) return places.some((secret) => touches(place, secret))
    const parts = pattern.replace(/^\*\*\//, '').split('*')
    return names.some((name) => fits(name, parts))
  })?.pattern
}

/** The same patterns with the home directory's places as they are on this host, for `secretTest`. */
export const patternsHere = (options: Pick<SensitiveOptions, 'home' | 'patterns'>): string[] =>
  resolvePatterns(options).flatMap(({ pattern, places }) => (places.length > 0 ? places : [pattern]))

interface ResolvedPattern {
  readonly pattern: string
  /** As it is written, and where its links lead: the home may be a link, and so may `~/.aws`. None: a name anywhere. */
  readonly places: readonly string[]
}

function resolvePatterns({
  home,
  patterns,
}: Pick<SensitiveOptions, 'home' | 'patterns'>): readonly ResolvedPattern[] {
  const looks = new Looks()
  const realHome = realName(home, looks) ?? home
  return patterns.map((pattern) => {
    const inHome = pattern.startsWith('~/') ? pattern.slice(2) : undefined
    if (inHome === undefined && !pattern.startsWith('/')) return { pattern, places: [] }
    const real =
      inHome === undefined ? realName(pattern, looks) : realName(`${realHome}/${inHome}`, looks, realHome)
    // Mostly no link is on the way, and then there is no second name to be put together (decision 0490).
    if (real === `${home}/${inHome}`) return { pattern, places: [real] }
    const written = inHome === undefined ? pattern : join(home, inHome)
    return { pattern, places: [...new Set([written, real ?? written])] }
  })
}

/** At it, below it, or around it: a grant of the home directory is a grant of `~/.ssh`. */
const touches = (place: string, secret: string): boolean =>
  below(secret, place) !== undefined || below(place, secret) !== undefined

/** Whether a name is made of these parts, in their order, with any characters between them. */
function fits(name: string, [first = '', ...rest]: readonly string[]): boolean {
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= name.length - last.length
}
