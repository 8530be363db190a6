import { show } from '@cordon/policy'
import { parsePrefix, type Starter, STARTER_NAMES, type StarterName, starterPolicies } from '@cordon/provider'
import { UsageError } from './report.ts'

/** `filesystem:write-subdir,prefix=/srv/out,from=/build/out`: a name and its parameters. */
export function parseStarter(text: string): Starter {
  const [name = '', ...pairs] = text.split(',')
  if (!isStarter(name))
    throw new UsageError(`there is no starter policy ${show(name)}; there are: ${STARTER_NAMES.join(', ')}`)
  const given = new Map(pairs.map((pair) => split(pair)))
  const { required = [], optional = [] } = PARAMETERS[name]
  for (const key of given.keys())
    if (![...required, ...optional].includes(key))
      throw new UsageError(`${name} has no parameter ${show(key)}`)
  for (const key of required)
    if (!given.has(key)) throw new UsageError(`${name} needs ${key}=…, as in ${EXAMPLES[name]}`)
  const read = [...given].map(([key, value]) => [key, READ[key]?.(value) ?? value])
  return { name, ...Object.fromEntries(read) } as Starter
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
