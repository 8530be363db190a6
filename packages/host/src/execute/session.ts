import { commandWarnings } from '../confine/command-rules.ts'
import type { Action } from '@cordon/policy'
import type { StopSignal } from '@cordon/sandbox'
import type { ShownPath, ToolFailure } from '@cordon/tools'
import { type Compiler } from '../policies.ts'
import type { Project } from '../project.ts'
import { type Bounds, Workers } from '../worker/workers.ts'
import { executeTool, type ToolOutcome } from './execute.ts'
import { JournalKeys } from './journal-keys.ts'
import { Preparations } from './prepare.ts'
import type { AnswerMemory, Respondent } from './questions.ts'
import type { Installation } from './shipped.ts'
import { type LocalTool, resolveTool } from './tool.ts'

/** Who calls tools, where, and how they are started. */
export interface SessionOptions {
  /** The project as it is now. Asked before every call: what changed on the disk counts from the next call on. */
  readonly project: () => Promise<Project>
  readonly compiler: Compiler
  readonly env: Readonly<Record<string, string | undefined>>
  readonly installation: Installation
  readonly conversationId?: string
  /** For one call, `none`: every call has a process of its own. Default: the shipped tools stay (decision 0200). */
  readonly workers?: 'stay' | 'none' | Partial<Bounds>
  /** How many strings the answer of a tool that is not ours may have. Default: any number. */
  readonly mostStrings?: number | undefined
}

export interface SessionCall {
  /** Answers that hold for later calls, and who else can be asked. */
  readonly remembered?: AnswerMemory
  readonly respondent?: Respondent | undefined
  /** What a person was shown, if one was asked. */
  readonly shown?: readonly ShownPath[] | undefined
  /** SPEC 1.9. Default: `run`. */
  readonly action?: Action
  /** Aborting kills the tool and everything it started. */
  readonly signal?: StopSignal
  /** SPEC 4.9: where a search of ours does not look: patterns of `secretTest`. */
  readonly notSearched?: readonly string[]
  /** What a person should know, before anything is started. */
  readonly beforeStart?: (warnings: readonly string[]) => void
}

/**
 * Call after call of local tools, each under its policy as it is at that moment. What a call may do, and what is looked
 * for after it, does not depend on the calls before it.
 */
export class ToolSession implements AsyncDisposable {
  readonly #options: SessionOptions
  readonly #preparations = new Preparations()
  readonly #workers: Workers | undefined
  readonly #running = new Set<Promise<ToolOutcome>>()
  /** Of these tools it was said what nobody holds: once is enough. */
  readonly #warnedOf = new Set<string>()

  constructor(options: SessionOptions) {
    const { workers = 'stay' } = options
    this.#options = options
    this.#workers = workers === 'none' ? undefined : new Workers(workers === 'stay' ? {} : workers)
  }

  /** How a tool is configured now: to show it, or to ask for consent (`askConsent`). */
  async tool(name: string): Promise<LocalTool> {
    const { loaded } = await this.#options.project()
    return resolveTool(loaded.config, name, this.#options.installation)
  }

  /** SPEC 6.5. Throws as `Preparations` and `executeTool` do; whatever happens once the tool runs is an outcome. */
  call(name: string, args: unknown, how: SessionCall = {}): Promise<ToolOutcome> {
    const running = this.#call(name, args, how)
    const over = (): void => void this.#running.delete(running)
    this.#running.add(running)
    running.then(over, over)
    return running
  }

  async #call(name: string, args: unknown, how: SessionCall): Promise<ToolOutcome> {
    const { compiler, env, installation, conversationId, mostStrings } = this.#options
    const project = await this.#options.project()
    const prepared = await this.#preparations.prepare(project, {
      name,
      compiler,
      installation,
      conversationId,
    })
    const { tool, policy, boundary, guard, context, warnings } = prepared
    const unheld = tool.shipped || this.#warnedOf.has(name) ? [] : commandWarnings(policy)
    this.#warnedOf.add(name)
    how.beforeStart?.([...warnings, ...unheld])
    const { root, workspace, loaded } = project
    const { guesses, ...outcome } = await executeTool(
      {
        tool,
        arguments: args,
        policy,
        boundary,
        guard,
        context,
        answers: {
          configured: tool.config.questions,
          respondent: how.respondent,
          ...(how.remembered ? { remembered: how.remembered } : {}),
        },
        ...(how.notSearched ? { notSearched: how.notSearched } : {}),
        shown: how.shown,
        ...(how.action ? { action: how.action } : {}),
        ...(how.signal ? { signal: how.signal } : {}),
      },
      {
        root,
        home: compiler.home,
        env,
        sandbox: loaded.config.sandbox,
        unfinished: workspace.unfinished,
        workspaceId: workspace.id,
        ...(conversationId === undefined ? {} : { conversationId }),
        journalKeys: new JournalKeys(workspace),
        ...(mostStrings === undefined ? {} : { mostStrings }),
        ...(this.#workers ? { workers: this.#workers } : {}),
      },
    )
    const { reply, cancelled, end } = outcome
    const isWhole = reply.type === 'success' && !end?.refused.length
    if (isWhole || cancelled || how.action) return { ...outcome, hints: [], forPerson: [] }
    // What finds it is loaded for a call that was refused something, and only then.
    const { adviceOn, refusalsIn } = await import('./advice.ts')
    const call = { tool, arguments: args, policy, outcome: { end, guesses }, project, compiler, env }
    if (reply.type === 'success')
      return { ...outcome, reply, hints: [], forPerson: await refusalsIn({ ...call, denied: undefined }) }
    const { refusal, notes, hints, forPerson } = await adviceOn({
      ...call,
      denied: reply.denied,
      said: reply.message,
    })
    return {
      ...outcome,
      reply: { ...reply, ...withoutSuggestion(reply.denied), message: refusal ?? reply.message },
      notes: [...outcome.notes, ...notes],
      hints,
      forPerson,
    }
  }

  /** Resolves when nothing of it runs any more, and whoever called knows what came of it. Stopping a call is the caller's. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running)
    await this.#workers?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

/** It was between the tool and whoever tried it (decision 0458): in the message it stands where it helps. */
const withoutSuggestion = (denied: ToolFailure['denied']): Pick<ToolFailure, 'denied'> =>
  denied ? { denied: { capability: denied.capability, target: denied.target } } : {}
