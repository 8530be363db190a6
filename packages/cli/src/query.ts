import { readFileSync } from 'node:fs'
import {
  checkAnswerSchema,
  type JsonObject,
  listMounts,
  type MountFlag,
  openAmbientProjectIn,
  Query,
  type QueryConversation,
  type QueryOptions,
  type Sight,
  type TurnControl,
  type TurnEnd,
} from '@cordon/host'
import { CordonError, shellWord, show } from '@cordon/policy'
import { deciderAt } from './asking.ts'
import { editText } from './editor.ts'
import { wrapBelow } from './format/wrap.ts'
import { keepText, sweepTexts } from './kept-text.ts'
import { installation, trustTerms } from './project.ts'
import { displayFor, type QueryDisplay } from './query-display.ts'
import { EXIT, reportError, UsageError, warn } from './report.ts'
import type { OutputLoss, World } from './world.ts'

declare const CORDON_VERSION: string

export interface QueryFlags {
  readonly cfg: readonly string[]
  readonly new?: boolean
  readonly id?: string
  readonly last?: boolean
  readonly resume?: boolean
  readonly model?: string
  readonly attach: readonly string[]
  readonly sensitive?: boolean
  readonly mounts: readonly MountFlag[]
  readonly tool: readonly string[]
  readonly withheld: readonly string[]
  readonly schema?: string
  readonly edit?: boolean
  readonly quiet?: boolean
  readonly persist: boolean
  readonly json?: boolean
}

/** In which ways this start has gone: each needs code of its own (bin/cordon.cjs, decision 0148). */
export const ways = new Set<'answers' | 'calls'>()

/** `cordon query` (SPEC 6.5). */
export async function query(world: World, typed: string, flags: QueryFlags): Promise<void> {
  if (flags.resume) refuseWhatResumeDrops(typed, flags)
  refuseWhatDoesNothing(flags)
  world.requireExactWords(flags.attach)
  const schema = flags.schema === undefined ? undefined : await readSchema(flags.schema, world)
  await refuseMisreadName(world, typed, flags)
  const display = displayFor(world, flags)
  if (flags.edit) return await converseEdited(world, typed, { schema, flags }, display)
  const text = flags.resume ? '' : await textOf(world, typed)
  try {
    await converse(world, { text, schema, flags }, display)
  } catch (error) {
    if (error instanceof CordonError) display.failed(error)
    throw error
  }
}

interface Wanted {
  /** Undefined: they are asked line by line. */
  readonly text: string | undefined
  readonly schema: JsonObject | undefined
  readonly flags: QueryFlags
}

async function converse(world: World, { text, schema, flags }: Wanted, display: QueryDisplay): Promise<void> {
  const endings = new Endings(world)
  const conclude = await converseUntilEnd(world, { text, schema, flags }, display, endings)
  if (!endings.finish()) conclude()
}

/** When it resolves nothing runs any more, and what servers left has been told. It says how to end: a signal ends us at once. */
async function converseUntilEnd(
  world: World,
  { text, schema, flags }: Wanted,
  display: QueryDisplay,
  endings: Endings,
): Promise<() => void> {
  await using open = await Query.open(optionsFor(world, flags, display))
  if (!flags.resume && text === undefined) {
    await talk(world, open, { schema, flags }, display, endings)
    return () => undefined
  }
  const asked = { text: text ?? '', attach: flags.attach, schema }
  const end = await during(endings, open, display, () =>
    flags.resume ? open.resume(schema) : open.ask(asked),
  )
  ways.add(end.steps > 1 ? 'calls' : 'answers')
  display.end(end, open.model)
  const { isKept } = open
  return () => finish(world, end, { isKept })
}

/** `-e`: whatever goes wrong after somebody took the time to write, their words are not lost. */
async function converseEdited(
  world: World,
  typed: string,
  { schema, flags }: Omit<Wanted, 'text'>,
  display: QueryDisplay,
): Promise<void> {
  await Query.check(optionsFor(world, flags, display))
  sweepTexts(world)
  const piped = await pipedInto(world)
  const edited = await editText(world, 'query.md', typed)
  const text = edited.kind === 'unchanged' ? typed : edited.text
  try {
    if (edited.kind === 'failed') throw new UsageError(edited.why)
    if (text.trim() === '') throw new UsageError('nothing was written, so nothing is asked')
    await converse(world, { text: joined(text, piped), schema, flags }, display)
  } catch (error) {
    if (error instanceof CordonError) display.failed(error)
    world.finish(reportError(world, error))
    if (text.trim() === '') return
    const file = shellWord(keepText(joined(text, piped)))
    world.err.write(`  your text is kept: ${file}\n  fix: cordon q "$(cat ${file})"\n`)
  }
}

const joined = (...parts: string[]): string => parts.filter((part) => part.trim() !== '').join('\n\n')

/** A turn is resumed as it was begun: what is said beside would not be heard. */
function refuseWhatResumeDrops(typed: string, { attach, edit }: QueryFlags): void {
  const [what, instead] =
    attach.length > 0 ? ['attachments', 'cordon q --attach FILE "…"'] : ['text', 'cordon q "…"']
  if (typed === '' && !edit && attach.length === 0) return
  throw new UsageError(
    `--resume goes on with a turn as it was begun, and takes no ${what}\n  fix: ${instead}, which begins the next turn; or cordon q --resume alone`,
  )
}

/** A flag that changes nothing was meant to. */
function refuseWhatDoesNothing({ sensitive, attach, tool, withheld }: QueryFlags): void {
  if (sensitive && attach.length === 0)
    throw new UsageError(
      '--sensitive is about what is attached, and nothing is\n  fix: leave it out, or name it: --attach PATH',
    )
  const both = withheld.includes('') ? tool[0] : tool.find((name) => withheld.includes(name))
  if (both === undefined) return
  const without = withheld.includes('') ? '--no-tool' : `--no-tool=${both}`
  throw new UsageError(
    `--tool ${show(both)} and ${show(without)} contradict each other\n  fix: leave one of them out`,
  )
}

function optionsFor(world: World, flags: QueryFlags, display: QueryDisplay): QueryOptions {
  const { cwd, pid, uid, home, session } = world
  const person = world.person && {
    confirms: (question: string) => display.pausing(() => world.person!.confirms(question)),
  }
  return {
    place: { cwd, surroundings: world, cfg: flags.cfg, trust: trustTerms(world, 'files') },
    user: { pid, uid, home, session, person },
    installation: installation(world),
    version: CORDON_VERSION,
    conversation: conversationOf(flags),
    keeping: flags.persist ? 'log' : 'memory',
    model: flags.model,
    mounts: flags.mounts,
    tools: { only: flags.tool, without: flags.withheld.includes('') ? 'all' : flags.withheld },
    sensitive: flags.sensitive ? 'take' : 'leave out',
    audience: {
      person,
      tell: (text, what) => {
        if (what === 'warning' || !flags.quiet) display.aside(() => world.err.write(text))
      },
      see: (sight: Sight) => display.see(sight),
      warn: (warnings) => display.warn(() => warn(world, warnings)),
      notice: (texts) => display.aside(() => warn(world, texts)),
      decider: display.around(deciderAt(world)),
      respondent: world.respondent && {
        answer: (tool, question, keeping) =>
          display.pausing(() => world.respondent!.answer(tool, question, keeping)),
      },
      askPerson:
        world.respondent &&
        ((question, options) =>
          display.pausing(async () => {
            const asked = { id: 'ask_user', text: question, answer_type: 'text', options } as const
            const answer = await world.respondent!.answer(
              'the assistant',
              options.length > 0 ? { ...asked, answer_type: 'select' } : asked,
            )
            return answer === undefined || typeof answer === 'object' ? undefined : String(answer)
          })),
      waiting: (server, seconds) => display.waiting(`MCP server ${show(server)} starts`, seconds),
    },
  }
}

const conversationOf = ({ new: isNew, id, last, persist }: QueryFlags): QueryConversation =>
  isNew ? 'new' : id !== undefined ? { id } : last ? 'newest' : persist ? 'last used' : 'none'

/** `--no-mount NAME` with a space reads NAME as text, and so does `--no-tool`. Nobody asks a model a name: say so (SPEC 3.4). */
async function refuseMisreadName(world: World, typed: string, flags: QueryFlags): Promise<void> {
  const [first = ''] = typed.split(' ', 1)
  const isForMounts = flags.mounts.some((flag) => flag.kind === 'no-mount' && flag.name === undefined)
  const isForTools = flags.withheld.includes('')
  if (first === '' || (!isForMounts && !isForTools)) return
  const place = { cwd: world.cwd, surroundings: world, cfg: flags.cfg, trust: trustTerms(world, 'files') }
  const choice = conversationOf(flags)
  const known = choice === 'new' || choice === 'newest' ? 'last used' : choice
  const project = await openAmbientProjectIn(place, world, known)
  if (isForTools && Object.hasOwn(project.loaded.config.conversation.tools, first))
    throw misread(first, 'a tool', '--no-tool')
  if (isForMounts && (await listMounts(project, world)).some(({ name }) => name === first))
    throw misread(first, 'a mount', '--no-mount')
}

const misread = (name: string, what: string, flag: string): UsageError =>
  new UsageError(
    `${show(name)} is ${what}, and after \`${flag}\` it is read as text\n  fix: write ${flag}=${name}`,
  )

/** What was typed, and what is piped in. Undefined: they are asked line by line. */
async function textOf(world: World, typed: string): Promise<string | undefined> {
  const piped = await pipedInto(world)
  const text = joined(typed, piped)
  if (text !== '') return text
  if (world.askText && world.out.isTerminal) return undefined
  throw new UsageError('there is nothing to ask\n  fix: cordon q "what you want", or pipe it in')
}

/** A program that writes slowly, or a pipe that nobody closes: at a terminal it looks as if nothing happened. */
async function pipedInto(world: World): Promise<string> {
  if (world.inputIsTerminal) return ''
  const waiting = setTimeout(() => {
    if (world.err.isTerminal) world.err.write('note: reading standard input, until it ends\n')
  }, PATIENCE_MS)
  try {
    return await world.readInput()
  } finally {
    clearTimeout(waiting)
  }
}

const PATIENCE_MS = 1000

async function readSchema(given: string, world: World): Promise<JsonObject> {
  const schema = parseSchema(/^\s*[{[]/.test(given) ? given : readText(given, world))
  if (!schema)
    throw new UsageError(
      `--schema ${show(given)}: this is no JSON Schema\n  fix: --schema '{"type": "object", …}'`,
    )
  try {
    await checkAnswerSchema(schema)
    return schema
  } catch (error) {
    if (!(error instanceof CordonError)) throw error
    throw new UsageError(`--schema ${show(given)}: ${error.message}`)
  }
}

function parseSchema(text: string): JsonObject | undefined {
  try {
    const schema: unknown = JSON.parse(text)
    return typeof schema === 'object' && schema !== null && !Array.isArray(schema)
      ? (schema as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}

function readText(path: string, world: World): string {
  try {
    return readFileSync(path.startsWith('/') ? path : `${world.cwd}/${path}`, 'utf8')
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    throw new UsageError(
      `--schema ${show(path)}: ${UNREAD[code] ?? `it cannot be read (${code})`}\n  fix: name a file, or write the schema itself: --schema '{"type": "object", …}'`,
    )
  }
}

const UNREAD: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EISDIR: 'this is a directory',
  EACCES: 'it may not be read',
}

/** Why nothing more is wanted of us: a signal other than Ctrl-C, or nobody who reads. */
type Ending = NodeJS.Signals | OutputLoss

/** What ends a turn from outside, whenever it comes. */
class Endings {
  readonly #world: World
  #control: TurnControl | undefined
  #isOver = false
  /** The first reason. */
  reason: Ending | undefined

  constructor(world: World) {
    this.#world = world
    world.onOutputLost((loss) => this.#end(loss))
  }

  /** SPEC 6.5: Ctrl-C stops the tool, then the turn; a third one ends us. Any other signal stops the turn. */
  async during<T>(control: () => TurnControl, work: () => Promise<T>): Promise<T> {
    let stop = (): void => undefined
    const arm = (): void => {
      stop = this.#world.onInterrupt((signal) => {
        stop()
        if (signal === 'SIGINT') control().interrupt()
        else this.#end(signal)
        if (!control().turn.aborted) arm()
      })
    }
    arm()
    try {
      const running = work()
      this.#control = control()
      if (this.reason) this.#control.end()
      return await running
    } finally {
      this.#control = undefined
      stop()
    }
  }

  /** Ends us as whatever ended the turn; false when nothing did. */
  finish(): boolean {
    this.#isOver = true
    const { reason } = this
    if (reason === undefined) return false
    if (typeof reason === 'string') this.#world.dieBy(reason)
    // As any program that writes where nobody reads.
    else if (reason.kind === 'closed') this.#world.dieBy('SIGPIPE')
    else {
      this.#world.err.write(`cordon: ${reason.why}; the answer is in the conversation\n`)
      this.#world.finish(EXIT.denied)
    }
    return true
  }

  #end(reason: Ending): void {
    if (this.reason) return
    this.reason = reason
    this.#control?.end()
    if (this.#isOver) this.finish()
  }
}

async function during(
  endings: Endings,
  open: Query,
  display: QueryDisplay,
  work: () => Promise<TurnEnd>,
): Promise<TurnEnd> {
  display.begin(open)
  try {
    return await endings.during(() => open.control, work)
  } finally {
    display.aside(() => undefined) // an error begins a line of its own
  }
}

function finish(world: World, end: TurnEnd, open: Pick<Query, 'isKept'>): void {
  if (end.kind === 'interrupted') {
    sayInterrupted(world, open)
    return world.dieBy('SIGINT')
  }
  if (end.kind === 'too many steps')
    world.err.write(
      'warning: the turn was stopped after assistant.max_steps requests; `cordon q --resume` goes on\n',
    )
  if (end.kind === 'cut short')
    world.err.write('warning: the answer was cut short; `cordon q --resume` asks for the rest\n')
  if (end.kind === 'no answer') world.err.write('warning: the model had no answer\n')
  world.finish(end.kind === 'done' ? EXIT.ok : EXIT.denied)
}

/** What is not kept cannot be gone on with. */
function sayInterrupted({ err }: World, { isKept }: Pick<Query, 'isKept'>): void {
  if (isKept) err.write('note: interrupted, and what came is kept; to go on: cordon q --resume\n')
}

/** `cordon q` alone: turn after turn, until the person has no more to say. */
async function talk(
  world: World,
  open: Query,
  { schema, flags }: Omit<Wanted, 'text'>,
  display: QueryDisplay,
  endings: Endings,
): Promise<void> {
  let attach = flags.attach
  if (flags.mounts.length > 0) open.keepMade() // they were granted for the conversation, not for a question
  if (!flags.quiet)
    world.err.write(`${world.err.style('dim', wrapBelow(greeting(open), '  ', world.err.columns))}\n`)
  if (await open.isUnfinished())
    world.err.write('hint: the last turn was not finished; `cordon q --resume` goes on with it\n')
  for (;;) {
    const text = await display.pausing(() => world.askText!(`${world.err.style('bold', '›')} `))
    if (text === undefined) return
    if (text.trim() === '') continue
    try {
      const end = await during(endings, open, display, () => open.ask({ text, attach, schema }))
      display.end(end, open.model)
      if (endings.reason) return
      if (end.kind === 'interrupted') sayInterrupted(world, open)
      if (schema && end.kind !== 'done') world.finish(EXIT.denied)
      attach = []
    } catch (error) {
      if (!(error instanceof CordonError)) throw error
      display.failed(error)
      display.aside(() => reportError(world, error))
      if (schema) world.finish(EXIT.denied) // SPEC 6.5: JSON that fits, or no success
    }
  }
}

/** What whoever sits there cannot know: who answers, what is known to it already, and how to leave. */
function greeting({ model, conversation }: Query): string {
  const which = !conversation
    ? 'nothing is kept'
    : conversation.isNew
      ? 'a new conversation'
      : `goes on with ${conversation.id}`
  return `${show(model.id)} · ${which} · Enter sends, a paste of several lines is one text, Ctrl-D leaves`
}
