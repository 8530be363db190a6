import { evaluateCommand, type Invocation } from './commands/evaluate.ts'
import { EnvIndex } from './env/env-index.ts'
import { CommandDeniedError } from './commands/errors.ts'
import { EnvDeniedError } from './env/errors.ts'
import { DeniedError } from './fs/errors.ts'
import { NetDeniedError } from './net/errors.ts'
import { evaluateFs } from './fs/evaluate.ts'
import { FsIndex } from './fs/fs-index.ts'
import { locate, type Location, type Meant, meantBy, openAmbientRoot, type Root } from './fs/locate.ts'
import { parseRelPath } from './fs/rel-path.ts'
import { NetIndex } from './net/net-index.ts'
import { parseNetTarget } from './net/target.ts'
import { type AccessPolicy, type CanonicalPath, type Capability } from './rules.ts'
import { FieldReader, isFields, Problems } from './wire/fields.ts'
import { isEnvName } from './wire/parse-rule.ts'
import { readAccessPolicy } from './wire/parse-policy.ts'
import { describe } from './text.ts'
import { serializeAccessPolicy } from './wire/serialize.ts'

export type Action = 'run' | 'format_arguments'

/** What the host tells a tool (SPEC 1.9), as plain data. */
export interface ContextData {
  readonly root: string
  readonly action: Action
  /** Null: no policy at all. Paths are still confined to the workspace, nothing else is checked. */
  readonly access: AccessPolicy | null
  readonly workspaceId?: string
  readonly conversationId?: string
  /** Who asks, for the edits that errors suggest. Beside the context on the wire (`tool.name`), not in it. */
  readonly tool?: string | undefined
}

/**
 * The tool author's side of the policy. Each check takes the path exactly as the caller gave it, and
 * returns the absolute path to act on, or throws an error that says what to change.
 */
export class Context {
  readonly data: ContextData
  readonly #root: Root
  readonly #fs: FsIndex | undefined
  readonly #net: NetIndex | undefined
  readonly #env: EnvIndex | undefined

  constructor(data: ContextData) {
    const { access } = data
    this.data = data
    this.#root = openAmbientRoot(data.root)
    // SPEC 1.1: an axis without rules is undeclared, and undeclared is unrestricted.
    this.#fs = access && access.fs.length > 0 ? new FsIndex(access.fs, this.#root.foldCase) : undefined
    this.#net = access && access.net.length > 0 ? new NetIndex(access.net) : undefined
    this.#env = access && access.env.length > 0 ? new EnvIndex(access.env) : undefined
  }

  checkRead(path: string): CanonicalPath {
    return this.locate(path, 'read').absolute
  }

  checkCreate(path: string): CanonicalPath {
    return this.locate(path, 'create').absolute
  }

  checkUpdate(path: string): CanonicalPath {
    return this.locate(path, 'update').absolute
  }

  /** Of the entry, not of what a link points to (SPEC 1.3). The source of a move is checked the same way. */
  checkDelete(path: string): CanonicalPath {
    return this.locate(path, 'delete').absolute
  }

  checkExecute(path: string): CanonicalPath {
    return this.locate(path, 'execute').absolute
  }

  /** The check with everything that anchored I/O needs to act on exactly what was checked (SPEC 6.4). */
  locate(path: string, want: Capability, meant: Meant = meantBy(want)): Location {
    const location = this.#place(path, want, meant)
    if (!this.#fs) return location
    const decision = evaluateFs(this.#fs, location.relative, want)
    if (decision.kind === 'granted') return location
    throw new DeniedError({
      capability: want,
      target: location.relative,
      named: parseRelPath(path),
      rule: decision.kind === 'withheld' ? decision.rule : undefined,
      grants: this.#fs.granting,
      tool: this.data.tool,
      isLink: location.isLink,
    })
  }

  #place(path: string, want: Capability, meant: Meant): Location {
    try {
      return locate(this.#root, this.#fs, path, want, meant)
    } catch (error) {
      if (!(error instanceof DeniedError)) throw error
      throw new DeniedError({ ...error.denied, tool: this.data.tool })
    }
  }

  checkNet(url: string): void {
    const target = parseNetTarget(url)
    const decision = this.#net?.evaluate(target)
    if (!decision || decision.kind === 'allowed') return
    throw new NetDeniedError({
      url,
      target,
      rule: decision.kind === 'refused' ? decision.rule : undefined,
      grants: this.data.access?.net.filter((rule) => rule.allow) ?? [],
      tool: this.data.tool,
    })
  }

  checkEnv(name: string): void {
    const grants = this.data.access?.env.filter((rule) => rule.read) ?? []
    if (!isEnvName(name)) {
      const variable = typeof name === 'string' ? name : describe(name)
      throw new EnvDeniedError({ variable, rule: undefined, grants, never: 'it is not a variable name' })
    }
    const decision = this.#env?.evaluate(name)
    if (!decision || decision.kind === 'allowed') return
    const rule = decision.kind === 'refused' ? decision.rule : undefined
    throw new EnvDeniedError({ variable: name, rule, grants, tool: this.data.tool })
  }

  checkCommand(invocation: Invocation): void {
    const decision = evaluateCommand(this.data.access?.commands, invocation)
    if (decision.kind === 'allowed') return
    throw new CommandDeniedError(invocation, decision.reason)
  }

  toJSON(): Record<string, unknown> {
    const { root, action, access, workspaceId, conversationId } = this.data
    return {
      root,
      action,
      access: access && serializeAccessPolicy(access),
      ...(workspaceId === undefined ? {} : { workspace_id: workspaceId }),
      ...(conversationId === undefined ? {} : { conversation_id: conversationId }),
    }
  }
}

/** From the JSON on a tool's standard input. Reports everything that is wrong with it at once. */
export function parseContext(value: unknown, { tool }: Pick<ContextData, 'tool'> = {}): Context {
  const problems = new Problems()
  const data = readContext(value, problems)
  problems.throwIfAny('invalid context')
  return new Context(tool === undefined ? data : { ...data, tool })
}

function readContext(value: unknown, problems: Problems): ContextData {
  if (!isFields(value)) {
    problems.wrongType('', 'an object', value)
    return { root: '/', action: 'run', access: null }
  }
  const fields = new FieldReader(value, '', problems)
  const root = fields.requiredString('root') ?? '/'
  if (!root.startsWith('/') || root.includes('\0') || !root.isWellFormed())
    fields.wrong('root', 'must be an absolute path')
  const action = fields.requiredString('action') ?? 'run'
  if (!isAction(action)) fields.wrong('action', 'must be "run" or "format_arguments"')
  const access = fields.raw('access')
  const workspaceId = fields.string('workspace_id')
  const conversationId = fields.string('conversation_id')
  return {
    root,
    action: isAction(action) ? action : 'run',
    access: access === undefined ? null : readAccessPolicy(access, 'access', problems),
    ...(workspaceId === undefined ? {} : { workspaceId }),
    ...(conversationId === undefined ? {} : { conversationId }),
  }
}

const isAction = (text: string): text is Action => text === 'run' || text === 'format_arguments'
