import { isDeepStrictEqual } from 'node:util'
import { parse } from 'smol-toml'
import { isTable } from '../merge/cell.ts'
import { Document, readDocument, type Table } from '../toml/document.ts'
import { markToml } from '../toml/marks.ts'
import { appendEdits, type Edit, removeEdits, setEdits } from './edits.ts'

/**
 * Edits of one key of any TOML text, ours or a client's, every other value, comment and line as it was. Pure. Undefined
 * when no edit leads to exactly the wanted values; then nothing should be changed. The text must be TOML.
 */
export function setToml(text: string, path: readonly string[], value: unknown): string | undefined {
  const wanted = parse(text)
  descend(wanted, path.slice(0, -1))[path.at(-1)!] = value
  return firstExact(text, setEdits(text, markToml(text), path, value), wanted)
}

/** Adds one element to a list, which may be missing. */
export function appendToml(text: string, path: readonly string[], value: unknown): string | undefined {
  const wanted = parse(text)
  append(wanted, path, value)
  return firstExact(text, appendEdits(text, markToml(text), path, value), wanted)
}

/** Takes a key away, with everything below it, and the tables above it that are then empty. */
export function removeToml(text: string, path: readonly string[]): string | undefined {
  const wanted = parse(text)
  const parent = descend(wanted, path.slice(0, -1))
  if (!Object.hasOwn(parent, path.at(-1)!)) return text
  delete parent[path.at(-1)!]
  const prune = (values: Table): Table => withoutEmpty(values, path.slice(0, -1))
  return firstExact(text, removeEdits(text, markToml(text), path), prune(wanted), prune)
}

function firstExact(
  text: string,
  edits: readonly Edit[],
  wanted: Table,
  compared: (values: Table) => Table = (values) => values,
): string | undefined {
  // Comments are looked at in all edits together: what one of them replaces may be gone.
  const replaced = edits.flat().filter(({ from, to }) => to > from)
  const kept = commentsOf(text).filter(({ at }) => !replaced.some(({ from, to }) => at >= from && at < to))
  return edits
    .map((edit) => apply(text, edit))
    .find((candidate) => {
      const document = readDocument({ layer: 'workspace', label: '', text: candidate })
      return (
        document instanceof Document &&
        isDeepStrictEqual(compared(document.values), wanted) &&
        isDeepStrictEqual(kept.map(textOf), commentsOf(candidate).map(textOf))
      )
    })
}

function apply(text: string, splices: Edit): string {
  let result = text
  for (const { from, to, insert } of splices.toSorted((a, b) => b.from - a.from))
    result = result.slice(0, from) + insert + result.slice(to)
  return result
}

const commentsOf = (text: string): { at: number; text: string }[] =>
  markToml(text).comments.map((at) => {
    const end = text.indexOf('\n', at)
    return { at, text: text.slice(at, end < 0 ? text.length : end).trimEnd() }
  })

const textOf = (comment: { text: string }): string => comment.text

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

/** Drops the tables on the path that hold nothing, from the deepest up. */
function withoutEmpty(values: Table, path: readonly string[]): Table {
  const [first, ...rest] = path
  const inner = first === undefined || !Object.hasOwn(values, first) ? undefined : values[first]
  if (first !== undefined && isTable(inner) && Object.keys(withoutEmpty(inner, rest)).length === 0)
    delete values[first]
  return values
}
