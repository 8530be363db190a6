import {
  type CommandRule,
  type FsRule,
  parseCommandRule,
  parseEnvRule,
  parseFsRule,
  parseNetRule,
  Problems,
} from '@cordon/policy'
import { type AccessConfig, type Named } from '../config.ts'
import { formatOrigin, type Path } from '../layers.ts'
import { findCell, isTable, originOf } from '../merge/cell.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { type Findings } from './findings.ts'

type RuleParser<T> = (value: unknown, at: string, problems: Problems) => T | undefined

/** The rules of one `access` table, each with the place it was written. `path` is that of the table. */
export function readAccess(findings: Findings, path: Path): AccessConfig {
  const commands = readCommands(findings, [...path, 'commands'])
  return {
    fs: readRules(findings, [...path, 'fs'], parseDeclaredFsRule),
    net: readRules(findings, [...path, 'net'], parseNetRule),
    env: readRules(findings, [...path, 'env'], parseEnvRule),
    ...(commands === undefined ? {} : { commands }),
  }
}

function readRules<T extends object>(findings: Findings, path: Path, parse: RuleParser<T>): T[] {
  const cell = findCell(findings.root, path)?.cell
  if (cell?.kind !== 'rules') return []
  const rules: T[] = []
  let problems = new Problems()
  for (const [i, { value, written }] of cell.elements.entries()) {
    if (findings.anyBroken && findings.isBroken([...path, i])) continue
    const rule = parse(value, '', problems)
    if (rule) rules.push({ ...rule, origin: formatOrigin(originOf(written)) })
    else {
      report(findings, [...path, i], problems)
      problems = new Problems()
    }
  }
  return rules
}

/** SPEC 3.1: on the wire an external rule without a target is a tombstone; here it still says what it asks for. */
const parseDeclaredFsRule: RuleParser<FsRule> = (value, at, problems) => {
  if (!isTable(value) || value['external'] !== true) return parseFsRule(value, at, problems)
  const rule = parseFsRule({ ...value, external: false }, at, problems)
  return rule && { ...rule, external: true }
}

/** A rule's problem names its field, `path` or `args[0]`, which leads to the field's own line. */
function report(findings: Findings, path: Path, problems: Problems): void {
  for (const { at, message } of problems.list) {
    const field = /^\w+/.exec(at)?.[0]
    const where = field === undefined ? path : [...path, field]
    findings.add(where, `\`${formatKeyPath(where)}\`: ${message}`, field && RULE_FIXES[field])
  }
}

const RULE_FIXES: Readonly<Record<string, string>> = {
  path: 'write a path below the workspace, such as path = "src"; to reach a place outside, link it into the workspace and write external = true',
  name: 'write a variable name such as name = "GITHUB_TOKEN", or a prefix such as name = "AWS_*"',
  args: 'write lists of words such as args = [["log", "**"]]',
}

function readCommands(findings: Findings, path: Path): Named<CommandRule> | undefined {
  const found = findCell(findings.root, path)
  if (!found || !isTable(found.value)) return undefined
  const commands = Object.create(null) as Record<string, CommandRule>
  for (const [program, value] of Object.entries(found.value)) {
    const here = [...path, program]
    if (findings.isBroken(here)) continue
    const problems = new Problems()
    const rule = parseCommandRule(value, '', problems)
    const written = findCell(findings.root, here)!.written
    if (rule) commands[program] = { ...rule, origin: formatOrigin(originOf(written)) }
    else report(findings, here, problems)
  }
  return commands
}
