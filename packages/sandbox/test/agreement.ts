import { chmodSync, copyFileSync, lstatSync, mkdirSync, writeFileSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import {
  CAPABILITIES,
  type Capability,
  Context,
  DeniedError,
  FsIndex,
  type FsRule,
  parseAccessPolicy,
  parseRelPath,
} from '@cordon/policy'
import { type Plan, UnenforceableError } from '@cordon/sandbox'
import { LIMITS } from '../src/plan/limits.ts'
import { give, type Identity, makeWorld, planFor, type Request, start, type World } from './confine.ts'

/** The executor inside: one operation a line, one answer a line. */
const AGENT = `
import * as fs from 'node:fs'
import { spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
const act = {
  read: (p) => fs.readFileSync(p),
  list: (p) => fs.readdirSync(p),
  create: (p) => { const fd = fs.openSync(p, 'wx'); fs.writeSync(fd, 'x'); fs.closeSync(fd) },
  mkdir: (p) => fs.mkdirSync(p),
  symlink: (p) => fs.symlinkSync('nowhere', p),
  update: (p) => { const fd = fs.openSync(p, fs.constants.O_WRONLY); fs.writeSync(fd, 'y'); fs.closeSync(fd) },
  append: (p) => fs.appendFileSync(p, 'z', { flag: fs.constants.O_WRONLY | fs.constants.O_APPEND }),
  // Not truncateSync: it opens for reading as well.
  truncate: (p) => fs.closeSync(fs.openSync(p, fs.constants.O_WRONLY | fs.constants.O_TRUNC)),
  chmod: (p) => fs.chmodSync(p, 0o755),
  fchmod: (p) => { const fd = fs.openSync(p); try { fs.fchmodSync(fd, 0o755) } finally { fs.closeSync(fd) } },
  delete: (p) => fs.lstatSync(p).isDirectory() ? fs.rmdirSync(p) : fs.unlinkSync(p),
  rename: (p, q) => fs.renameSync(p, q),
  link: (p, q) => fs.linkSync(p, q),
  execute: (p) => { const { error } = spawnSync('./' + p, { stdio: 'ignore' }); if (error) throw error },
}
for await (const line of createInterface({ input: process.stdin })) {
  const [name, p, q] = JSON.parse(line)
  let answer = 'ok'
  try { act[name](p, q) } catch (error) { answer = error.code ?? String(error) }
  process.stdout.write(answer + '\\n')
}
`

type Name =
  | 'read'
  | 'list'
  | 'create'
  | 'mkdir'
  | 'symlink'
  | 'update'
  | 'append'
  | 'truncate'
  | 'chmod'
  | 'fchmod'
  | 'delete'
  | 'rename'
  | 'link'
  | 'execute'
type Operation = readonly [name: Name, path: string, other?: string]

const NAMES: readonly Name[] = [
  'read',
  'list',
  'create',
  'mkdir',
  'symlink',
  'update',
  'append',
  'truncate',
  'chmod',
  'fchmod',
  'delete',
  'rename',
  'link',
  'execute',
]
const DIRS = ['a', 'a/b', 'a/b/c', 'd', 'd/e']
const FILES = ['f', 'x', 'a/f', 'a/x', 'a/b/f', 'a/b/x', 'a/b/c/f', 'd/f', 'd/x', 'd/e/f']
const NEW = ['n', 'a/n', 'a/b/n', 'a/b/c/n', 'd/n', 'd/e/n', 'm', 'd/m']
const RULE_PATHS = ['a', 'a/b', 'a/b/c', 'a/f', 'd', 'd/e', 'd/f', 'f', 'n', 'd/n']

/** What a refusal looks like; every other error is about the state of the tree and says nothing. */
const REFUSALS = new Set(['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EXDEV'])

interface Disagreement {
  readonly rules: unknown
  readonly operation: Operation
  readonly kernel: string
  readonly policy: string
}

export interface Tally {
  /** Under which mode each ran: `warn` where `enforce` refuses. */
  readonly policies: Record<'enforce' | 'warn', number>
  operations: number
  granted: number
  refused: number
  readonly explained: Map<string, number>
  readonly unexplained: Disagreement[]
}

export const newTally = (): Tally => ({
  policies: { enforce: 0, warn: 0 },
  operations: 0,
  granted: 0,
  refused: 0,
  explained: new Map(),
  unexplained: [],
})

/** A small generator with a seed, so that a finding can be repeated. */
function randomFrom(seed: number): <Value>(from: readonly Value[]) => Value {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return (from) => from[Math.floor(next() * from.length)]!
}

export interface Comparison {
  readonly who: Identity
  readonly seed: number
  readonly count: number
  /** Without namespaces only Landlock and seccomp are left (SPEC 4.3). */
  readonly isolation: Plan['isolation']
}

/** One random policy, one confined process, `count` random operations: each compared with the cooperative answer. */
export async function compareOnePolicy(
  { who, seed, count, isolation }: Comparison,
  tally: Tally,
): Promise<void> {
  const pick = randomFrom(seed)
  const world = makeTree(who)
  const rules = randomRules(pick)
  const access = { fs: rules }
  const context = new Context({ root: world.root, action: 'run', access: parseAccessPolicy(access) })
  const argv = [process.execPath, '--input-type=module', '-e', AGENT] as const
  const asked = { who, world, access, argv, plan: LESS[isolation] }
  const mode = isRefused(asked) ? 'warn' : 'enforce'
  tally.policies[mode]++
  const confined = start({ ...asked, plan: { ...asked.plan, mode } })
  const lines = createInterface({ input: confined.stdout! })
  const answers = lines[Symbol.asyncIterator]()
  const moved: string[] = []
  for (let i = 0; i < count; i++) {
    const operation = randomOperation(pick, world)
    const expected = decide(context, world, operation)
    confined.stdin!.write(`${JSON.stringify(operation)}\n`)
    const answer = await answers.next()
    if (answer.done === true)
      throw new Error(
        `the executor ended: ${JSON.stringify([rules, await confined.exit, String(confined.stderr?.read())])}`,
      )
    judge({ operation, kernel: answer.value, expected, plan: confined.plan, mode, moved, rules }, tally)
    if (answer.value === 'ok' && operation[2] !== undefined) moved.push(operation[2])
  }
  confined.stdin!.end()
  closeLines(lines)
  await confined.exit
}

const LESS = { namespaces: {}, 'landlock-only': { simulate: { userns: false } } } as const

/** What `enforce` refuses is not run there at all; `warn` shows whether it was refused for what is true. */
function isRefused(asked: Request): boolean {
  try {
    planFor({ ...asked, plan: { ...asked.plan, mode: 'enforce' } })
    return false
  } catch (error) {
    if (error instanceof UnenforceableError) return true
    throw error
  }
}

const closeLines = (lines: Interface): void => lines.close()

function makeTree(who: Identity): World {
  const world = makeWorld(who)
  for (const dir of DIRS) mkdirSync(join(world.root, dir))
  for (const file of FILES) {
    const path = join(world.root, file)
    if (!file.endsWith('x')) writeFileSync(path, 'text')
    else {
      copyFileSync('/bin/true', path)
      chmodSync(path, 0o755)
    }
  }
  give(who, world.root)
  return world
}

/** The usual combinations more often than the odd ones. */
function randomRules(pick: ReturnType<typeof randomFrom>): readonly Record<string, unknown>[] {
  const usual = [
    [],
    ['read'],
    ['read', 'create', 'update', 'delete'],
    ['read', 'create', 'update', 'delete', 'execute'],
    ['read', 'execute'],
  ]
  const grants = (): readonly string[] =>
    pick([0, 0, 1]) === 0 ? pick(usual) : CAPABILITIES.filter(() => pick([true, false]))
  const rule = (path: string): Record<string, unknown> => ({
    path,
    ...Object.fromEntries(grants().map((each) => [each, true])),
  })
  const paths = RULE_PATHS.filter(() => pick([0, 0, 1]) === 1)
  const rules = [
    ...(pick([0, 1, 1, 1, 1, 1]) === 1 || paths.length === 0 ? [rule('.')] : []),
    ...paths.map(rule),
  ]
  return [...rules, ...guardsOf(rules, (path) => !paths.includes(path) && pick([0, 0, 1]) === 1, pick)]
}

/** SPEC 4.10, as the compiler adds them: what the rule around it grants, less writing. */
function guardsOf(
  rules: readonly Record<string, unknown>[],
  wanted: (path: string) => boolean,
  pick: ReturnType<typeof randomFrom>,
): readonly Record<string, unknown>[] {
  const index = new FsIndex(parseAccessPolicy({ fs: rules }).fs)
  return RULE_PATHS.filter(wanted).flatMap((path) => {
    const around = index.governing(parseRelPath(path))
    if (!around || !WRITING.some((each) => around.grants.has(each))) return []
    const kept = [...around.grants].filter((each) => !WRITING.includes(each))
    const guard = pick(['told', 'moved-aside'])
    return [{ path, guard, ...Object.fromEntries(kept.map((each) => [each, true])) }]
  })
}

const WRITING: readonly Capability[] = ['create', 'update', 'delete']

function randomOperation(pick: ReturnType<typeof randomFrom>, world: World): Operation {
  const name = pick(NAMES)
  const anywhere = [...DIRS, ...FILES, ...NEW]
  switch (name) {
    case 'list':
      return [name, pick(['.', ...DIRS])]
    case 'create':
    case 'mkdir':
    case 'symlink':
      return [name, pick(NEW)]
    case 'rename':
      return renameTo(pick(anywhere), pick(anywhere))
    case 'link': {
      // A directory may have been moved there, which nobody can link.
      const [from, to] = [pick(FILES), pick(NEW)]
      return isDirectory(join(world.root, from)) ? ['list', '.'] : [name, from, to]
    }
    case 'execute': {
      // Another file may have been moved there, and what has no x bit nobody can execute.
      const programs = FILES.filter((file) => file.endsWith('x') && isProgram(join(world.root, file)))
      return programs.length === 0 ? ['list', '.'] : [name, pick(programs)]
    }
    case 'delete':
      return [name, pick(anywhere)]
    case 'read':
    case 'update':
    case 'append':
    case 'truncate':
    case 'chmod':
    case 'fchmod':
      return [name, pick([...FILES, ...NEW])]
  }
}

/** Undefined: it was moved away, or a directory above it was replaced by a file. */
function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

const isDirectory = (path: string): boolean => lookAt(path)?.isDirectory() === true

function isProgram(path: string): boolean {
  const stats = lookAt(path)
  return stats !== undefined && stats.isFile() && (stats.mode & 0o111) !== 0
}

/** Renaming something to itself does nothing, and asks nobody. */
const renameTo = (from: string, to: string): Operation => ['rename', from, from === to ? `${to}-2` : to]

interface Refused {
  readonly capability: Capability
  readonly rule: FsRule | undefined
}

/** What the cooperative layer says: nothing, or the first check that it refuses. */
function decide(context: Context, world: World, [name, path, other]: Operation): Refused | undefined {
  const exists = (at: string): boolean =>
    lstatSync(join(world.root, at), { throwIfNoEntry: false }) !== undefined
  const checks: readonly (readonly [string, Capability])[] = (() => {
    switch (name) {
      case 'read':
      case 'list':
        return [[path, 'read']]
      case 'create':
      case 'mkdir':
      case 'symlink':
        return [[path, 'create']]
      case 'update':
      case 'append':
      case 'truncate':
      case 'chmod':
        return [[path, 'update']]
      case 'fchmod':
        return [
          [path, 'read'],
          [path, 'update'],
        ]
      case 'delete':
        return [[path, 'delete']]
      case 'rename':
        return [
          [path, 'delete'],
          [other!, exists(other!) ? 'update' : 'create'],
        ]
      case 'link':
        return [[other!, 'create']]
      case 'execute':
        return [[path, 'execute']]
    }
  })()
  for (const [at, capability] of checks)
    try {
      context.locate(at, capability)
    } catch (error) {
      return { capability, rule: error instanceof DeniedError ? error.denied.rule : undefined }
    }
  return undefined
}

interface Case {
  readonly operation: Operation
  readonly kernel: string
  readonly expected: Refused | undefined
  readonly plan: Plan
  readonly mode: 'enforce' | 'warn'
  /** Where something lies that came from another path. */
  readonly moved: readonly string[]
  readonly rules: unknown
}

function judge(each: Case, tally: Tally): void {
  const { operation, kernel, expected, plan, rules } = each
  tally.operations++
  const refused = REFUSALS.has(kernel)
  if (kernel === 'ok') tally.granted++
  else if (refused) tally.refused++
  const agree = kernel === 'ok' ? expected === undefined : !refused || expected !== undefined
  if (agree) return
  const why = kernel === 'ok' ? explainGrant(expected!, each) : explainRefusal(operation, plan)
  if (why === undefined)
    tally.unexplained.push({
      rules,
      operation,
      kernel,
      policy: expected ? `no ${expected.capability}` : 'yes',
    })
  else tally.explained.set(why, (tally.explained.get(why) ?? 0) + 1)
}

/** The kernel let it pass, the rule would not: the table must say that it is not held here, and `enforce` have refused it. */
function explainGrant(
  { capability, rule }: Refused,
  { plan, mode, moved, operation: [name, path] }: Case,
): string | undefined {
  const holder = plan.holders.find(
    (each) => each.axis === 'fs' && each.rule.path === rule?.path && each.capability === capability,
  )
  // Nobody wrote the guard's rules, so `enforce` runs without them, and says so.
  if (holder?.held.by === 'not enforceable here' && rule?.guard !== undefined)
    return plan.lost.some(({ guarantee }) => guarantee === 'guard') ? 'guard' : undefined
  if (holder?.held.by === 'not enforceable here') return mode === 'warn' ? 'not enforceable here' : undefined
  if (holder?.held.by === 'cooperative') return 'cooperative'
  const metadata = [LIMITS.metadata, ...(name === 'fchmod' ? [LIMITS.openMetadata] : [])].find(
    (limit) => (name === 'chmod' || name === 'fchmod') && holder?.limits.includes(limit),
  )
  if (metadata !== undefined) return metadata
  if (name === 'rename' && holder?.limits.includes(LIMITS.replaceable) === true) return LIMITS.replaceable
  const movable = plan.holders.some(
    (each) => each.capability === capability && each.limits.includes(LIMITS.movable),
  )
  if (movable && moved.some((at) => path === at || path.startsWith(`${at}/`))) return LIMITS.movable
  return undefined
}

/** The kernel refused what the rules grant: one of the rules involved must have a limit that says so. */
function explainRefusal([name, path, other]: Operation, plan: Plan): string | undefined {
  const paths = [path, ...(other === undefined ? [] : [other])]
  const involved = plan.holders.filter(
    (each) => each.axis === 'fs' && paths.some((at) => governs(plan, each.rule, at)),
  )
  const has = (limit: string): boolean => involved.some((each) => each.limits.includes(limit))
  if (name === 'chmod' && has(LIMITS.unnamed)) return LIMITS.unnamed
  if (name === 'create' && has(LIMITS.emptyFiles)) return LIMITS.emptyFiles
  if ((name === 'rename' || name === 'link') && has(LIMITS.crossing)) return LIMITS.crossing
  if (name === 'rename' && has(LIMITS.replacing)) return LIMITS.replacing
  if (plan.isolation === 'namespaces' && (name === 'delete' || name === 'rename') && has(LIMITS.mountPoint))
    return LIMITS.mountPoint
  const own = involved.filter((each) => each.axis === 'fs' && paths.includes(each.rule.path))
  if (own.some((each) => each.limits.includes(LIMITS.parentDecides))) return LIMITS.parentDecides
  if (name === 'execute' && has(LIMITS.blindExecution)) return LIMITS.blindExecution
  if (has(LIMITS.absent)) return LIMITS.absent
  return undefined
}

function governs(plan: Plan, rule: FsRule, path: string): boolean {
  const covering = plan.holders
    .filter((each) => each.axis === 'fs')
    .map((each) => each.rule)
    .filter((each) => each.path === '.' || path === each.path || path.startsWith(`${each.path}/`))
  const depth = (each: FsRule): number => (each.path === '.' ? 0 : each.path.split('/').length)
  return covering.length > 0 && rule === covering.reduce((a, b) => (depth(b) > depth(a) ? b : a))
}
