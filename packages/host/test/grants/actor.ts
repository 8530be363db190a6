import { existsSync, lstatSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect, isDeepStrictEqual } from 'node:util'
import { type AccessPolicy, CAPABILITIES, type Capability, Context, CordonError, ROOT } from '@cordon/policy'
import { setValue } from '@cordon/config'
import { runTool } from '@cordon/tools'
import { executeTool } from '../../src/execute/execute.ts'
import { resolveTool } from '../../src/execute/tool.ts'
import { boundaryFor } from '../../src/compile/boundary.ts'
import type { Policies } from '../../src/policies.ts'
import type { Project } from '../../src/project.ts'
import { changeSetting } from '../../src/settings.ts'
import type { Subject } from '../../src/compile/subject.ts'
import { editsFor } from '../../src/why/fix.ts'
import { parseQuestion } from '../../src/why/question.ts'
import { why, type Why } from '../../src/why/why.ts'
import type { Workers } from '../../src/worker/workers.ts'
import { configOf, type GrantsCase } from './cases.ts'
import type { GrantsPlace } from './place.ts'

const INSTALLATION = {
  node: process.execPath,
  tools: join(import.meta.dirname, '../../../cli/dist/tools.cjs'),
}

/** What a case came to: done, cannot be done at all, refused and no edit helps, refused until an edit, or no policy. */
export type Verdict = 'done' | 'impossible' | 'refused' | 'fixed' | 'not compiled'

interface Outcome {
  readonly ok: boolean
  readonly message: string
  readonly after: Readonly<Record<string, string>>
}

/** What of a case starts further processes, which takes most of the time. */
export interface Thoroughness {
  /** What is confined goes through a process of its own as well, not only through a worker that had calls before. */
  readonly isPlayedTwice: boolean
  /** What a suggested edit allows is done confined; otherwise by the tool alone, and `why` asks the plan. */
  readonly areRepairsConfined: boolean
}

const THOROUGH: Thoroughness = { isPlayedTwice: true, areRepairsConfined: true }

/** Runs one case in every way there is, and throws when two of them disagree. */
export async function play(
  place: GrantsPlace,
  each: GrantsCase,
  { isPlayedTwice, areRepairsConfined }: Thoroughness = THOROUGH,
): Promise<Verdict> {
  place.reset()
  await place.configure(configOf(each))
  const before = place.snapshot()
  const compiled = await compileOrNothing(place)
  if (!compiled) return 'not compiled'
  const answers = ask(place, compiled, each)
  const free = await alone(place, each, everything(compiled.policies, each.tool))
  const exact = await alone(place, each, policyOf(compiled.policies, each.tool))
  const held = await confined(place, each, compiled, place.workers)
  if (isPlayedTwice) {
    place.reset()
    same('a process of its own does the same', await confined(place, each, compiled), held)
  }
  if (!held.ok) same('after an error the tree is as before', held.after, before)
  if (!isPlain(place, each)) return held.ok ? 'done' : 'refused'
  if (answers.every(({ allowed }) => allowed)) {
    // What cannot be done at all cannot be done here either.
    if (free.ok) same('why says allowed, and the tool did it', [held.message, held.after], ['', free.after])
    return held.ok ? 'done' : 'impossible'
  }
  if (held.ok) throw new Error(`why says ${answers.map(said).join('; ')}, and the tool did it`)
  if (exact.ok && !answers.some(isHeldByKernel))
    throw new Error(`why says ${answers.map(said).join('; ')}, and the tool alone did it`)
  const redo = areRepairsConfined ? confined : unconfined
  return (await repair(place, each, free, redo)) ? 'fixed' : 'refused'
}

async function compileOrNothing(place: GrantsPlace): Promise<Compiled | undefined> {
  try {
    return await place.compile()
  } catch (error) {
    if (error instanceof CordonError) return undefined // a rule that leads out, or such
    throw error
  }
}

interface Compiled {
  readonly project: Project
  readonly policies: Policies
}

/** SPEC 1.8: what the tool has to be allowed, in its order. */
function ask(
  place: GrantsPlace,
  { project, policies }: Compiled,
  { tool, paths }: GrantsCase,
): readonly Why[] {
  const world = { cwd: place.root, home: place.home, env: ENV }
  return paths.flatMap((path, i) => {
    try {
      return [
        why(project, policies, tool, parseQuestion(neededFor(tool, i, join(place.root, path)), path), world),
      ]
    } catch (error) {
      if (error instanceof CordonError) return [] // no sensible question
      throw error
    }
  })
}

function neededFor(tool: string, index: number, path: string): Capability {
  switch (tool) {
    case 'fs_create_file':
      return existsSync(path) ? 'update' : 'create'
    case 'fs_modify_file':
      return 'update'
    case 'fs_delete_file':
      return 'delete'
    case 'fs_move_file':
      return index === 0 ? 'delete' : existsSync(path) ? 'update' : 'create'
    default:
      return 'read'
  }
}

/** Of a directory that moves, every rule below is asked, too; and a name that is moved to is never followed. */
function isPlain(place: GrantsPlace, { tool, paths }: GrantsCase): boolean {
  if (tool !== 'fs_move_file') return true
  const [from, to] = paths.map((path) => {
    try {
      return lstatSync(join(place.root, path), { throwIfNoEntry: false })
    } catch {
      return undefined
    }
  })
  return !from?.isDirectory() && !to?.isSymbolicLink()
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

/** In this process: nobody but the tool holds anything. */
async function alone(place: GrantsPlace, each: GrantsCase, access: AccessPolicy): Promise<Outcome> {
  const context = new Context({ root: place.root, action: 'run', access })
  const call = { context: context.toJSON(), tool: { name: each.tool, arguments: each.arguments } }
  const reply = await runTool(each.tool, JSON.stringify(call))
  const after = place.snapshot()
  place.reset()
  return { ok: reply.type === 'success', message: reply.type === 'error' ? reply.message : '', after }
}

const unconfined = (place: GrantsPlace, each: GrantsCase, { policies }: Compiled): Promise<Outcome> =>
  alone(place, each, policyOf(policies, each.tool))

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
  const after = place.snapshot()
  return { ok: reply.type === 'success', message: reply.type === 'error' ? reply.message : '', after }
}

/** SPEC 4.7: every suggested edit is applied as printed, until nothing is denied; then the same call does what it does without rules. */
async function repair(
  place: GrantsPlace,
  each: GrantsCase,
  free: Outcome,
  redo: typeof unconfined,
): Promise<boolean> {
  place.reset()
  for (const _ of each.paths) {
    const compiled = await place.compile()
    const denied = ask(place, compiled, each).find(({ allowed }) => !allowed)
    if (!denied) break
    if (!denied.fix) return false
    if (each.paths.length === 1)
      await tryLess(place, each, denied, subjectOf(compiled.policies, each.tool)[0])
    await changeSetting(place.options, denied.fix)
    const again = ask(place, await place.compile(), each).find(({ question }) =>
      isDeepStrictEqual(question, denied.question),
    )
    if (!again?.allowed)
      throw new Error(
        `the edit ${denied.fix.value} was suggested for ${said(denied)}, and then: ${again && said(again)}`,
      )
  }
  const compiled = await place.compile()
  if (ask(place, compiled, each).some(({ allowed }) => !allowed)) return false
  const held = await redo(place, each, compiled)
  if (free.ok)
    same(
      'after the suggested edits the tool did it',
      [held.ok, held.message, held.after],
      [true, '', free.after],
    )
  return true
}

/** No smaller one of the edits that could have been suggested makes the call succeed. */
async function tryLess(place: GrantsPlace, each: GrantsCase, denied: Why, subject: Subject): Promise<void> {
  const config = join(place.root, '.cordon/config.toml')
  const before = readFileSync(config, 'utf8')
  const all = editsFor(denied, subject).filter(({ layer }) => layer === 'workspace')
  for (const edit of all.slice(
    0,
    all.findIndex(({ value }) => value === denied.fix?.value),
  )) {
    writeFileSync(config, setValue(before, edit.key, edit.value))
    const compiled = await compileOrNothing(place)
    // What the tool alone refuses, the kernel does not allow either.
    const isEnough =
      compiled && (await unconfined(place, each, compiled)).ok && (await confined(place, each, compiled)).ok
    place.reset()
    writeFileSync(config, before)
    if (isEnough)
      throw new Error(`${edit.value} is enough for ${said(denied)}, and ${denied.fix?.value} was suggested`)
  }
}

/** The rules grant it: only the machine refuses. */
const isHeldByKernel = ({ allowed, rule, question }: Why): boolean =>
  !allowed && rule?.axis === 'fs' && rule.rule.grants.has(question.capability as Capability)

const said = ({ question, allowed, because }: Why): string =>
  `${question.capability} ${question.target}: ${allowed ? 'allowed' : 'denied'}, ${because}`

function same(claim: string, got: unknown, expected: unknown): void {
  if (isDeepStrictEqual(got, expected)) return
  throw new Error(
    `not so: ${claim}\n${inspect(got, { depth: 5 })}\ninstead of\n${inspect(expected, { depth: 5 })}`,
  )
}
