import {
  type EnvRule,
  type FsRule,
  type NetRule,
  parseEnvRule,
  parseFsRule,
  parseNetRule,
  type Problems,
} from '@cordon/policy'
import { isTable } from '../merge/cell.ts'

type RuleParser<T> = (value: unknown, at: string, problems: Problems) => T | undefined

/** SPEC 3.1: on the wire an external rule without a target is a tombstone; here it still says what it asks for. */
const parseDeclaredFsRule: RuleParser<FsRule> = (value, at, problems) => {
  if (!isTable(value) || value['external'] !== true) return parseFsRule(value, at, problems)
  const rule = parseFsRule({ ...value, external: false }, at, problems)
  return rule && { ...rule, external: true }
}

export const RULE_PARSERS: {
  readonly fs: RuleParser<FsRule>
  readonly net: RuleParser<NetRule>
  readonly env: RuleParser<EnvRule>
} = { fs: parseDeclaredFsRule, net: parseNetRule, env: parseEnvRule }
