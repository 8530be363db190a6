import { CordonError } from '@cordon/policy'
import { readAccess } from '../check/access.ts'
import { Findings } from '../check/findings.ts'
import { checkRunRules } from '../check/run-rules.ts'
import { ConfigError, type ConfigProblem } from '../errors.ts'
import { type ConfigOrigin } from '../layers.ts'
import { checkShape, mergeLayers } from '../load.ts'
import { DEEPEST, isDeep, isTable } from '../merge/cell.ts'
import { schemaAt } from '../schema/lookup.ts'
import { LIST_MERGE } from '../schema/schema.ts'
import { Document, readDocument } from '../toml/document.ts'
import { formatKeyPath, parseKeyPath } from '../toml/key-path.ts'
import { formatValue, parseValue } from '../toml/value.ts'
import { appendToml, setToml } from './edit-toml.ts'

/** The edit would have changed something else too, so nothing was changed. */
class ConfigEditError extends CordonError {
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
 * replaces what this file says. Throws ConfigError when key or value are wrong, or the text is no TOML (decision 0034).
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
  const edited = isAppend ? appendToml(text, path, parsed.value) : setToml(text, path, parsed.value)
  if (edited === undefined) throw new ConfigEditError(key, `${key} = ${formatValue(parsed.value)}`)
  checkEdited(edited, path, origin)
  return edited
}

const refuse = (origin: ConfigOrigin, key: string, message: string, fix: string): ConfigError =>
  new ConfigError([{ origin, key, message, fix } satisfies ConfigProblem])

/**
 * Refuses an edit that puts something wrong at its key. What is wrong elsewhere in the file is not this edit's
 * business, and what depends on other layers is seen when all of them are loaded.
 */
function checkEdited(text: string, path: readonly string[], origin: ConfigOrigin): void {
  const { root, problems } = mergeLayers([{ layer: 'workspace', label: '', text }])
  const findings = new Findings(root, problems)
  checkShape(findings)
  const access = path.indexOf('access')
  if (access > 0) readAccess(findings, path.slice(0, access + 1))
  if (path[0] === 'conversation' && (path[3] === 'run' || path[3] === 'result'))
    checkRunRules(findings, path.slice(0, 4))
  const key = formatKeyPath(path)
  const here = problems.filter((problem) => isWithin(problem.key, key) || isWithin(key, problem.key))
  if (here.length > 0) throw new ConfigError(here.map((problem) => ({ ...problem, origin })))
}

const isWithin = (key: string, outer: string): boolean =>
  key === outer || key.startsWith(`${outer}.`) || key.startsWith(`${outer}[`)
