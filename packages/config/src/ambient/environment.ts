import { type ConfigProblem } from '../errors.ts'
import { labelFor, type Source } from '../layers.ts'
import { definition } from '../schema/definition.ts'
import { childSchema } from '../schema/lookup.ts'
import { type Schema } from '../schema/schema.ts'
import { parseValue } from '../toml/value.ts'

const PREFIX = 'CORDON_CFG_'
const SEPARATOR = '__'

/**
 * SPEC 2: `CORDON_CFG_<PATH>` (decision 0033). Two underscores stand between the parts of a key, and all is lower
 * case: `CORDON_CFG_SANDBOX__LIMITS__MEMORY_MB`. Where only one reading leads to a key, single underscores do:
 * `CORDON_CFG_SANDBOX_MODE`. A name with capitals or dots goes into the value, which may be a whole table.
 */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  problems: ConfigProblem[],
): Source[] {
  // Sorted, so that two variables about one list join in the same order on every machine.
  const names = Object.keys(env)
    .filter((name) => name.startsWith(PREFIX))
    .toSorted()
  return names.flatMap((name) => readVariable(name, env[name] ?? '', problems))
}

function readVariable(name: string, text: string, problems: ConfigProblem[]): Source[] {
  const origin = { layer: 'environment', label: labelFor(`$${name}`) } as const
  const shown = labelFor(name)
  const wrong = (message: string, fix: string): Source[] => {
    problems.push({ origin, key: '', message, fix })
    return []
  }
  const spelled = name.slice(PREFIX.length).toLowerCase()
  const paths = spelled.includes(SEPARATOR) ? [spelled.split(SEPARATOR)] : readings(definition, spelled)
  const [key] = paths
  if (!key || key.includes(''))
    return wrong(
      `\`${shown}\` names no key of the configuration`,
      `write the parts of the key with two underscores between them, such as ${PREFIX}SANDBOX__MODE`,
    )
  if (paths.length > 1)
    return wrong(
      `\`${shown}\` could mean ${paths.map((path) => `\`${path.join('.')}\``).join(' or ')}`,
      `write two underscores between the parts: ${paths.map((path) => PREFIX + path.join(SEPARATOR).toUpperCase()).join(' or ')}`,
    )
  const value = parseValue(text)
  if (value.kind === 'broken')
    return wrong(`the value of \`${shown}\` is not valid TOML: ${value.message}`, VALUE_FIX)
  return [{ ...origin, key, value: value.value }]
}

export const VALUE_FIX = 'write a TOML value such as true, 5, "text", ["a", "b"] or { a = 1 }'

/** Every way to read words joined by single underscores as a key that holds a value. */
function readings(schema: Schema, spelled: string): string[][] {
  const found: string[][] = []
  for (const [head, rest] of splits(spelled)) {
    const inner = childSchema(schema, head)
    if (!inner) continue
    if (rest === undefined) {
      if (inner.type !== 'object') found.push([head])
    } else if (inner.type === 'object') found.push(...readings(inner, rest).map((tail) => [head, ...tail]))
  }
  return found
}

/** `a_b` as `a` + `b`, and as `a_b` alone. */
function splits(text: string): [string, string | undefined][] {
  const all: [string, string | undefined][] = []
  for (let i = text.indexOf('_', 1); i > 0; i = text.indexOf('_', i + 1))
    all.push([text.slice(0, i), text.slice(i + 1)])
  return [...all, [text, undefined]]
}
