import { CordonError, parseRelPath, quote } from '@cordon/policy'
import { type Path } from '../layers.ts'
import { cellAt } from '../merge/cell.ts'
import { type Table } from '../toml/document.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { type Findings, tableOf } from './findings.ts'
import type { ShippedArguments } from './shipped-arguments.ts'

const TESTS = ['prefix', 'equals', 'pattern']

/** What is known of the arguments that a rule is about. */
export type KnownArguments =
  | ({ readonly kind: 'shipped' } & ShippedArguments)
  /** A schema stands in the configuration. */
  | { readonly kind: 'declared'; readonly names: readonly string[] }
  | { readonly kind: 'unknown' }

/**
 * What the shape of a rule cannot say: one test, a real pointer, a real expression, and a rule that can match at all. Without
 * `known`, what depends on other layers is not looked at.
 */
export function checkRunRules(findings: Findings, path: readonly string[], known?: KnownArguments): void {
  const run = cellAt(findings.root, path)
  if (run?.kind !== 'rules') return
  for (const [i, { value }] of run.elements.entries()) {
    const at = [...path, i]
    if (findings.anyBroken && findings.isBroken(at)) continue
    const rule = tableOf(value)
    const key = formatKeyPath(at)
    const tests = TESTS.filter((test) => rule[test] !== undefined)
    if (typeof rule['path'] === 'string')
      checkPathRule(findings, at, rule['path'], [...tests, ...argOf(rule)], known)
    else if (rule['arg'] === undefined)
      findings.add(
        at,
        `\`${key}\` has neither path nor arg`,
        'write path = "src", or arg = "/branch" with a test',
      )
    else if (tests.length !== 1)
      findings.add(
        at,
        `\`${key}\` has ${tests.length === 0 ? 'no test' : tests.join(' and ')}`,
        'write exactly one of prefix, equals and pattern',
      )
    const { arg, pattern } = rule
    if (typeof arg === 'string') checkPointer(findings, [...at, 'arg'], arg, known)
    if (typeof pattern === 'string' && !isExpression(pattern))
      findings.add([...at, 'pattern'], `\`${key}.pattern\`: ${quote(pattern)} is not a regular expression`)
  }
}

const argOf = ({ arg }: Table): string[] => (arg === undefined ? [] : ['arg'])

function checkPathRule(
  findings: Findings,
  at: Path,
  path: string,
  beside: readonly string[],
  known: KnownArguments | undefined,
): void {
  const key = formatKeyPath(at)
  if (beside.length > 0)
    findings.add(
      at,
      `\`${key}\` has path and ${beside.join(' and ')}`,
      'write two rules, or take one of them out',
    )
  try {
    const canonical = parseRelPath(path)
    if (canonical !== path.replace(/(?<=.)\/$/, ''))
      findings.add(
        [...at, 'path'],
        `\`${key}.path\`: ${quote(path)} is ${quote(canonical)}`,
        `write path = ${quote(canonical)}`,
      )
  } catch (error) {
    if (!(error instanceof CordonError)) throw error
    findings.add(
      [...at, 'path'],
      `\`${key}.path\`: ${error.message}`,
      'write a path below the workspace: path = "src"',
    )
  }
  if (known && (known.kind !== 'shipped' || known.paths.length === 0))
    findings.add(
      [...at, 'path'],
      `\`${key}.path\`: which paths this tool touches is not known`,
      'write it for the fs_ tools that Cordon ships, each by its name; of others, arg = "/…" is the argument as it was written',
    )
}

function checkPointer(findings: Findings, at: Path, arg: string, known: KnownArguments | undefined): void {
  const key = formatKeyPath(at)
  if (!/^(?:\/(?:[^~]|~[01])*)?$/.test(arg))
    return findings.add(at, `\`${key}\`: ${quote(arg)} is not a JSON pointer`, 'write arg = "/branch"')
  if (!known || known.kind === 'unknown') return
  const name = arg.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')
  if (name === undefined || !known.names.includes(name)) {
    const names = known.names.map((each) => `/${each.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    return findings.add(
      at,
      `\`${key}\`: the tool has no argument ${quote(arg)}, so the rule would never match`,
      names.length === 0 ? 'the tool takes none' : `there are: ${names.join(', ')}`,
    )
  }
  if (known.kind === 'shipped' && known.paths.includes(name))
    findings.add(
      at,
      `\`${key}\`: ${quote(arg)} is one spelling of one path, and a call may have others`,
      'write path = "…" instead: it holds for every path of the call, however it is spelled',
    )
}

function isExpression(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp
  } catch {
    return false
  }
}
