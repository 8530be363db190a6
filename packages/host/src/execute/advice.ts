import { formatKeyPath } from '@cordon/config'
import { below, DeniedError, editFor, setCommand, shellWord, show } from '@cordon/policy'
import { textsIn } from '@cordon/tools'
import { onlyReads } from '../compile/boundary.ts'
import { writesGuarded } from '../compile/guard.ts'
import { WRITING } from '../compile/names.ts'
import { isSecretRule, WHY_SECRET } from '../compile/own-secrets.ts'
import { asTyped } from '../confine/as-typed.ts'
import { refusalsOf } from '../mcp/diagnosis.ts'
import { opensSecret, placeRecipe, withoutForbidden } from '../mcp/grant.ts'
import { listMounts, type MountView } from '../mount/list.ts'
import { forOthers, mountOfOthers, type OthersMount, pinnedMount, sharing } from '../why/mounts.ts'
import { ownProgram } from '../why/own-program.ts'
import type { Question } from '../why/question.ts'
import { governing } from './execute.ts'
import { Asker, commandsOf, forPerson, type RefusedCall, type Refusal } from './refused-call.ts'
import { takenAs } from './shown-paths.ts'
import type { Told } from './told.ts'
import { answerTo, heldRefusal, nameFor, triedRefusal } from './tried.ts'
import { touchedBy } from './touched.ts'

export interface Advice {
  /** What is said in the place of the tool's own words, if anything is. */
  readonly refusal: string | undefined
  /** For anyone. */
  readonly notes: readonly string[]
  readonly hints: readonly Told[]
  /** For the person alone. */
  readonly forPerson: readonly Told[]
}

/** SPEC 4.7: what stood in the way of a call that failed, beside what its tool says, and what would change it. */
export async function adviceOn(call: RefusedCall): Promise<Advice> {
  const mounts = call.tool.shipped || call.denied ? await listMounts(call.project, call.compiler) : []
  const asker = new Asker(call, mounts)
  const pinned = pinnedRefusal(call, mounts)
  const others = pinned ? [] : mountsForOthers(call, mounts)
  const known = pinned ?? secretRefusal(call) ?? guardedRefusal(call)
  const tried = known ? undefined : await triedRefusal(call, asker)
  const guarded = known ?? tried
  const held = await heldRefusal(call, asker)
  // Where it was tried, or what `why` knows was said of something in it, that was said of the mount.
  const untold = tried
    ? []
    : others.filter(({ name }) => !held.some(({ about }) => below(name, about) !== undefined))
  return {
    refusal: guarded?.refusal,
    notes: others.map(forOthers),
    hints: await hintsOf(call, asker),
    forPerson: [
      ...(guarded?.forPerson === undefined ? [] : [guarded.forPerson]),
      ...(await startRefusal(call, asker)),
      ...held,
      ...(guarded ? [] : await claimedRefusal(call, asker)),
      ...(await refusalsIn(call, asker)),
      ...untold.map((mount) => shareOf(mount, call)),
    ],
  }
}

/** SPEC 4.10: a shipped tool knows a rule that grants nothing, and not that no other rule changes it. */
function secretRefusal({ tool, arguments: args, policy, denied, project }: RefusedCall): Refusal | undefined {
  if (!tool.shipped || !policy || !denied) return undefined
  const { capability, target } = denied
  const { rule } = governing(target, policy, project.root)
  if (!isSecretRule(rule)) return undefined
  const named = nameFor(target, args, project.root.path)
  return {
    refusal: new DeniedError({ capability, target, named, rule, grants: [], because: WHY_SECRET })
      .explanation,
  }
}

/**
 * SPEC 4.10, decision 0443: a shipped tool knows of the guard where a rule of the guard answers. Where another rule does, or
 * none, its own words name the rule that would open what is guarded.
 */
function guardedRefusal({
  tool,
  arguments: args,
  policy,
  denied,
  project,
}: RefusedCall): Refusal | undefined {
  if (!tool.shipped || !policy || !denied || !WRITING.has(denied.capability)) return undefined
  const { capability, target } = denied
  const { rule, grants } = governing(target, policy, project.root)
  if (rule?.guard === undefined && !writesGuarded({ axis: 'fs', capability, target }, project))
    return undefined
  const named = nameFor(target, args, project.root.path)
  return {
    refusal: new DeniedError({ capability, target, named, rule, grants, guarded: target }).explanation,
    forPerson: forPerson(
      target,
      `what would allow it: cordon why ${tool.name} ${capability} ${shellWord(target)}`,
      [],
    ),
  }
}

/** SPEC 1.3: the tool took the link of another one's mount for what is guarded (decision 0460). What is behind it is no entry. */
function pinnedRefusal(
  { tool, policy, denied, project }: RefusedCall,
  mounts: readonly MountView[],
): Refusal | undefined {
  if (!policy || !denied || takenAs(tool.name, { want: denied.capability }) !== 'entry') return undefined
  const { rule, grants } = governing(denied.target, policy, project.root)
  const because = pinnedMount(rule, denied.target, mounts)
  return because === undefined
    ? undefined
    : { refusal: new DeniedError({ ...denied, rule, grants, because }).explanation }
}

/** That a tool's own program is not there inside, because no rule lets it be executed. */
async function startRefusal({ tool, outcome, project }: RefusedCall, asker: Asker): Promise<Told[]> {
  const program = ownProgram({ kind: 'tool', name: tool.name }, project.loaded.config, project.root)
  if (program === undefined || outcome.end) return []
  const question = { axis: 'fs', capability: 'execute', target: program } as const
  const found = await asker.ask(question)
  return found.allowed
    ? []
    : [forPerson(program, `execute ${show(program)} is denied: ${found.because}`, commandsOf(found))]
}

/**
 * What the check of a tool that is not ours refused, as far as `cordon why` says the same, with its edit: the tool may know none.
 * Its words lead to no command that lifts the guard, or that opens a place where secrets live.
 */
async function claimedRefusal({ tool, denied, said = '' }: RefusedCall, asker: Asker): Promise<Told[]> {
  if (tool.shipped || !denied) return []
  const { capability, target } = denied
  const question = { axis: 'fs', capability, target } as const
  const found = await answerTo(question, asker)
  if (!found || found.allowed) return []
  const world = await asker.world()
  const isKept = writesGuarded(question, world.project) || opensSecret(question, world)
  const commands = isKept ? [] : commandsOf(found)
  if (commands.some((command) => said.includes(command))) return []
  return [forPerson(target, `${capability} ${show(target)} is denied: ${found.because}`, commands)]
}

/** What the proxy refused, with the edit that `cordon why` would name; also of a call that succeeded all the same. */
export function refusalsIn(call: RefusedCall, asker = new Asker(call)): Promise<Told[]> {
  const { tool, arguments: args, outcome } = call
  const words = [...tool.command, ...textsIn(args)]
  const refused = (outcome.end?.refused ?? []).map((decision) => asTyped(decision, words, ''))
  return Promise.all(
    refusalsOf(refused).map(async ({ about, text, question }) =>
      forPerson(about, text, question ? commandsOf(await asker.ask(question)) : []),
    ),
  )
}

/**
 * The guesses, with the edit that `cordon why` would name: what a hint names itself is a flag of `cordon run` (decision 0468). A
 * tool's own words lead to no command that lifts the guard, or that opens a place where secrets live.
 */
async function hintsOf({ tool, outcome, project }: RefusedCall, asker: Asker): Promise<Told[]> {
  const grantee = { kind: 'tool', name: tool.name } as const
  const reads = onlyReads(project.loaded.config, grantee)
  const guesses = outcome.guesses.filter(({ question }) => !(reads && isWriting(question)))
  if (guesses.length === 0) return []
  const world = await asker.world()
  const told = guesses.map(async (guess): Promise<Told> => {
    const { about, text, audience, question, place, rules = [] } = withoutForbidden(guess, grantee, world)
    if (question) {
      if (opensSecret(question, world)) return { about, text, audience, fix: [] }
      const { fix } = await asker.ask(question)
      const together = rules.map((rule) => setCommand(editFor(fsKeyOf(tool.name), rule, 'rules')))
      return { about, text, audience, fix: fix ? commandsOf({ fix }) : together }
    }
    const recipe = place && placeRecipe(place, grantee, world)
    const { commands = [], afterwards = [] } = recipe ?? {}
    return { about, text: [text, ...afterwards].join('; then '), audience, fix: commands }
  })
  return Promise.all(told)
}

/** SPEC 4.12: that is of no use to a tool that only reads. */
const isWriting = (question: Question | undefined): boolean =>
  question?.axis === 'fs' && WRITING.has(question.capability)

const fsKeyOf = (tool: string): string => formatKeyPath(['conversation', 'tools', tool, 'access', 'fs'])

/** Mounts that the call names, and that others have and this tool has not: to it they are links that lead out. */
function mountsForOthers(
  { tool, arguments: args }: RefusedCall,
  mounts: readonly MountView[],
): readonly OthersMount[] {
  if (!tool.shipped) return [] // what others call a path is theirs to know
  // Of a link that is to be deleted, moved or replaced itself, nobody gets what is asked for by having the mount.
  const entries = touchedBy(tool.name, args).filter((touched) => takenAs(tool.name, touched) === 'entry')
  const named = textsIn(args).flatMap((text) => {
    const mount = mountOfOthers(text, tool, mounts)
    return mount && !(mount.isLink && entries.some(({ path }) => path === text)) ? [mount] : []
  })
  return [...new Map(named.map((mount) => [mount.name, mount])).values()]
}

function shareOf(mount: OthersMount, { tool, project, compiler }: RefusedCall): Told {
  const world = { project, mounts: [], home: compiler.home }
  const { command, notes } = sharing(mount, { kind: 'tool', name: tool.name }, world, false)
  const text = [`the mount ${show(mount.name)} is not for this tool`, ...notes].join('; ')
  return forPerson(mount.name, text, command === undefined ? [] : [command])
}
