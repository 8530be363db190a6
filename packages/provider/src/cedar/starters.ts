import { type Command } from '../commands.ts'
import { CordonError, show } from '@cordon/policy'
import { type PathPrefix, parsePrefix } from '../tokens/prefix.ts'

/** SPEC 7.4: the starter policies with their parameters. Several combine: their statements add up. */
export type Starter =
  | { readonly name: 'filesystem:read-only' }
  | { readonly name: 'filesystem:subdir-read'; readonly prefix: PathPrefix }
  /** Files are moved and copied inside `prefix`; with `from`, also from there into it. */
  | { readonly name: 'filesystem:write-subdir'; readonly prefix: PathPrefix; readonly from?: PathPrefix }
  /** Permits nothing: it takes away, from all file commands or from those that write. */
  | {
      readonly name: 'filesystem:extension-filter'
      readonly extensions: readonly string[]
      readonly applies?: (typeof APPLIES)[number]
    }
  | { readonly name: 'filesystem:delete-step-up'; readonly prefix?: PathPrefix }
  | { readonly name: 'filesystem:developer-sandbox'; readonly id: string }

/** What an extension filter takes away from. */
export const APPLIES = ['all', 'writes'] as const

export type StarterName = Starter['name']

export const STARTER_NAMES: readonly StarterName[] = [
  'filesystem:read-only',
  'filesystem:subdir-read',
  'filesystem:write-subdir',
  'filesystem:extension-filter',
  'filesystem:delete-step-up',
  'filesystem:developer-sandbox',
]

class StarterError extends CordonError {
  readonly code = 'STARTER_INVALID'
}

/** The Cedar text of one or more starters, to be loaded or edited. */
export const starterPolicies = (starters: readonly Starter[]): string => starters.map(textOf).join('\n')

function textOf(starter: Starter): string {
  switch (starter.name) {
    case 'filesystem:read-only':
      return statement(starter.name, 'permit', READS)
    case 'filesystem:subdir-read':
      return statement(starter.name, 'permit', READS, when(inside('resource', starter.prefix)))
    case 'filesystem:write-subdir':
      return writeSubdir(starter.name, starter.prefix, starter.from)
    case 'filesystem:extension-filter':
      return extensionFilter(starter.name, starter.extensions, starter.applies ?? 'all')
    case 'filesystem:delete-step-up':
      return deleteStepUp(starter.name, starter.prefix)
    case 'filesystem:developer-sandbox':
      return developerSandbox(starter.name, sandboxOf(starter.id))
  }
}

const READS: readonly Command[] = [
  '/filesystem/file/read',
  '/filesystem/file/stat',
  '/filesystem/file/search',
  '/filesystem/dir/list',
  '/filesystem/dir/tree',
]
const WRITES: readonly Command[] = [
  '/filesystem/file/write',
  '/filesystem/file/create',
  '/filesystem/file/edit',
  '/filesystem/dir/create',
]
const TRANSFERS: readonly Command[] = ['/filesystem/file/move', '/filesystem/file/copy']
const DELETES: readonly Command[] = [
  '/filesystem/file/delete',
  '/filesystem/dir/delete',
  '/filesystem/dir/delete_recursive',
]
const SIGNED = 'context has cosigner && context.cosigner'

const writeSubdir = (name: string, to: PathPrefix, from: PathPrefix | undefined): string =>
  [
    statement(name, 'permit', WRITES, when(inside('resource', to))),
    statement(
      `${name}/transfer`,
      'permit',
      TRANSFERS,
      when(
        from === undefined
          ? inside('resource', to)
          : `(${inside('resource', to)} || ${inside('resource', from)})`,
        inside('context.destination', to),
      ),
    ),
  ].join('\n')

/** Directories have no extension to filter by; a search shows lines of files, so it has to go. */
function extensionFilter(
  name: string,
  extensions: readonly string[],
  applies: (typeof APPLIES)[number],
): string {
  // Read from a text somewhere: what is neither must not count as the weaker one.
  if (!APPLIES.includes(applies))
    throw new StarterError(`an extension filter applies to ${APPLIES.join(' or ')}, not to ${show(applies)}`)
  if (extensions.length === 0) throw new StarterError('an extension filter needs at least one extension')
  for (const extension of extensions)
    if (!/^\.[^./\p{C}]+$/u.test(extension))
      throw new StarterError(`${show(extension)} is not an extension: write it with its dot, as .ts`)
  const set = `[${extensions.map(cedarString).join(', ')}]`
  const writes: Command[] = [
    '/filesystem/file/write',
    '/filesystem/file/create',
    '/filesystem/file/edit',
    '/filesystem/file/delete',
  ]
  const all: Command[] = [...writes, '/filesystem/file/read', '/filesystem/file/stat']
  const unless = (...conditions: string[]): string => `unless { ${conditions.join(' && ')} }`
  const has = (what: string): string => `${set}.contains(${what}.extension)`
  return [
    statement(name, 'forbid', applies === 'all' ? all : writes, unless(has('resource'))),
    statement(`${name}/transfer`, 'forbid', TRANSFERS, unless(has('resource'), has('context.destination'))),
    ...(applies === 'all'
      ? [
          statement(
            `${name}/search`,
            'forbid',
            ['/filesystem/file/search'],
            unless(`resource.is_dir == false`, has('resource')),
          ),
        ]
      : []),
  ].join('\n')
}

/** SPEC 7.4 `delete-step-up`: unlinking requires a passkey. It permits what was signed for, and forbids the rest whoever permits it. */
const deleteStepUp = (name: string, prefix: PathPrefix | undefined): string =>
  [
    statement(
      name,
      'permit',
      DELETES,
      when(SIGNED, ...(prefix === undefined ? [] : [inside('resource', prefix)])),
    ),
    statement(`${name}/unsigned`, 'forbid', DELETES, `unless { ${SIGNED} }`),
  ].join('\n')

const developerSandbox = (name: string, prefix: PathPrefix): string =>
  [
    statement(name, 'permit', [...READS, ...WRITES, ...DELETES], when(inside('resource', prefix))),
    statement(
      `${name}/transfer`,
      'permit',
      TRANSFERS,
      when(inside('resource', prefix), inside('context.destination', prefix)),
    ),
  ].join('\n')

function sandboxOf(id: string): PathPrefix {
  if (!/^\w[\w.-]{0,63}$/.test(id))
    throw new StarterError(`${show(id)} is not an agent's id: letters, digits, '.', '_' and '-', at most 64`)
  return parsePrefix(`/tmp/agent-${id}`)
}

const statement = (
  id: string,
  effect: 'permit' | 'forbid',
  commands: readonly Command[],
  condition = '',
): string =>
  `@id(${cedarString(id)})
${effect} (
  principal,
  action in [${commands.map((command) => `Action::${cedarString(command)}`).join(', ')}],
  resource
)${condition === '' ? '' : ` ${condition}`};
`

const when = (...conditions: string[]): string => `when { ${conditions.join(' && ')} }`

/** By entity, so that whole components are compared and no pattern has to be escaped. */
const inside = (what: string, prefix: PathPrefix): string => `${what} in Directory::${cedarString(prefix)}`

/** Whatever the text is, it stays one string of Cedar. */
export const cedarString = (text: string): string =>
  `"${text.replace(/[\\"\p{C}\p{Zl}\p{Zp}]/gu, (c) => (c === '"' || c === '\\' ? `\\${c}` : `\\u{${c.codePointAt(0)!.toString(16)}}`))}"`
