import { type CallToolResult, SdkError, SdkErrorCode } from '@modelcontextprotocol/client'
import { formatKeyPath, mergeSources, setValue } from '@cordon/config'
import { below, CordonError, isMinimalEnv, show } from '@cordon/policy'
import type { Surroundings } from '@cordon/workspace'
import { buildEnvironment, type ProxyDecision } from '@cordon/sandbox'
import type { Person } from '../approve/approve.ts'
import type { Hint, OutsidePlace } from '../confine/hint.ts'
import { noticed } from '../confine/noticed.ts'
import type { ProgramEnd } from '../confine/program.ts'
import { compileProject, type Compiler, type Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import { textOf, withText } from '../config-file.ts'
import { storeOf } from '../trust/gate.ts'
import { ownProgram } from '../why/own-program.ts'
import type { Question } from '../why/question.ts'
import { type Connection, milliseconds, type ServerWorld } from './connection.ts'
import { serverValues } from './clients/values.ts'
import { attributionOf, type Diagnosis, questionAbout, ServerError } from './diagnosis.ts'
import { editAllowing, GRANT_LAYER, type Grantee, type GrantWorld, withoutForbidden } from './grant.ts'
import { SchemaCache } from './schema-cache.ts'
import { askForOffer } from './offer.ts'
import { reachRecipe, type Recipe, unreachedPlaces } from './reach.ts'
import { asking, ServerStarter, worldFor } from './server.ts'
import { seenElsewhere } from './server-trust.ts'

/** One step of a server's life, and how it went. */
interface Step {
  readonly name: 'start and initialize' | 'tools/list' | 'call'
  readonly ok: boolean
  /** How it went, in our words; of what the server said, in its own. */
  readonly detail: string
  readonly whose: 'ours' | 'the server’s'
}

/** What would allow something that was refused, tried in memory before it is shown. */
export interface Suggestion {
  readonly key: string
  readonly value: string
  /** The same as the lines that a person would write. */
  readonly toml: string
  /** What it is about: a host, a variable, a path. */
  readonly about: string
  /** It is known that it was refused; otherwise it is a guess from what the server said. */
  readonly isExact: boolean
}

export interface Examination {
  readonly steps: readonly Step[]
  readonly works: boolean
  /** SPEC 5.4: how sure it is that the sandbox is the cause; undefined where nothing can be said of that. */
  readonly likely: string | undefined
  readonly refused: readonly ProxyDecision[]
  /** Hosts that were allowed, and not reached. */
  readonly missed: readonly ProxyDecision[]
  readonly hints: readonly Hint[]
  readonly said: readonly string[]
  /** What the person should look at, now that it has ended. */
  readonly noticed: readonly string[]
  readonly suggestions: readonly Suggestion[]
  /** Places outside the workspace that it is pointed to, or asked for, and the commands that grant them. */
  readonly unreached: Recipe & { readonly places: readonly OutsidePlace[] }
}

export interface DoctorCall {
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
}

export interface DoctorOptions {
  readonly project: Project
  readonly server: string
  readonly call?: DoctorCall | undefined
  readonly compiler: Compiler
  readonly surroundings: Surroundings
  readonly version: string
  readonly person: Person | undefined
}

type Seen = Omit<Examination, 'works' | 'suggestions' | 'unreached'>

/**
 * `cordon mcp doctor`: starts a server as the gateway would, looks what is refused, and finds the least that would allow it.
 * What is accepted holds for the next try, in memory; writing it down is the caller's business.
 */
export class Checkup {
  readonly #options: DoctorOptions
  #project: Project

  constructor(options: DoctorOptions) {
    this.#options = options
    this.#project = options.project
  }

  async examine(): Promise<Examination> {
    const policies = await compileProject(this.#project, this.#options.compiler)
    const tried = await this.#try(policies)
    const hints = tried.hints.map((hint) => withoutForbidden(hint, this.#grantee(), this.#grants(policies)))
    const seen = { ...tried, hints }
    const works = seen.steps.every(({ ok }) => ok)
    // A server that works and was refused something nevertheless may do without it; the person decides.
    const suggestions = this.#suggest(seen, policies)
    return { ...seen, works, suggestions, unreached: this.#unreached(seen, policies) }
  }

  /** As if it were written into the person's own file. */
  accept({ key, value }: Suggestion): void {
    const { sources } = this.#project
    const edited = withText(sources, GRANT_LAYER, setValue(textOf(sources, GRANT_LAYER), key, value))
    this.#project = { ...this.#project, sources: edited, loaded: mergeSources(edited) }
  }

  /** The same, with just these accepted. */
  with(suggestions: readonly Suggestion[]): Checkup {
    const other = new Checkup(this.#options)
    for (const each of suggestions) other.accept(each)
    return other
  }

  async #try(policies: Policies): Promise<Seen> {
    const record = new Notes(this.#options.call)
    const { server, call } = this.#options
    const config = this.#project.loaded.config.providers.mcp[server]!
    const policyOf = (kind: 'server' | 'tool', name: string) =>
      [...policies.bySubject].find(([subject]) => subject.kind === kind && subject.name === name)?.[1]
    const policy = policyOf('server', server)!
    const starter = this.#starter(policies, (end) => record.ended(end))
    let connection: Connection | undefined
    try {
      connection = await starter.start(policy)
      const version = connection.client.getServerVersion()
      record.did('start and initialize', show(`${version?.name ?? '?'} ${version?.version ?? ''}`.trim()))
      const { tools } = await asking(
        connection,
        (_, asked) => askForOffer(asked, config.startup_timeout_secs),
        { stage: 'list' },
      )
      record.did('tools/list', tools.length === 1 ? '1 tool' : `${tools.length} tools`)
      if (call && !config.stateful) {
        record.see(connection)
        await connection.close('now')
        connection = undefined // what the next one dies of is its own
        connection = await starter.start(policyOf('tool', this.#configuredName(call.tool)) ?? policy)
      }
      if (call) record.called(await callOnce(connection, call))
    } catch (error) {
      record.failed(error)
    }
    if (connection) {
      record.see(connection)
      await connection.close()
    }
    return record.result()
  }

  #starter(policies: Policies, onEnd: (end: ProgramEnd) => void): ServerStarter {
    const { server, compiler, surroundings, version, person } = this.#options
    const { root, workspace, loaded } = this.#project
    const plain: ServerWorld = {
      root,
      home: compiler.home,
      env: surroundings.env,
      sandbox: loaded.config.sandbox,
      unfinished: workspace.unfinished,
      version,
    }
    const policy = [...policies.bySubject].find(
      ([{ kind, name }]) => kind === 'server' && name === server,
    )![1]
    const config = loaded.config.providers.mcp[server]!
    const { world } = worldFor(server, config, plain, surroundings)
    return new ServerStarter({
      name: server,
      config,
      policy,
      world,
      desk: {
        store: storeOf(workspace, compiler, compiler),
        elsewhere: seenElsewhere(workspace, surroundings),
        person,
        declined: new Set(),
      },
      cache: new SchemaCache(workspace.local),
      prepare: () => undefined,
      onEnd,
    })
  }

  #configuredName(remote: string): string {
    const found = Object.entries(this.#project.loaded.config.conversation.tools).find(
      ([name, { source }]) =>
        source.kind === 'mcp' && source.server === this.#options.server && (source.tool ?? name) === remote,
    )
    return found?.[0] ?? remote
  }

  #suggest({ refused, hints }: Pick<Examination, 'refused' | 'hints'>, policies: Policies): Suggestion[] {
    const asked = refused.filter(({ wish }) => wish !== undefined).map(questionAbout)
    const exact = [...this.#ownStart(), ...asked].map((question) => ({
      question,
      isExact: true,
    }))
    const guessed = hints.flatMap(({ question }) => (question ? [{ question, isExact: false }] : []))
    const found = [...exact, ...guessed].flatMap(({ question, isExact }) => {
      const edit = editAllowing(question, this.#grantee(), this.#grants(policies))
      return edit
        ? [{ ...edit, toml: setValue('', edit.key, edit.value).trim(), about: question.target, isExact }]
        : []
    })
    return [...new Map(found.map((each) => [`${each.key} ${each.value}`, each])).values()]
  }

  /** A program in the workspace is started only where a rule grants it. */
  #ownStart(): readonly Question[] {
    const { root, loaded } = this.#project
    const target = ownProgram({ kind: 'server', name: this.#options.server }, loaded.config, root)
    return target === undefined ? [] : [{ axis: 'fs', capability: 'execute', target }]
  }

  #unreached({ hints }: Seen, policies: Policies): Examination['unreached'] {
    const { server, call, compiler, surroundings } = this.#options
    const { root, loaded } = this.#project
    const config = loaded.config.providers.mcp[server]!
    const subject = config.stateful || !call ? server : this.#configuredName(call.tool)
    const policy = [...policies.bySubject].find(([{ name }]) => name === subject)?.[1]
    if (!policy) return { places: [], ...NOTHING }
    const started = { name: server, line: [config.command, ...config.arguments], root: root.path }
    const { values } = serverValues(started, surroundings)
    const inside = buildEnvironment(policy, { ...surroundings.env, ...values })
    const named = Object.entries(inside).flatMap(([name, value]) => (isMinimalEnv(name) ? [] : [value]))
    const isThere = (path: string): boolean =>
      policy.fs.some(
        ({ approvedTarget, grants }) =>
          approvedTarget !== undefined && grants.size > 0 && below(approvedTarget, path) !== undefined,
      )
    const facts = { root: root.path, home: compiler.home, isThere }
    // What a server prints has passed `withoutForbidden`; an argument is a person's word.
    const asked = hints.flatMap(({ place }) => (place === undefined ? [] : [place]))
    const places = unreachedPlaces([...config.arguments, ...named], facts, asked)
    const key = config.stateful
      ? ['providers', 'mcp', server, 'access']
      : ['conversation', 'tools', subject, 'access']
    const access = config.stateful ? config.access : loaded.config.conversation.tools[subject]?.access
    const hasRules = (access?.fs.length ?? 0) > 0
    const place = { root: root.path, home: compiler.home, hasRules }
    return { places, ...(places.length === 0 ? NOTHING : reachRecipe(formatKeyPath(key), places, place)) }
  }

  /** Where the server's access is declared: with the server, or with the tool that was called (SPEC 5.2). */
  #grantee(): Grantee {
    const { server, call } = this.#options
    const { stateful } = this.#project.loaded.config.providers.mcp[server]!
    if (stateful || !call) return { kind: 'server', name: server }
    const source = `mcp.${server}.${call.tool}`
    return { kind: 'tool', name: this.#configuredName(call.tool), of: { server, source } }
  }

  #grants(policies: Policies): GrantWorld {
    const { compiler, surroundings } = this.#options
    return { project: this.#project, policies, place: { home: compiler.home, env: surroundings.env } }
  }
}

const CALL_SECS = 60

const callOnce = (connection: Connection, { tool, arguments: args }: DoctorCall): Promise<CallToolResult> =>
  asking(
    connection,
    (client) =>
      client
        .callTool({ name: tool, arguments: args }, { timeout: milliseconds(CALL_SECS) })
        .catch((error: unknown) => {
          if (!SdkError.isInstance(error) || error.code !== SdkErrorCode.RequestTimeout) throw error
          throw connection.complaint('call', `did not answer within ${CALL_SECS} s`)
        }),
    { stage: 'call', tool },
  )

const NOTHING: Recipe = { commands: [], afterwards: [] }

/** What was noted, step by step. */
class Notes {
  readonly #steps: Step[] = []
  readonly #call: DoctorCall | undefined
  #refused: readonly ProxyDecision[] = []
  #missed: readonly ProxyDecision[] = []
  #hints: readonly Hint[] = []
  #said: readonly string[] = []
  #likely: string | undefined
  readonly #noticed = new Set<string>()
  #complaint = ''

  constructor(call: DoctorCall | undefined) {
    this.#call = call
  }

  did(name: Step['name'], detail: string): void {
    this.#steps.push({ name, ok: true, detail, whose: 'ours' })
  }

  called({ content, isError }: CallToolResult): void {
    const text = content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n')
    this.#steps.push({ name: 'call', ok: isError !== true, detail: text, whose: 'the server’s' })
    if (isError === true) this.#complaint = text
  }

  failed(error: unknown): void {
    const names: readonly Step['name'][] = [
      'start and initialize',
      'tools/list',
      ...(this.#call ? ['call' as const] : []),
    ]
    const name = names[this.#steps.length] ?? 'call'
    const said = error instanceof Error ? error.message : String(error)
    const isOurs = error instanceof CordonError
    const detail = error instanceof ServerError ? error.diagnosis.what : said
    this.#steps.push({ name, ok: false, detail, whose: isOurs ? 'ours' : 'the server’s' })
    this.#complaint = detail
    if (error instanceof ServerError) this.#take(error.diagnosis)
  }

  see(connection: Connection): void {
    const { refused, unreached, hints } = connection.news()
    this.#refused = [...this.#refused, ...refused]
    this.#missed = [...this.#missed, ...unreached]
    this.#hints = [...this.#hints, ...hints(this.#complaint), ...hints(connection.said())]
  }

  ended(end: ProgramEnd): void {
    for (const text of noticed(end)) this.#noticed.add(text)
  }

  #take(diagnosis: Diagnosis): void {
    const { refused, unreached, hints, said } = diagnosis
    this.#likely = attributionOf(diagnosis)
    this.#refused = [...this.#refused, ...refused]
    this.#missed = [...this.#missed, ...unreached]
    this.#hints = [...this.#hints, ...hints]
    this.#said = said
  }

  result(): Seen {
    const hints = [...new Map(this.#hints.map((hint) => [hint.about, hint])).values()]
    return {
      steps: this.#steps,
      likely: this.#likely,
      refused: this.#refused,
      missed: this.#missed,
      hints,
      said: this.#said,
      noticed: [...this.#noticed],
    }
  }
}
