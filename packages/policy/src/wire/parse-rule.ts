import { ANYTHING_MORE } from '../commands/evaluate.ts'
import { FsAccessError } from '../fs/errors.ts'
import { parseRelPath } from '../fs/rel-path.ts'
import { parseHost } from '../net/host.ts'
import { decodeOnce } from '../net/path.ts'
import {
  CAPABILITIES,
  type Capability,
  type CommandRule,
  type EnvRule,
  type FsRule,
  type NetRule,
} from '../rules.ts'
import { quote } from '../text.ts'
import { FieldReader, isFields, type Problems } from './fields.ts'

/** Each parser returns the rule, or adds what is wrong to `problems` and returns undefined. */
type RuleParser<T> = (value: unknown, at: string, problems: Problems) => T | undefined

/** SPEC 1.2. `write` disappears here: it is the default of three capabilities and nothing else. */
export const parseFsRule: RuleParser<FsRule> = (value, at, problems) => {
  if (!isFields(value)) return problems.wrongType(at, 'a rule', value)
  const before = problems.list.length
  const fields = new FieldReader(value, at, problems)
  const path = parseRulePath(fields)
  const external = fields.boolean('external') ?? false
  const approvedTarget = fields.string('approved_target')
  const guard = fields.string('guard')
  const grants = readGrants(fields)
  if (approvedTarget !== undefined && !external)
    fields.wrong('approved_target', 'is only for rules with external = true')
  if (approvedTarget !== undefined && !isCanonicalAbsolute(approvedTarget))
    fields.wrong('approved_target', 'must be an absolute, canonical path')
  if (external && approvedTarget === undefined) grants.clear() // SPEC 1.1: a tombstone grants nothing
  if (path === undefined || problems.list.length > before) return undefined
  return {
    path,
    grants,
    external,
    ...(approvedTarget === undefined ? {} : { approvedTarget }),
    ...(guard === undefined
      ? {}
      : { guard: guard === 'moved-aside' || guard === 'no-links' ? guard : 'told' }),
  }
}

/** Split rather than matched: a pattern's `.` stops at a newline, and a path may contain one. */
const isCanonicalAbsolute = (path: string): boolean =>
  path.startsWith('/') &&
  path.isWellFormed() &&
  !path.includes('\0') &&
  (path === '/' ||
    !path
      .slice(1)
      .split('/')
      .some((part) => part === '' || part === '.' || part === '..'))

function parseRulePath(fields: FieldReader): FsRule['path'] | undefined {
  const text = fields.requiredString('path')
  if (text === undefined) return undefined
  try {
    return parseRelPath(text)
  } catch (error) {
    if (error instanceof FsAccessError) return fields.wrong('path', error.message)
    throw error
  }
}

function readGrants(fields: FieldReader): Set<Capability> {
  const write = fields.boolean('write') ?? false
  const byDefault: Record<Capability, boolean> = {
    read: false,
    create: write,
    update: write,
    delete: write,
    execute: false,
  }
  return new Set(CAPABILITIES.filter((capability) => fields.boolean(capability) ?? byDefault[capability]))
}

/** SPEC 1.5. An unparsable host fails the load: a rule that can never match is a mistake. */
export const parseNetRule: RuleParser<NetRule> = (value, at, problems) => {
  if (!isFields(value)) return problems.wrongType(at, 'a rule', value)
  const before = problems.list.length
  const fields = new FieldReader(value, at, problems)
  const text = fields.requiredString('host')
  const host = text === undefined ? undefined : parseHost(text)
  if (text !== undefined && host === undefined)
    fields.wrong('host', `${quote(text)} is not a host name or address${hostAdvice(text)}`)
  const scheme = fields.string('scheme')?.toLowerCase()
  if (scheme !== undefined && !/^[a-z][a-z0-9+.-]*$/.test(scheme))
    fields.wrong('scheme', `${quote(scheme)} is not a scheme`)
  const port = fields.port('port')
  const pathPrefix = fields.string('path_prefix')
  if (pathPrefix !== undefined && !isPathPrefix(pathPrefix))
    fields.wrong(
      'path_prefix',
      `${quote(pathPrefix)} must start with / and have no query, fragment, .. or broken % escape`,
    )
  const allow = fields.boolean('allow') ?? false
  if (host === undefined || problems.list.length > before) return undefined
  return {
    host,
    allow,
    ...(scheme === undefined ? {} : { scheme }),
    ...(port === undefined ? {} : { port }),
    ...(pathPrefix === undefined ? {} : { pathPrefix }),
  }
}

function hostAdvice(text: string): string {
  if (text.includes('*')) return ': there are no wildcards, list each host'
  if (text.includes('://')) return ': write the scheme in `scheme`'
  if (text.includes('/')) return ': write the path in `path_prefix`'
  if (/:\d+$/.test(text)) return ': write the port in `port`'
  return ''
}

/** Decoded first: `%2e%2e` and `%2f..` climb as well as `..` does. */
export const isPathPrefix = (text: string): boolean =>
  /^\/[^?#\\\0]*$/.test(text) && text.isWellFormed() && decodeOnce(text)?.split('/').includes('..') === false

/** SPEC 1.6. */
export const parseEnvRule: RuleParser<EnvRule> = (value, at, problems) => {
  if (!isFields(value)) return problems.wrongType(at, 'a rule', value)
  const before = problems.list.length
  const fields = new FieldReader(value, at, problems)
  const name = fields.requiredString('name')
  const wrong = name === undefined ? undefined : wrongEnvPattern(name)
  if (wrong !== undefined) fields.wrong('name', wrong)
  const read = fields.boolean('read') ?? false
  return name === undefined || problems.list.length > before ? undefined : { name, read }
}

function wrongEnvPattern(name: string): string | undefined {
  if (name === '') return 'is empty'
  if (name.slice(0, -1).includes('*')) return `${quote(name)}: * is only allowed at the end`
  if (!isEnvName(name)) return `${quote(name)} is not a variable name`
  return undefined
}

/** What the kernel can carry as a name: no `=`, no NUL, and text that survives encoding. */
export const isEnvName = (name: unknown): name is string =>
  typeof name === 'string' &&
  name !== '' &&
  name.length <= 32_768 &&
  !/[=\0]/.test(name) &&
  name.isWellFormed()

/** SPEC 1.7. */
export const parseCommandRule: RuleParser<CommandRule> = (value, at, problems) => {
  if (!isFields(value)) return problems.wrongType(at, 'a rule', value)
  const before = problems.list.length
  const fields = new FieldReader(value, at, problems)
  const args = fields.list('args', (item, where) => parseAllowedArgs(item, where, problems))
  const envs = fields.list('envs', (item, where) => {
    const wrong = typeof item === 'string' ? wrongEnvPattern(item) : 'expected a variable name'
    return wrong === undefined ? (item as string) : problems.add(where, wrong)
  })
  if (problems.list.length > before) return undefined
  return {
    ...(fields.raw('args') === undefined ? {} : { args }),
    ...(fields.raw('envs') === undefined ? {} : { envs }),
  }
}

function parseAllowedArgs(value: unknown, at: string, problems: Problems): readonly string[] | undefined {
  if (!Array.isArray(value) || !value.every((word) => typeof word === 'string'))
    return problems.wrongType(at, 'a list of words such as ["log", "**"]', value)
  if (value.slice(0, -1).includes(ANYTHING_MORE)) return problems.add(at, '** is only allowed last')
  return value
}
