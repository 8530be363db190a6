import { quote, suggest } from '@cordon/policy'
import {
  type McpServerConfig,
  type Named,
  type ToolConfig,
  type ToolDefaults,
  type ToolSource,
} from '../config.ts'
import { type Cell, cellAt } from '../merge/cell.ts'
import { type Table } from '../toml/document.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { formatValue } from '../toml/value.ts'
import { readAccess } from './access.ts'
import { type Findings, tableOf } from './findings.ts'
import { checkRunRules, type KnownArguments } from './run-rules.ts'
import { holdSameTools } from './same-tool.ts'
import { shippedArguments } from './shipped-arguments.ts'

/** The key under which the defaults of all tools stand. */
const DEFAULTS_KEY = '*'

export function readTools(findings: Findings, servers: Named<McpServerConfig>): Named<ToolConfig> {
  const declared = tableOf(tableOf(findings.values['conversation'])['tools'])
  const defaults = readToolDefaults(findings)
  for (const key of MODES)
    checkRunRules(findings, ['conversation', 'tools', DEFAULTS_KEY, key], { kind: 'unknown' })
  const tools = Object.create(null) as Record<string, ToolConfig>
  for (const [name, value] of Object.entries(declared))
    if (name !== DEFAULTS_KEY) tools[name] = readTool(findings, servers, name, tableOf(value), defaults)
  return holdSameTools(tools)
}

/** Whole: the built-in layer has every key. */
export const readToolDefaults = (findings: Findings): ToolDefaults => {
  const { tools } = tableOf(findings.values['conversation'])
  const all = tableOf(tableOf(tools)[DEFAULTS_KEY]) as unknown as Omit<ToolDefaults, 'runIsWritten'>
  return { ...all, runIsWritten: isWritten(cellAt(findings.root, runOf(DEFAULTS_KEY))) }
}

function readTool(
  findings: Findings,
  servers: Named<McpServerConfig>,
  name: string,
  fields: Table,
  all: ToolDefaults,
): ToolConfig {
  const path = ['conversation', 'tools', name]
  // Lengths apart: V8 compiles `{1,128}` to 128 copies, which takes longer than to read all of a config.
  if (!/^[A-Za-z0-9_./-]+$/.test(name) || name.length > 128 || name === '__proto__')
    findings.add(path, `${quote(name)} is not a tool name`, 'use letters, digits and _ - . /')
  const source = readSource(findings, servers, path, fields)
  const command = readCommand(findings, path, fields, source)
  const known = argumentsOf(findings, path, fields, source)
  for (const key of MODES) checkRunRules(findings, [...path, key], known)
  checkAnswers(findings, path, fields)
  const hasAccess = fields['access'] !== undefined
  if (hasAccess && source.kind === 'builtin')
    findings.add(
      [...path, 'access'],
      `\`${formatKeyPath([...path, 'access'])}\`: a builtin tool runs inside Cordon, where no access rule would hold it`,
      'take the access out, or set enable = false on the tool',
    )
  const own = fields as unknown as Partial<ToolConfig>
  const { description, parameters, format_arguments, options = {}, questions = {} } = own
  const decides = runDecider(findings.root, name) === name
  return {
    enable: own.enable ?? all.enable,
    source,
    run: (decides ? own.run : undefined) ?? all.run,
    runIsWritten: decides ? isWritten(cellAt(findings.root, runOf(name))) : all.runIsWritten,
    result: own.result ?? all.result,
    timeout_secs: own.timeout_secs ?? all.timeout_secs,
    max_output_bytes: own.max_output_bytes ?? all.max_output_bytes,
    options,
    questions,
    ...(description === undefined ? {} : { description }),
    ...(parameters === undefined ? {} : { parameters }),
    ...(format_arguments === undefined ? {} : { format_arguments }),
    ...(command === undefined ? {} : { command }),
    ...(hasAccess ? { access: readAccess(findings, [...path, 'access']) } : {}),
  }
}

const runOf = (name: string): readonly string[] => ['conversation', 'tools', name, 'run']

/** In a configuration. A conversation holds no other run modes than the answers `always` (SPEC 6.5). */
const isWritten = (cell: Cell | undefined): boolean => {
  const layer = cell?.written.document.source.layer
  return layer !== undefined && layer !== 'built-in' && layer !== 'conversation'
}

/**
 * Whose `run` counts: the tool's own, or the one of all tools (`*`). What a shipped tool has from Cordon alone gives way to
 * what anybody wrote for all of them, and holds for Cordon's own program alone (decision 0365).
 */
export function runDecider(root: Cell, name: string): string {
  const own = cellAt(root, runOf(name))
  if (!own) return DEFAULTS_KEY
  if (own.written.document.source.layer !== 'built-in') return name
  const source = cellAt(root, ['conversation', 'tools', name, 'source'])
  if (source?.kind === 'value' && source.value === 'builtin') return name
  const isReplaced = cellAt(root, ['conversation', 'tools', name, 'command']) !== undefined
  const isOurs = source?.kind === 'value' && source.value === 'local' && !isReplaced
  return isOurs && !isWritten(cellAt(root, runOf(DEFAULTS_KEY))) ? name : DEFAULTS_KEY
}

/** The keys that hold modes, or rules for them. */
const MODES = ['run', 'result'] as const

/** What is known of a tool's arguments, to find the rule that can never match. */
function argumentsOf(
  findings: Findings,
  path: readonly string[],
  { command, parameters }: Table,
  source: ToolSource,
): KnownArguments {
  const shipped =
    source.kind === 'local' && command === undefined ? shippedArguments(path.at(-1)!) : undefined
  if (shipped && !needsCommand(findings, path)) return { kind: 'shipped', ...shipped }
  const { properties } = tableOf(parameters)
  return properties === undefined
    ? { kind: 'unknown' }
    : { kind: 'declared', names: Object.keys(tableOf(properties)) }
}

/** SPEC 2: a layer may add only `access`, but some layer must say where the tool comes from. */
function readSource(
  findings: Findings,
  servers: Named<McpServerConfig>,
  path: readonly string[],
  fields: Table,
): ToolSource {
  const { source: text } = fields
  const key = (): string => formatKeyPath(path)
  if (text === undefined) {
    const declared = fields['access'] === undefined ? 'is configured' : 'has `access`'
    findings.addIncomplete(
      path,
      fields['access'] === undefined ? path : [...path, 'access'],
      `\`${key()}\` ${declared}, but no layer gives it a \`source\``,
      'write source = "local" with a command, or source = "mcp.<server>", or correct the name of the tool',
    )
  }
  if (text === 'builtin') return { kind: 'builtin' }
  const [kind, server = '', ...tool] = typeof text === 'string' ? text.split('.') : []
  if (kind !== 'mcp' || findings.isBroken([...path, 'source'])) return { kind: 'local' }
  if (!Object.hasOwn(servers, server)) {
    const meant = suggest(server, Object.keys(servers))
    findings.addIncomplete(
      path,
      [...path, 'source'],
      `\`${key()}.source\`: there is no MCP server ${quote(server)}`,
      meant === undefined
        ? `add [${formatKeyPath(['providers', 'mcp', server])}] with its command`
        : `did you mean "mcp.${[meant, ...tool].join('.')}"?`,
    )
  }
  return { kind: 'mcp', server, ...(tool.length === 0 ? {} : { tool: tool.join('.') }) }
}

function readCommand(
  findings: Findings,
  path: readonly string[],
  { command }: Table,
  source: ToolSource,
): readonly string[] | undefined {
  if (typeof command === 'string' && /\s/.test(command))
    findings.add(
      [...path, 'command'],
      `\`${formatKeyPath([...path, 'command'])}\`: no shell splits ${quote(command)} into words`,
      `write the words: command = ${formatValue(command.trim().split(/\s+/))}`,
    )
  if (command === undefined && source.kind === 'local' && needsCommand(findings, path))
    findings.addIncomplete(
      path,
      path,
      `\`${formatKeyPath(path)}\` is a local tool without a \`command\``,
      'write command = ["program", "word"]',
    )
  if (typeof command === 'string') return [command]
  return Array.isArray(command) ? (command as string[]) : undefined
}

/** A tool that Cordon ships is started by Cordon itself, also when another layer repeats its source. */
function needsCommand(findings: Findings, path: readonly string[]): boolean {
  const source = cellAt(findings.root, [...path, 'source'])
  if (!source) return false
  return [source, ...source.overrode].every((one) => one.written.document.source.layer !== 'built-in')
}

function checkAnswers(findings: Findings, path: readonly string[], fields: Table): void {
  for (const [id, question] of Object.entries(tableOf(fields['questions']))) {
    const at = [...path, 'questions', id]
    if (!findings.isBroken(at) && tableOf(question)['answer'] === undefined)
      findings.addIncomplete(
        path,
        at,
        `\`${formatKeyPath(at)}\` has no \`answer\``,
        'write answer = "…", a number, true or false',
      )
  }
}
