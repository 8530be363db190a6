import { type AccessPolicy, type CommandRule } from '../rules.ts'
import { show } from '../text.ts'
import { FieldReader, isFields, Problems } from './fields.ts'
import { parseCommandRule, parseEnvRule, parseFsRule, parseNetRule } from './parse-rule.ts'

/** SPEC 1.9: omitted lists are empty, unknown fields are ignored, everything else is exact. */
export function parseAccessPolicy(value: unknown): AccessPolicy {
  const problems = new Problems()
  const policy = readAccessPolicy(value, '', problems)
  problems.throwIfAny('invalid access policy')
  return policy
}

export function readAccessPolicy(value: unknown, at: string, problems: Problems): AccessPolicy {
  if (!isFields(value)) {
    problems.wrongType(at, 'an object with fs, net, env and commands', value)
    return { fs: [], net: [], env: [] }
  }
  const fields = new FieldReader(value, at, problems)
  const commands = readCommands(fields, problems)
  return {
    fs: fields.list('fs', (item, where) => parseFsRule(item, where, problems)),
    net: fields.list('net', (item, where) => parseNetRule(item, where, problems)),
    env: fields.list('env', (item, where) => parseEnvRule(item, where, problems)),
    ...(commands === undefined ? {} : { commands }),
  }
}

function readCommands(fields: FieldReader, problems: Problems): Record<string, CommandRule> | undefined {
  const value = fields.raw('commands')
  if (value === undefined) return undefined
  if (!isFields(value)) return problems.wrongType(fields.at('commands'), 'an object of programs', value)
  const commands = new Map<string, CommandRule>()
  for (const [program, rule] of Object.entries(value)) {
    if (problems.isFull) break
    const parsed = parseCommandRule(rule, fields.at(`commands.${show(program.slice(0, 64))}`), problems)
    if (parsed) commands.set(program, parsed)
  }
  return Object.fromEntries(commands)
}
