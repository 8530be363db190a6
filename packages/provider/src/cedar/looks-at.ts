import { posix } from 'node:path'
import { type Command, COMMANDS } from '../commands.ts'
import { extensionOf, type PolicyRequest } from './request.ts'
import { type Statement } from './statements.ts'

/** What tells two files of one directory apart; `name`: anything does, as far as we know. */
type Trait = 'extension' | 'size' | 'exists' | 'name'

/** Of each command, what policies look at in a file, besides the directories that it lies in. */
export type LooksAt = ReadonlyMap<Command, readonly Trait[]>

/**
 * A walk asks about every entry, and most policies know a file by its directory alone: what they cannot tell apart is decided
 * once (decision 0591). A statement counts for the commands that its scope names.
 */
export const whatIsLookedAt = (statements: readonly Statement[]): LooksAt =>
  new Map(
    COMMANDS.map((command) => {
      const traits = statements
        .filter(({ json }) => mayBeAbout(json.action, command))
        .flatMap(({ json }) => [...traitsIn(json.resource), ...traitsIn(json.conditions)])
      return [command, [...new Set(traits)].toSorted()]
    }),
  )

/** As much of a request as the policies can look at. */
export function lookedAt(looksAt: LooksAt, request: PolicyRequest): object {
  const { command, resource, destination } = request
  const traits = looksAt.get(command)
  if (!traits || traits.includes('name') || destination || resource.isDirectory) return request
  const { path, size, exists } = resource
  const values = { extension: extensionOf(posix.basename(path)), size, exists, name: path }
  return { ...request, resource: [posix.dirname(path), ...traits.map((trait) => values[trait])] }
}

/** There are no groups of actions: a scope names each. */
function mayBeAbout(scope: unknown, command: Command): boolean {
  const { op, entity, entities = [entity] } = scope as Scope
  return op === 'All' || entities.some((each) => !each || each.id === command)
}

interface Scope {
  readonly op: string
  readonly entity?: { readonly id?: string }
  readonly entities?: readonly ({ readonly id?: string } | undefined)[]
}

interface Attribute {
  readonly attr?: unknown
}

/** Anywhere in it: an attribute, whether there is one, or a file that is named. Of what is not known here, that anything could be meant. */
function traitsIn(part: unknown): Trait[] {
  if (Array.isArray(part)) return part.flatMap(traitsIn)
  if (typeof part !== 'object' || part === null) return []
  const { type, ['.']: access, has } = part as { type?: unknown; '.'?: Attribute; has?: Attribute }
  const own: Trait[] = [
    ...(type === 'File' ? (['name'] as const) : []),
    ...[access, has].flatMap((each) => (each ? traitOf(each.attr) : [])),
  ]
  return [...own, ...Object.values(part).flatMap(traitsIn)]
}

function traitOf(attribute: unknown): Trait[] {
  switch (attribute) {
    case 'cosigner': // of the context
    case 'destination':
    case 'is_dir': // of a file it is always the same
      return []
    case 'extension':
    case 'size':
    case 'exists':
      return [attribute]
    default:
      return ['name']
  }
}
