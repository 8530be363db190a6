import { quote, show } from '@cordon/policy'
import {
  APPLIES,
  parsePrefix,
  type Starter,
  STARTER_NAMES,
  type StarterName,
  starterPolicies,
} from '@cordon/provider'
import { UsageError } from './report.ts'

/** `filesystem:write-subdir,prefix=/srv/out,from=/build/out`: a name and its parameters. */
export function parseStarter(text: string): Starter {
  const [name = '', ...pairs] = text.split(',')
  if (!isStarter(name))
    throw new UsageError(`there is no starter policy ${show(name)}; there are: ${STARTER_NAMES.join(', ')}`)
  const { required = [], optional = [] } = PARAMETERS[name]
  const known = [...required, ...optional]
  const given = new Map<string, string>()
  for (const [key, value] of pairs.map(split)) {
    if (!known.includes(key))
      throw new UsageError(`${name} has no parameter ${show(key)}; it has${listed(known)}`)
    if (given.has(key)) throw new UsageError(`${name}: ${key} is given twice${SEVERAL[key] ?? ''}`)
    given.set(key, value)
  }
  for (const key of required)
    if (!given.has(key)) throw new UsageError(`${name} needs ${key}=…, as in ${EXAMPLES[name]}`)
  const applies = given.get('applies')
  if (applies !== undefined && !(APPLIES as readonly string[]).includes(applies))
    throw new UsageError(`${name}: applies is ${APPLIES.join(' or ')}, not ${quote(applies)}`)
  const read = [...given].map(([key, value]) => [key, READ[key]?.(value) ?? value])
  return { name, ...Object.fromEntries(read) } as Starter
}

const listed = (names: readonly string[]): string => (names.length === 0 ? ' none' : `: ${names.join(', ')}`)

/** How several values of one parameter are written. */
const SEVERAL: Readonly<Record<string, string>> = {
  extensions: '; several are one: extensions=.ts+.md',
}

export const starterText = (starters: readonly Starter[]): string => starterPolicies(starters)

const isStarter = (name: string): name is StarterName => (STARTER_NAMES as readonly string[]).includes(name)

function split(pair: string): [string, string] {
  const at = pair.indexOf('=')
  if (at < 0) throw new UsageError(`${show(pair)}: expected parameter=value`)
  return [pair.slice(0, at), pair.slice(at + 1)]
}

const READ: Readonly<Record<string, (value: string) => unknown>> = {
  prefix: parsePrefix,
  from: parsePrefix,
  extensions: (value) => value.split('+'),
}

const PARAMETERS: Readonly<
  Record<StarterName, { readonly required?: readonly string[]; readonly optional?: readonly string[] }>
> = {
  'filesystem:read-only': {},
  'filesystem:subdir-read': { required: ['prefix'] },
  'filesystem:write-subdir': { required: ['prefix'], optional: ['from'] },
  'filesystem:extension-filter': { required: ['extensions'], optional: ['applies'] },
  'filesystem:delete-step-up': { optional: ['prefix'] },
  'filesystem:developer-sandbox': { required: ['id'] },
}

const EXAMPLES: Readonly<Record<StarterName, string>> = {
  'filesystem:read-only': 'filesystem:read-only',
  'filesystem:subdir-read': 'filesystem:subdir-read,prefix=/repos/acme',
  'filesystem:write-subdir': 'filesystem:write-subdir,prefix=/srv/releases,from=/build/out',
  'filesystem:extension-filter': 'filesystem:extension-filter,extensions=.ts+.tsx,applies=writes',
  'filesystem:delete-step-up': 'filesystem:delete-step-up',
  'filesystem:developer-sandbox': 'filesystem:developer-sandbox,id=42',
}
