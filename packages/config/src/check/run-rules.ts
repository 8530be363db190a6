import { quote } from '@cordon/policy'
import { cellAt } from '../merge/cell.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { type Findings, tableOf } from './findings.ts'

const TESTS = ['prefix', 'equals', 'pattern']

/** What the shape of a run rule cannot say: exactly one test, a real pointer, a real expression. */
export function checkRunRules(findings: Findings, path: readonly string[]): void {
  const run = cellAt(findings.root, path)
  if (run?.kind !== 'rules') return
  for (const [i, { value }] of run.elements.entries()) {
    const at = [...path, i]
    if (findings.anyBroken && findings.isBroken(at)) continue
    const rule = tableOf(value)
    const key = (): string => formatKeyPath(at)
    const tests = TESTS.filter((test) => rule[test] !== undefined)
    if (tests.length !== 1)
      findings.add(
        at,
        `\`${key()}\` has ${tests.length === 0 ? 'no test' : tests.join(' and ')}`,
        'write exactly one of prefix, equals and pattern',
      )
    const { arg, pattern } = rule
    if (typeof arg === 'string' && !/^(?:\/(?:[^~]|~[01])*)?$/.test(arg))
      findings.add(
        [...at, 'arg'],
        `\`${key()}.arg\`: ${quote(arg)} is not a JSON pointer`,
        'write arg = "/path"',
      )
    if (typeof pattern === 'string' && !isExpression(pattern))
      findings.add([...at, 'pattern'], `\`${key()}.pattern\`: ${quote(pattern)} is not a regular expression`)
  }
}

function isExpression(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}
