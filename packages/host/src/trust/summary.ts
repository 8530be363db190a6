import { posix } from 'node:path'
import { domainToASCII } from 'node:url'
import { formatKeyPath, formatValue, isDeep, isTable, uncheckedValues } from '@cordon/config'
import { CAPABILITIES, shellWord, show } from '@cordon/policy'
import { OWN_NAMES, RUN_LATER } from '../guard/names.ts'
import type { TrustItem } from './items.ts'

/** What a text would grant, each entry a line that is safe to print. Most dangerous first (SPEC 2.1). */
export const CATEGORIES = [
  'guarded',
  'renamed',
  'programs',
  'hosts',
  'outside',
  'variables',
  'unattended',
  'inside',
  'also',
] as const
export type Category = (typeof CATEGORIES)[number]

export type Summary = Readonly<Record<Category, readonly string[]>> & {
  /** Why a text cannot be read; nothing of it can count then, and any command that needs it fails. */
  readonly problems: readonly string[]
}

/**
 * SPEC 2.1. From the text alone, unchecked: what is wrong with it is found when it counts. Whatever is not understood
 * here is shown as it is written, under `also`.
 */
export function summarize({ sources, guarded = [] }: Pick<TrustItem, 'sources' | 'guarded'>): Summary {
  const summary = new Collected(guarded)
  for (const source of sources) {
    const read = uncheckedValues(source)
    if (read.kind === 'broken') summary.problems.push(show(read.problem.message))
    else collectRoot(read.values, summary)
  }
  return summary
}

type Table = Readonly<Record<string, unknown>>

class Collected implements Summary {
  readonly guarded: string[] = []
  readonly renamed: string[] = []
  readonly programs: string[] = []
  readonly hosts: string[] = []
  readonly outside: string[] = []
  readonly variables: string[] = []
  readonly unattended: string[] = []
  readonly inside: string[] = []
  readonly also: string[] = []
  readonly problems: string[] = []
  readonly #guarded: readonly string[]

  constructor(guarded: readonly string[]) {
    this.#guarded = guarded.map((path) => path.toLowerCase())
  }

  /** SPEC 4.10: a rule that names a guarded path, or one in it, answers there, also in a directory below the root. */
  liftsGuard(path: unknown): boolean {
    if (typeof path !== 'string') return false
    const plain = posix.normalize(path).replace(/\/$/, '').toLowerCase()
    return (
      [...OWN_NAMES, ...RUN_LATER, '.git'].some((name) => `/${plain}/`.includes(`/${name}/`)) ||
      this.#guarded.some((each) => each === '.' || `${plain}/`.startsWith(`${each}/`))
    )
  }
}

/** Where a reader stands. */
interface At {
  /** Whose table it is: `tool fetch`. */
  readonly who: string
  readonly table: Table
  readonly path: readonly string[]
  readonly into: Collected
}

/** Reads one key of a table; false: it does not understand the value. */
type Reader = (value: unknown, at: At) => boolean

function collectRoot(values: Table, into: Collected): void {
  for (const [path, kind, readers] of PLACES) {
    const table = path.reduce<unknown>((here, key) => (isTable(here) ? here[key] : undefined), values)
    if (!isTable(table)) continue
    for (const [name, fields] of Object.entries(table)) {
      const who =
        kind === 'tool' && name === '*' ? 'every tool' : `${kind} ${show(name)}${ofServer(name, fields)}`
      collect(fields, who, [...path, name], readers, into)
      if (kind === 'tool') collectName(name, fields, values, into)
      if (isTable(fields) && (kind === 'profile' || 'command' in fields) && !declaresPaths(fields))
        into.inside.unshift(`the whole workspace: read, write, execute (${who}, which declares no paths)`)
    }
  }
  rest(values, [], into)
}

/** What a tool of a server really is: its name alone says nothing of what runs. */
function ofServer(name: string, fields: unknown): string {
  const remote = isTable(fields) ? remoteOf(name, fields['source']) : undefined
  if (!remote) return ''
  return remote.tool === name
    ? `, of server ${show(remote.server)}`
    : `, which is ${show(remote.tool)} of server ${show(remote.server)}`
}

/** A name of the text's own choosing for a tool of a server, which may be the person's own. */
function collectName(name: string, fields: unknown, { providers }: Table, into: Collected): void {
  if (!isTable(fields)) return
  const remote = remoteOf(name, fields['source'])
  if (!remote || remote.tool === name) return
  const servers = isTable(providers) && isTable(providers['mcp']) ? providers['mcp'] : {}
  const where = Object.hasOwn(servers, remote.server) ? '' : ', which is configured elsewhere'
  const { description } = fields
  const described = description === undefined ? '' : `; described as ${shortly(description)}`
  into.renamed.push(
    `${show(name)} is ${show(remote.tool)} of server ${show(remote.server)}${where}${described}`,
  )
}

function remoteOf(
  name: string,
  source: unknown,
): { readonly server: string; readonly tool: string } | undefined {
  const [kind, server, ...tool] = typeof source === 'string' ? source.split('.') : []
  if (kind !== 'mcp' || server === undefined) return undefined
  return { server, tool: tool.length === 0 ? name : tool.join('.') }
}

/** SPEC 4.2: without a rule it has the workspace. */
function declaresPaths({ access: of }: Table): boolean {
  const fs = isTable(of) ? of['fs'] : undefined
  const list = isTable(fs) ? fs['value'] : fs
  return list !== undefined && !(Array.isArray(list) && list.length === 0)
}

function collect(
  fields: unknown,
  who: string,
  path: readonly string[],
  readers: Readonly<Record<string, Reader>>,
  into: Collected,
): void {
  if (!isTable(fields)) return void into.also.push(setting(path, fields))
  for (const [key, value] of Object.entries(fields)) {
    const here = [...path, key]
    const at = { who, table: fields, path: here, into }
    if (Object.hasOwn(readers, key) && readers[key]!(value, at)) continue
    into.also.push(setting(here, value))
  }
}

/** What belongs to no tool, server or profile: `sandbox.…`, and whatever this version does not know. */
function rest(value: unknown, path: readonly string[], into: Collected): void {
  if (
    PLACES.some(([place]) => place.length === path.length && place.every((key, i) => key === path[i])) &&
    isTable(value)
  )
    return
  if (!isTable(value) || path.length >= 2) return void into.also.push(setting(path, value))
  for (const [key, inner] of Object.entries(value)) rest(inner, [...path, key], into)
}

const words = (value: unknown): readonly string[] | undefined =>
  typeof value === 'string'
    ? [value]
    : Array.isArray(value) && value.every((word) => typeof word === 'string')
      ? value
      : undefined

const commandLine = (line: readonly string[]): string => line.map(shellWord).join(' ')

const silent: Reader = () => true

const access: Reader = (value, { who, path, into }) => {
  if (!isTable(value)) return false
  collect(value, who, path, { fs: rules(fsRule), net: rules(netRule), env: rules(envRule) }, into)
  return true
}

/** A list of rules, short or long. A rule that says no, or nothing, grants nothing and is not named. */
const rules =
  (one: (rule: Table, who: string, into: Collected) => void): Reader =>
  (value, { who, path, into }) => {
    const list = isTable(value) ? value['value'] : value
    if (!Array.isArray(list) || !list.every(isTable)) return false
    if (isTable(value) && value['strategy'] === 'replace')
      into.also.push(`${formatKeyPath(path)}: takes the place of all rules of earlier layers`)
    for (const rule of list) one(rule, who, into)
    return true
  }

function fsRule(rule: Table, who: string, into: Collected): void {
  const said = ['read', 'write', ...CAPABILITIES.slice(1)]
  const granted = said.filter((capability) => rule[capability] === true)
  if (granted.length === 0) return
  const withheld = said.filter((capability) => rule[capability] === false).map((each) => `not ${each}`)
  const line = `${pathText(rule['path'])}: ${[...granted, ...withheld].join(', ')} (${who})`
  const writes = granted.some((each) => each !== 'read' && each !== 'execute')
  const plain = rule['external'] === true ? 'outside' : 'inside'
  into[writes && into.liftsGuard(rule['path']) ? 'guarded' : plain].push(line)
}

/** Where it really leads, and of a long one also the end: a path must not hide behind its own head. */
function pathText(path: unknown): string {
  if (typeof path !== 'string') return shortly(path)
  const plain = posix.normalize(path).replace(/(?<=.)\/$/, '')
  if (plain.length <= LONGEST) return show(plain)
  const [head, tail] = [plain.slice(0, LONGEST / 2), plain.slice(-LONGEST / 2)]
  return `${show(head.toWellFormed())} … ${show(tail.toWellFormed())} (${plain.length} characters)`
}

/** As it is looked up, and beside it as it is written: letters of two alphabets can look the same. */
function hostText(host: unknown): string {
  if (typeof host !== 'string' || /^[ -~]*$/.test(host)) return text(host)
  return `${domainToASCII(host) || 'no host name'} [written ${show(host)}]`
}

function netRule(rule: Table, who: string, into: Collected): void {
  if (rule['allow'] !== true) return
  const { scheme, host, port, path_prefix: prefix } = rule
  const parts = [
    scheme === undefined ? '' : `${text(scheme)}://`,
    hostText(host),
    port === undefined ? '' : `:${text(port)}`,
    prefix === undefined ? '' : text(prefix),
  ]
  into.hosts.push(`${parts.join('')} (${who})`)
}

function envRule(rule: Table, who: string, into: Collected): void {
  if (rule['read'] === true) into.variables.push(`${text(rule['name'])} (${who})`)
}

const TOOL: Readonly<Record<string, Reader>> = {
  command: (value, { who, into }) => {
    const line = words(value)
    if (line) into.programs.push(`${commandLine(line)} (${who})`)
    return line !== undefined
  },
  run: (value, { who, into }) => {
    if (value === 'unattended') into.unattended.push(who)
    if (typeof value === 'string') return value === 'unattended' || value === 'ask'
    const list = isTable(value) ? value['value'] : value
    if (!Array.isArray(list)) return false
    if (list.some((rule) => isTable(rule) && rule['mode'] === 'unattended'))
      into.unattended.push(`${who}, by its arguments`)
    return true
  },
  questions: (value, { who, into }) => {
    if (!isTable(value)) return false
    for (const name of Object.keys(value))
      into.unattended.push(`${who} is answered its question ${show(name)}`)
    return true
  },
  access,
  source: (value) =>
    value === 'local' || value === 'builtin' || (typeof value === 'string' && value.startsWith('mcp.')),
  description: silent,
  parameters: silent,
}

const SERVER: Readonly<Record<string, Reader>> = {
  command: (value, { who, table, into }) => {
    const program = words(value)
    if (!program) return false
    // One line with its arguments: `npx` alone says nothing.
    into.programs.push(`${commandLine([...program, ...(words(table['arguments']) ?? [])])} (${who})`)
    return true
  },
  arguments: (value, { who, table, into }) => {
    const line = words(value)
    if (line && !words(table['command'])) into.programs.push(`… ${commandLine(line)} (${who})`)
    return line !== undefined
  },
  access,
  variables: (value, { who, into }) => {
    const list = words(isTable(value) ? value['value'] : value)
    for (const name of list ?? []) into.variables.push(`${show(name)} (${who})`)
    return list !== undefined
  },
}

const PLACES = [
  [['conversation', 'tools'], 'tool', TOOL],
  [['providers', 'mcp'], 'server', SERVER],
  [['profiles'], 'profile', { access }],
] as const satisfies readonly (readonly [readonly string[], string, Readonly<Record<string, Reader>>])[]

const text = (value: unknown): string => (typeof value === 'string' ? show(value) : shortly(value))

const setting = (path: readonly string[], value: unknown): string =>
  `${formatKeyPath(path)} = ${shortly(value)}`

const LONGEST = 200

function shortly(value: unknown): string {
  if (isDeep(value)) return '… (more levels than anybody writes)'
  const whole = formatValue(value)
  return whole.length <= LONGEST
    ? whole
    : `${whole.slice(0, LONGEST).toWellFormed()}… (${whole.length} characters)`
}
