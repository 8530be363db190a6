import { type Cell, isTable, type RulesCell, type TableCell } from '../merge/cell.ts'
import { definition } from '../schema/definition.ts'
import { Problems } from '@cordon/policy'
import { RULE_PARSERS } from './rule-parsers.ts'

/** Rule lists in which nothing is wrong, and their rules. */
export type SoundRules = ReadonlyMap<Cell, readonly object[]>

/**
 * Most of a large config is rules, and the policy's own parser is stricter about a rule than the definition is. So
 * a list whose rules have only known keys and all parse need not be validated again, which halves the work; any
 * other list is left to the definition, which says what is wrong with it.
 */
export function readSoundRules(root: TableCell): SoundRules {
  const sound = new Map<Cell, readonly object[]>()
  visit(root, sound)
  return sound
}

function visit(table: TableCell, sound: Map<Cell, readonly object[]>): void {
  for (const [key, cell] of table.cells) {
    if (cell.kind !== 'table') continue
    if (key === 'access') visitAccess(cell, sound)
    else visit(cell, sound)
  }
}

function visitAccess(access: TableCell, sound: Map<Cell, readonly object[]>): void {
  for (const axis of AXES) {
    const cell = access.cells.get(axis)
    // Only what the definition calls a rule list is one: an `access` in a tool's own options is not.
    if (cell?.kind !== 'rules') continue
    const rules = readSoundList(cell, axis)
    if (rules) sound.set(cell, rules)
  }
}

const AXES = ['fs', 'net', 'env'] as const
const { fsRule: fs, netRule: net, envRule: env } = definition.definitions
const RULES = { fs, net, env }

function readSoundList(cell: RulesCell, axis: (typeof AXES)[number]): readonly object[] | undefined {
  const known = RULES[axis].properties!
  const parse = RULE_PARSERS[axis]
  const problems = new Problems()
  const rules: object[] = []
  for (const { value, written } of cell.elements) {
    if (!isTable(value)) return undefined
    for (const key of Object.keys(value)) if (!Object.hasOwn(known, key)) return undefined
    const rule: { origin?: string } | undefined = parse(value, '', problems)
    if (!rule) return undefined
    rule.origin = written.originText
    rules.push(rule)
  }
  return rules
}
