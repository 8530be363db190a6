import { existsSync, lstatSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inspect, isDeepStrictEqual } from 'node:util'
import {
  type AccessPolicy,
  below,
  CAPABILITIES,
  type Capability,
  Context,
  CordonError,
  formatRule,
  FsIndex,
  parseRelPath,
  ROOT,
  type RuleData,
} from '@cordon/policy'
import { setValue } from '@cordon/config'
import { runTool, type ToolFailure, type ToolResult } from '@cordon/tools'
import { adviceOn } from '../../src/execute/advice.ts'
import { executeTool } from '../../src/execute/execute.ts'
import type { ToolReply } from '../../src/execute/result.ts'
import { resolveTool } from '../../src/execute/tool.ts'
import { commandsOf } from '../../src/execute/refused-call.ts'
import { boundaryFor } from '../../src/compile/boundary.ts'
import type { MountView } from '../../src/mount/list.ts'
import type { Policies } from '../../src/policies.ts'
import type { Project } from '../../src/project.ts'
import { changeSetting } from '../../src/settings.ts'
import { type Edit, editsFor } from '../../src/why/fix.ts'
import { parseQuestion } from '../../src/why/question.ts'
import { why, type Why } from '../../src/why/why.ts'
import type { Workers } from '../../src/worker/workers.ts'
import { configOf, type GrantsCase } from './cases.ts'
import { APPROVED, type GrantsPlace } from './place.ts'

const INSTALLATION = {
  node: process.execPath,
  tools: join(import.meta.dirname, '../../../cli/dist/tools.cjs'),
}

/** What a case came to: done, cannot be done at all, refused and no edit helps, refused until an edit, or no policy. */
export type Verdict = 'done' | 'impossible' | 'refused' | 'fixed' | 'not compiled'

interface Done {
  readonly ok: boolean
  readonly message: string
}

interface Outcome extends Done {
  /** What the tool's own check refused, and suggests. */
  readonly denied?: ToolFailure['denied']
  readonly after: Readonly<Record<string, string>>
}

/** Runs one case in every way there is, and throws when two of them disagree. */
export async function play(
  place: GrantsPlace,
  each: GrantsCase,
  /** What is confined goes through a process of its own as well, not only through a worker that had calls before. */
  { isPlayedTwice = true } = {},
): Promise<Verdict> {
  place.reset()
  place.configure(configOf(each))
  const before = place.snapshot()
  const compiled = await compileOrNothing(place, each)
  if (!compiled) return 'not compiled'
  const answers = ask(place, compiled, each)
  const free = await alone(place, each, everything(compiled.policies, each.tool))
  const held = await confined(place, each, compiled, place.workers)
  if (isPlayedTwice) {
    place.reset()
    same('a process of its own does the same', await confined(place, each, compiled), held)
  }
  if (!held.ok) same('after an error the tree is as before', held.after, before)
  if (isBetweenRegions(each, held)) return 'refused'
  if (answers.every(({ allowed }) => allowed)) {
    // What cannot be done at all cannot be done here either.
    if (free.ok)
      same('why says allowed, and the tool did it', [held.message, held.after], ['', cleared(free.after)])
    return held.ok ? 'done' : 'impossible'
  }
  if (held.ok && isOnlyTimes(each, answers)) {
    same('where only times can be changed, nothing else is', held.after, before)
    return 'done'
  }
  if (held.ok) throw new Error(`why says ${answers.map(said).join('; ')}, and the tool did it`)
  if (isPlayedTwice) await compareSuggestions(place, each, compiled, { held, answers })
  place.reset()
  if (holdsAlone(each) && !answers.some(isHeldByKernel))
    if ((await alone(place, each, policyOf(compiled.policies, each.tool))).ok)
      throw new Error(`why says ${answers.map(said).join('; ')}, and the tool alone did it`)
  return (await repair(place, each, free, { compiled, answers })) ? 'fixed' : 'refused'
}

/** SPEC 1.8: what any program starts is for the kernel to hold. */
const holdsAlone = ({ tool }: GrantsCase): boolean => tool !== 'start'

async function compileOrNothing(place: GrantsPlace, { tool }: GrantsCase): Promise<Compiled | undefined> {
  try {
    return await place.compile(tool)
  } catch (error) {
    if (error instanceof CordonError) return undefined // a rule that leads out, or such
    throw error
  }
}

interface Compiled {
  readonly project: Project
  readonly policies: Policies
  readonly mounts: readonly MountView[]
}

/** SPEC 1.8: what the tool has to be allowed, in its order. */
function ask(place: GrantsPlace, { project, policies, mounts }: Compiled, each: GrantsCase): readonly Why[] {
  const world = { cwd: place.root, home: place.home, env: ENV, mounts }
  const told = each.paths.map((path, i) => [neededFor(each, i, join(place.root, path)), path] as const)
  return [...told, ...comingWith(place, each, policyOf(policies, each.tool))].flatMap(
    ([capability, path]) => {
      try {
        return [why(project, policies, each.tool, parseQuestion(capability, path), world)]
      } catch (error) {
        if (error instanceof CordonError) return [] // no sensible question
        throw error
      }
    },
  )
}

/** SPEC 1.3: with a directory comes what is in it, so that it needs create wherever a rule is, below its new name. */
function comingWith(
  { root }: GrantsPlace,
  { tool, paths: [from = '', to = ''] }: GrantsCase,
  { fs }: AccessPolicy,
): readonly (readonly [Capability, string])[] {
  if (tool !== 'fs_move_file' || !entryAt(join(root, from))?.isDirectory()) return []
  return fs.flatMap(({ path }) =>
    path !== to && below(to, path) !== undefined ? [['create', path] as const] : [],
  )
}

function neededFor({ tool, arguments: { util } }: GrantsCase, index: number, path: string): Capability {
  switch (tool) {
    case 'start':
      return 'execute'
    case 'unix_utils':
      return util === 'cat' ? 'read' : existsSync(path) ? 'update' : 'create'
    case 'fs_create_file':
      return existsSync(path) ? 'update' : 'create'
    case 'fs_modify_file':
      return 'update'
    case 'fs_delete_file':
      return 'delete'
    case 'fs_move_file':
      return index === 0 ? 'delete' : isEntry(path) ? 'update' : 'create'
    default:
      return 'read'
  }
}

/** Decision 0074: between two regions of the sandbox no directory moves. No question is about both of its names. */
const isBetweenRegions = ({ tool }: GrantsCase, { message }: Done): boolean =>
  tool === 'fs_move_file' && / is on another filesystem, and only files move between them/.test(message)

/** A name that is moved to is never followed. */
const isEntry = (path: string): boolean => entryAt(path) !== undefined

function entryAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const ENV = { PATH: '/usr/local/bin:/usr/bin:/bin' }

const subjectOf = ({ bySubject }: Policies, tool: string) => {
  const found = [...bySubject].find(([subject]) => subject.kind === 'tool' && subject.name === tool)
  if (!found) throw new Error(`no tool ${tool}`)
  return found
}

const policyOf = (policies: Policies, tool: string): AccessPolicy => subjectOf(policies, tool)[1]

/** The same mounts, and no rule that withholds anything. */
function everything(policies: Policies, tool: string): AccessPolicy {
  const policy = policyOf(policies, tool)
  const grants = new Set(CAPABILITIES)
  const mounts = policy.fs.filter((rule) => rule.approvedTarget !== undefined)
  const fs = [{ path: ROOT, grants, external: false }, ...mounts.map((rule) => ({ ...rule, grants }))]
  return { ...policy, fs }
}

/** In this process, or started by it: nobody but the tool holds anything. */
async function alone(place: GrantsPlace, each: GrantsCase, access: AccessPolicy): Promise<Outcome> {
  const done = each.tool === 'start' ? startAlone(place, each) : await callAlone(place, each, access)
  const after = place.snapshot()
  place.reset()
  return { ...done, after }
}

async function callAlone(place: GrantsPlace, each: GrantsCase, access: AccessPolicy): Promise<Done> {
  const context = new Context({ root: place.root, action: 'run', access })
  const call = { context: context.toJSON(), tool: { name: each.tool, arguments: each.arguments } }
  return read(await runTool(each.tool, JSON.stringify(call)))
}

/** Every file of the tree can be started, so that nobody has to. */
function startAlone({ root }: GrantsPlace, { paths: [path = ''] }: GrantsCase): Done {
  const file = join(root, path)
  const ok = existsSync(file) && statSync(file).isFile()
  return { ok, message: ok ? '' : 'it cannot be started' }
}

/** A utility that fails is no error of the tool: its exit code is a part of what it says. */
function read(reply: ToolReply | ToolResult): Done {
  if (reply.type !== 'success')
    return { ok: false, message: reply.type === 'error' ? reply.message : 'a question' }
  const texts = reply.content.map((block) => (block.type === 'text' ? block.text : ''))
  const failed = texts.find((text) => / ended with exit code /.test(text))
  return { ok: failed === undefined, message: failed ?? '' }
}

/** As the host runs it. */
async function confined(
  place: GrantsPlace,
  each: GrantsCase,
  { project, policies }: Compiled,
  workers?: Workers,
): Promise<Outcome> {
  const [subject, policy] = subjectOf(policies, each.tool)
  const { reply } = await executeTool(
    {
      tool: resolveTool(project.loaded.config, each.tool, INSTALLATION),
      arguments: each.arguments,
      policy,
      boundary: boundaryFor(project, subject, policy),
      answers: { configured: {}, respondent: undefined },
    },
    {
      root: project.root,
      home: place.home,
      env: { ...ENV, HOME: place.home },
      sandbox: project.loaded.config.sandbox,
      unfinished: project.workspace.unfinished,
      ...(workers ? { workers } : {}),
    },
  )
  const { denied } = reply.type === 'error' ? reply : {}
  return { ...read(reply), ...(denied ? { denied } : {}), after: place.snapshot() }
}

/** Decision 0458: what is told of a refused call, to anybody or to the person alone, is what `why` answers. */
async function compareSuggestions(
  place: GrantsPlace,
  each: GrantsCase,
  { project, policies }: Compiled,
  { held, answers }: { readonly held: Outcome; readonly answers: readonly Why[] },
): Promise<void> {
  const { denied } = held
  const tool = resolveTool(project.loaded.config, each.tool, INSTALLATION)
  const expected = answers.find(({ allowed }) => !allowed)
  if (!tool.shipped || denied?.suggested === undefined || !expected) return
  const { refusal, forPerson } = await adviceOn({
    tool,
    arguments: each.arguments,
    policy: policyOf(policies, each.tool),
    outcome: { end: undefined, guesses: [] },
    denied,
    project,
    compiler: place.compiler,
    env: ENV,
  })
  // What lifts the guard nobody is told here, but which question to ask (decision 0443).
  if (forPerson.some(({ text }) => text.startsWith('what would allow it: cordon why '))) return
  const told = refusal === undefined ? [denied.suggested] : forPerson.flatMap(({ fix }) => fix)
  same(`what is told is what why answers to ${said(expected)}`, told, commandsOf(expected))
}

/** SPEC 4.7: every suggested edit is applied as printed, until nothing is denied; then the same call does what it does without rules. */
async function repair(
  place: GrantsPlace,
  each: GrantsCase,
  free: Outcome,
  first: { readonly compiled: Compiled; readonly answers: readonly Why[] },
): Promise<boolean> {
  let { compiled, answers } = first
  for (const _ of answers) {
    const denied = answers.find(({ allowed }) => !allowed)
    if (!denied) break
    const edit = denied.fix ?? mountEdit(denied)
    if (!edit) return false
    if (each.paths.length === 1 && denied.fix) await tryLess(place, each, denied, compiled)
    await changeSetting(place.options, edit)
    compiled = await place.compile(each.tool)
    answers = ask(place, compiled, each)
    const again = answers.find(({ question }) => isDeepStrictEqual(question, denied.question))
    if (!again?.allowed)
      throw new Error(
        `the edit ${edit.value} was suggested for ${said(denied)}, and then: ${again && said(again)}`,
      )
  }
  if (answers.some(({ allowed }) => !allowed)) return false
  const held = await confined(place, each, compiled)
  if (free.ok && !isBetweenRegions(each, held))
    same(
      'after the suggested edits the tool did it',
      [held.ok, held.message, held.after],
      [true, '', cleared(free.after)],
    )
  return true
}

/** SPEC 3.3: what `mount add` writes for one tool, in the file. It also approves; a file alone does only for what was approved before. */
function mountEdit({ command = '' }: Why): Edit | undefined {
  const [, tool, path, mode] = /^cordon mount add (\w+):(\S+?)=.*?(:rw)?$/.exec(command) ?? []
  if (tool === undefined || path === undefined || !Object.hasOwn(APPROVED, path)) return undefined
  const rule = { path, external: true, read: true, ...(mode === undefined ? {} : { write: true }) }
  return { key: `conversation.tools.${tool}.access.fs`, value: `+${formatRule(rule)}`, layer: 'workspace' }
}

/** No smaller one of the edits that could have been suggested makes the call succeed, nor any that grants one step less. */
async function tryLess(
  place: GrantsPlace,
  each: GrantsCase,
  denied: Why,
  { project, policies }: Compiled,
): Promise<void> {
  const before = place.config
  const [subject, policy] = subjectOf(policies, each.tool)
  const all = editsFor(denied, subject).filter(({ layer }) => layer === 'workspace')
  const smaller = all.slice(
    0,
    all.findIndex(({ value }) => value === denied.fix?.value),
  )
  const lesser = oneStepLess(denied, policy, project).map((rule) => `+${formatRule(rule)}`)
  const values = new Set([...smaller.map(({ value }) => value), ...lesser])
  for (const value of values) {
    place.configure(setValue(before, denied.fix!.key, value))
    const compiled = await compileOrNothing(place, each)
    // What the tool alone refuses, the kernel does not allow either.
    const isEnough =
      compiled &&
      (await alone(place, each, policyOf(compiled.policies, each.tool))).ok &&
      (await confined(place, each, compiled)).ok
    place.reset()
    if (isEnough)
      throw new Error(`${value} is enough for ${said(denied)}, and ${denied.fix?.value} was suggested`)
  }
  if (values.size > 0) place.configure(before)
}

/**
 * Whoever would suggest them: the rule of the edit without one of the rights that it adds, and rules for what lies below its path,
 * on the way to the target, with what is granted there and the one right that was asked for.
 */
function oneStepLess(
  { fix, canonical, question }: Why,
  { fs }: AccessPolicy,
  { root }: Project,
): readonly RuleData[] {
  const [, path] = /path = "([^"]*)"/.exec(fix?.value ?? '') ?? []
  if (path === undefined || canonical === undefined || question.axis !== 'fs') return []
  const index = new FsIndex(fs, root.foldCase)
  const there = (at: string): readonly Capability[] => [...(index.governing(parseRelPath(at))?.grants ?? [])]
  const isExternal = fix?.value.includes('external = true') ?? false
  const granted = CAPABILITIES.filter((name) => fix?.value.includes(` ${name} = true`))
  const isOnTheWay = below(path, canonical) !== undefined
  const added = granted.filter((name) => !there(isOnTheWay ? path : canonical).includes(name))
  const fewer = added
    .filter((name) => name !== question.capability)
    .map((without) => granted.filter((name) => name !== without))
  const narrower = isExternal || !isOnTheWay ? [] : upTo(canonical, path)
  return [
    ...fewer.map((grants) => ruleOf(path, grants, isExternal)),
    ...narrower.map((at) => ruleOf(at, [...new Set([...there(at), question.capability])], false)),
  ]
}

/** The path and the directories above it that lie below the other one. */
const upTo = (path: string, top: string): readonly string[] =>
  path === top ? [] : [path, ...upTo(dirname(path), top)]

const ruleOf = (path: string, grants: readonly Capability[], external: boolean): RuleData => ({
  path,
  ...(external ? { external } : {}),
  ...Object.fromEntries(grants.map((name) => [name, true])),
})

/** LIMITS.metadata: what the kernel alone withholds, `touch` of a file that is there does not need. */
const isOnlyTimes = ({ tool, arguments: { util } }: GrantsCase, answers: readonly Why[]): boolean =>
  tool === 'unix_utils' &&
  util === 'touch' &&
  answers.every((answer) => answer.question.capability === 'update' && isHeldByKernel(answer))

/** The rules grant it: only the machine refuses. */
const isHeldByKernel = ({ allowed, rule, question }: Why): boolean =>
  !allowed && rule?.axis === 'fs' && rule.rule.grants.has(question.capability as Capability)

const said = ({ question, allowed, because }: Why): string =>
  `${question.capability} ${question.target}: ${allowed ? 'allowed' : 'denied'}, ${because}`

/** Decision 0545: a link that a call moved into a git directory does not stay there. */
const cleared = (tree: Outcome['after']): Outcome['after'] =>
  Object.fromEntries(
    Object.entries(tree).filter(([path, is]) => !(/\/\.git\/(?!hooks\/)/.test(path) && is.startsWith('120'))),
  )

function same(claim: string, got: unknown, expected: unknown): void {
  if (isDeepStrictEqual(got, expected)) return
  throw new Error(
    `not so: ${claim}\n${inspect(got, { depth: 5 })}\ninstead of\n${inspect(expected, { depth: 5 })}`,
  )
}
