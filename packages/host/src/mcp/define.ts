import { isDeepStrictEqual } from 'node:util'
import { formatKeyPath, formatValue, removeToml, setValue, uncheckedValues } from '@cordon/config'
import { CordonError, quote } from '@cordon/policy'
import { sha256 } from '@cordon/workspace'

/** A server as a person adds it to the configuration (SPEC 5.1). Everything that is absent keeps its default. */
export interface ServerDefinition {
  readonly line: readonly [string, ...string[]]
  /** Exact names, as rules. */
  readonly variables: readonly string[]
  readonly hosts?: readonly Readonly<Record<string, string | number | boolean>>[]
  readonly paths?: readonly Readonly<Record<string, string | boolean>>[]
  readonly stateful?: boolean
  readonly optional?: boolean
}

const keyOf = (name: string): readonly string[] => ['providers', 'mcp', name]

/** Pure: the text of a layer with the server in it, in place of what it said of that name. */
export function withServer(text: string, name: string, definition: ServerDefinition): string {
  const alone = written('', name, definition)
  const isThere = isDeepStrictEqual(serverTable(text, name), serverTable(alone, name))
  return isThere ? text : written(withoutServer(text, name), name, definition)
}

function written(text: string, name: string, definition: ServerDefinition): string {
  const { line, variables, hosts = [], paths = [], stateful, optional } = definition
  const [command, ...args] = line
  const rules = [
    ...paths.map((rule) => ['fs', rule] as const),
    ...hosts.map((rule) => ['net', rule] as const),
    ...[...new Set(variables)].map((variable) => ['env', { name: variable, read: true }] as const),
  ]
  const values = [
    ['command', command],
    ...(args.length === 0 ? [] : [['arguments', args] as const]),
    ...(stateful === undefined ? [] : [['stateful', stateful] as const]),
    ...(optional === undefined ? [] : [['optional', optional] as const]),
  ] as const
  let edited = text
  for (const [key, value] of values)
    edited = setValue(edited, formatKeyPath([...keyOf(name), key]), formatValue(value))
  for (const [axis, rule] of rules)
    edited = setValue(edited, formatKeyPath([...keyOf(name), 'access', axis]), `+${formatValue(rule)}`)
  return edited
}

class RemoveError extends CordonError {
  readonly code = 'CONFIG_EDIT'
}

export function withoutServer(text: string, name: string): string {
  const left = removeToml(text, keyOf(name))
  if (left === undefined)
    throw new RemoveError(
      `cannot take server ${quote(name)} out without rewriting other parts of the file; do it by hand`,
    )
  return left
}

/** The tools whose entries in a layer's text name a server as their source. */
export function toolsFrom(text: string, server: string): readonly string[] {
  const tables = valueAt(text, ['conversation', 'tools'])
  const names = typeof tables === 'object' && tables !== null ? Object.keys(tables) : []
  return names.filter((name) => {
    const source = valueAt(text, ['conversation', 'tools', name, 'source'])
    return source === `mcp.${server}` || String(source).startsWith(`mcp.${server}.`)
  })
}

/** Of these tools, those that a layer's text goes on about without saying whose they are. */
export const toolsWithoutSource = (text: string, names: readonly string[]): readonly string[] =>
  names.filter(
    (name) =>
      valueAt(text, ['conversation', 'tools', name]) !== undefined &&
      valueAt(text, ['conversation', 'tools', name, 'source']) === undefined,
  )

export function withoutTools(text: string, names: readonly string[]): string {
  return names.reduce((left, name) => {
    const without = removeToml(left, ['conversation', 'tools', name])
    if (without === undefined)
      throw new RemoveError(
        `cannot take tool ${quote(name)} out without rewriting other parts of the file; do it by hand`,
      )
    return without
  }, text)
}

/** What a layer's text says of a server; undefined: nothing. */
export const serverTable = (text: string, name: string): unknown => valueAt(text, keyOf(name))

/** The servers that a layer's text says anything of. */
export function serverNames(text: string): readonly string[] {
  const tables = valueAt(text, ['providers', 'mcp'])
  return typeof tables === 'object' && tables !== null ? Object.keys(tables) : []
}

/** A table with a command is a definition; without, it only grants something to a name. */
export const isDefinition = (table: unknown): boolean =>
  typeof table === 'object' && table !== null && Object.hasOwn(table, 'command')

export const definedServers = (text: string): readonly string[] =>
  serverNames(text).filter((name) => isDefinition(serverTable(text, name)))

function valueAt(text: string, path: readonly string[]): unknown {
  const read = uncheckedValues({ layer: 'user', label: '', text })
  let here: unknown = read.kind === 'values' ? read.values : undefined
  for (const key of path)
    here =
      typeof here === 'object' && here !== null && Object.hasOwn(here, key) ? here[key as never] : undefined
  return here
}

/** Whether a person changed it since: by everything that is said of it. */
export const digestOfServer = (text: string, name: string): string =>
  sha256(JSON.stringify(serverTable(text, name) ?? null))
