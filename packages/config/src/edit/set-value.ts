import { isDeepStrictEqual } from 'node:util'
import { CordonError } from '@cordon/policy'
import { parse } from 'smol-toml'
import { ConfigError, type ConfigProblem } from '../errors.ts'
import { type ConfigOrigin } from '../layers.ts'
import { DEEPEST, isDeep, isTable } from '../merge/cell.ts'
import { schemaAt } from '../schema/lookup.ts'
import { LIST_MERGE } from '../schema/schema.ts'
import { readDocument, Document, type Table } from '../toml/document.ts'
import { parseKeyPath } from '../toml/key-path.ts'
import { markToml } from '../toml/marks.ts'
import { formatValue, parseValue } from '../toml/value.ts'
import { checkEdited } from './check-edited.ts'
import { appendEdits, type Edit, setEdits } from './edits.ts'

/** The edit would have changed something else too, so nothing was changed. */
export class ConfigEditError extends CordonError {
  readonly code = 'CONFIG_EDIT'
  readonly key: string
  constructor(key: string, byHand: string) {
    super(
      `cannot set \`${key}\` without rewriting other parts of the file\n  fix: open the file and write ${byHand} yourself`,
    )
    this.key = key
  }
}

/**
 * Pure: the text with one key set, every other value, comment and line as it was. `value` is TOML, or text that is
 * no TOML and then stands for itself. On a rule list, `+{ path = "src", read = true }` appends one rule and a list
 * replaces what this file says. Throws ConfigError when key or value are wrong, or the text is no TOML.
 */
export function setValue(text: string, key: string, value: string, label = 'the config file'): string {
  const document = readDocument({ layer: 'workspace', label, text })
  if (!(document instanceof Document)) throw new ConfigError([document])
  const origin: ConfigOrigin = { layer: 'command-line', label: `config set ${key}` }
  if (isDeep(document.values))
    throw refuse(
      origin,
      key,
      `the file holds more than ${DEEPEST} levels of tables and lists`,
      'write it flatter',
    )
  const path = parseKeyPath(key)
  if (!path || path.length > DEEPEST)
    throw refuse(
      origin,
      key,
      `\`${key}\` is not a key`,
      'write the parts with dots between them: sandbox.mode',
    )
  const isList = schemaAt(path)?.[LIST_MERGE] !== undefined
  const isAppend = isList && value.startsWith('+')
  const parsed = parseValue(isAppend ? value.slice(1) : value)
  if (parsed.kind === 'broken')
    throw refuse(
      origin,
      key,
      `the value is not valid TOML: ${parsed.message}`,
      'write true, 5, "text", ["a"] or { a = 1 }',
    )
  if (isList && !isAppend && isTable(parsed.value) && !Object.hasOwn(parsed.value, 'value'))
    throw refuse(
      origin,
      key,
      `\`${key}\` is a list, and this is one rule`,
      `write '+${value}' to add the rule to it`,
    )
  const marks = markToml(text)
  const edits = isAppend
    ? appendEdits(text, marks, path, parsed.value)
    : setEdits(text, marks, path, parsed.value)
  const wanted = parse(text) as Table
  if (isAppend) append(wanted, path, parsed.value)
  else assign(wanted, path, parsed.value)
  const edited = edits
    .map((edit) => apply(text, edit))
    .find((candidate) => isExactly(candidate, wanted, text, edits))
  if (edited === undefined) throw new ConfigEditError(key, `${key} = ${formatValue(parsed.value)}`)
  checkEdited(edited, path, origin)
  return edited
}

const refuse = (origin: ConfigOrigin, key: string, message: string, fix: string): ConfigError =>
  new ConfigError([{ origin, key, message, fix } satisfies ConfigProblem])

function apply(text: string, splices: Edit): string {
  let result = text
  for (const { from, to, insert } of splices.toSorted((a, b) => b.from - a.from))
    result = result.slice(0, from) + insert + result.slice(to)
  return result
}

/** An edit is a guess until this holds: exactly the wanted values, and every comment that was not in a replaced value. */
function isExactly(candidate: string, wanted: Table, before: string, edits: readonly Edit[]): boolean {
  const document = readDocument({ layer: 'workspace', label: '', text: candidate })
  if (!(document instanceof Document) || !isDeepStrictEqual(document.values, wanted)) return false
  const replaced = edits.flat().filter(({ from, to }) => to > from)
  const kept = commentsOf(before).filter(({ at }) => !replaced.some(({ from, to }) => at >= from && at < to))
  return isDeepStrictEqual(kept.map(textOf), commentsOf(candidate).map(textOf))
}

const commentsOf = (text: string): { at: number; text: string }[] =>
  markToml(text).comments.map((at) => {
    const end = text.indexOf('\n', at)
    return { at, text: text.slice(at, end < 0 ? text.length : end).trimEnd() }
  })

const textOf = (comment: { text: string }): string => comment.text

function assign(table: Table, path: readonly string[], value: unknown): void {
  const last = path.at(-1)!
  descend(table, path.slice(0, -1))[last] = value
}

function append(table: Table, path: readonly string[], value: unknown): void {
  const last = path.at(-1)!
  const parent = descend(table, path.slice(0, -1))
  const list = parent[last]
  if (isTable(list) && Array.isArray(list['value'])) list['value'].push(value)
  else if (Array.isArray(list)) list.push(value)
  else parent[last] = [value]
}

/** The table at the path; what is missing, or is no table, becomes an empty one. */
function descend(table: Table, path: readonly string[]): Table {
  let here = table
  for (const key of path) {
    const next = Object.hasOwn(here, key) ? here[key] : undefined
    if (isTable(next)) here = next
    else here[key] = here = Object.create(null) as Table
  }
  return here
}
