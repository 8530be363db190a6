import { type CommandRule, parseCommandRule, Problems } from '@cordon/policy'
import { type AccessConfig, type Named } from '../config.ts'
import { type Path } from '../layers.ts'
import { cellAt, plainValue } from '../merge/cell.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { type Findings } from './findings.ts'
import { RULE_PARSERS } from './rule-parsers.ts'

/** The rules of one `access` table, each with the place it was written. `path` is that of the table. */
export function readAccess(findings: Findings, path: readonly string[]): AccessConfig {
  const commands = readCommands(findings, [...path, 'commands'])
  return {
    fs: readRules(findings, path, 'fs'),
    net: readRules(findings, path, 'net'),
    env: readRules(findings, path, 'env'),
    ...(commands === undefined ? {} : { commands }),
  }
}

function readRules<Axis extends keyof typeof RULE_PARSERS>(
  findings: Findings,
  access: readonly string[],
  axis: Axis,
): AccessConfig[Axis] {
  const path = [...access, axis]
  const cell = cellAt(findings.root, path)
  if (cell?.kind !== 'rules') return []
  const sound = findings.sound.get(cell)
  if (sound) return sound as unknown as AccessConfig[Axis]
  for (const [i, { value }] of cell.elements.entries()) {
    const problems = new Problems()
    RULE_PARSERS[axis](value, '', problems)
    report(findings, [...path, i], problems)
  }
  return []
}

/** A rule's problem names its field, `path` or `args[0]`, which leads to the field's own line. */
function report(findings: Findings, path: Path, problems: Problems): void {
  for (const { at, message } of problems.list) {
    const field = /^\w+/.exec(at)?.[0]
    const where = field === undefined ? path : [...path, field]
    // What the schema already said about this field is said once; its neighbours still get their say (SPEC 2).
    if (findings.isBroken(where)) continue
    findings.add(where, `\`${formatKeyPath(where)}\`: ${message}`, field && RULE_FIXES[field])
  }
}

const RULE_FIXES: Readonly<Record<string, string>> = {
  path: 'write a path below the workspace, such as path = "src"; to reach a place outside, link it into the workspace and write external = true',
  name: 'write a variable name such as name = "GITHUB_TOKEN", or a prefix such as name = "AWS_*"',
  args: 'write lists of words such as args = [["log", "**"]]',
}

function readCommands(findings: Findings, path: readonly string[]): Named<CommandRule> | undefined {
  const cell = cellAt(findings.root, path)
  if (cell?.kind !== 'table') return undefined
  const commands = Object.create(null) as Record<string, CommandRule>
  for (const [program, rules] of cell.cells) {
    const here = [...path, program]
    if (findings.isBroken(here)) continue
    const problems = new Problems()
    const rule = parseCommandRule(plainValue(rules), '', problems)
    if (rule) commands[program] = { ...rule, origin: rules.written.originText }
    else report(findings, here, problems)
  }
  return commands
}
