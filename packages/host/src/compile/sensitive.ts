import { join } from 'node:path'
import { type AccessPolicy, below, type FsRule, show } from '@cordon/policy'
import { nameOf } from '@cordon/sandbox'
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
  '**/.env*',
  '**/id_rsa*',
  '**/id_ecdsa*',
  '**/id_ed25519*',
  '**/*.pem',
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
  return [...policies].flatMap(([subject, { fs }]) =>
    fs.flatMap((rule): SensitiveGrant[] => {
      // The guard takes back of what a wider rule grants; it grants nothing of its own.
      const pattern =
        rule.grants.size > 0 && rule.guard === undefined ? sensitivePattern(rule, options) : undefined
      if (pattern === undefined) return []
      return [{ subject, rule, pattern, key: grantKey(subject, rule) }]
    }),
  )
}

export const describeGrant = ({ subject, rule, pattern }: SensitiveGrant): string =>
  `${labelOf(subject)} is granted ${[...rule.grants].join(', ')} on ${show(nameOf(rule))}, ` +
  `where secrets live (${pattern})`

/** The same grant has the same key in every command of a session. */
export const grantKey = (
  { kind, name }: Pick<Subject, 'kind' | 'name'>,
  rule: Pick<FsRule, 'path' | 'grants'>,
): string => `${kind} ${name} ${nameOf(rule)} ${[...rule.grants].toSorted().join('+')}`

/** The first of the patterns that the place of a rule falls under. */
export function sensitivePattern(
  rule: Pick<FsRule, 'path' | 'approvedTarget'>,
  { root, home, patterns }: SensitiveOptions,
): string | undefined {
  const place = rule.approvedTarget ?? join(root, rule.path)
  const names = rule.path.split('/')
  return patterns.find((pattern) => {
    if (pattern.startsWith('~/')) return touches(place, join(home, pattern.slice(2)))
    const parts = pattern.replace(/^\*\*\//, '').split('*')
    return names.some((name) => fits(name, parts))
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
