import { type Context, type FsDenial } from '@cordon/policy'
import { type Anchors } from './anchors.ts'
import { type AsShown } from './as-shown.ts'
import { type Infer, type ObjectSchema } from './schema.ts'

/** One piece of a result. A resource's `uri` is workspace-rooted: no path of this host leaves the tool. */
export type ContentBlock = TextBlock | ResourceBlock

interface TextBlock {
  readonly type: 'text'
  readonly text: string
}

interface ResourceBlock {
  readonly type: 'resource'
  readonly resource: Resource
}

type Resource =
  | { readonly uri: string; readonly mimeType: string; readonly text: string }
  | { readonly uri: string; readonly mimeType: string; readonly blob: string }

/** SPEC 6.5: what a tool prints. After `needs_input` the host runs it again with the answer. */
export type ToolResult =
  | {
      readonly type: 'success'
      readonly content: readonly ContentBlock[]
      readonly closed?: readonly string[]
    }
  | ToolFailure
  | { readonly type: 'needs_input'; readonly question: Question }

export interface ToolFailure {
  readonly type: 'error'
  readonly message: string
  readonly trace: readonly string[]
  readonly transient: boolean
  /** SPEC 1.4: what the tool's own check refused. The host, which knows the origins of rules, says where the rule stands. */
  readonly denied?: Pick<FsDenial, 'capability' | 'target'> & {
    /** The command that the message suggests: what the tool could not try, the host does (decision 0458). */
    readonly suggested?: string
  }
  /** Of `fs_modify_file`, also where it succeeds: the names of journal keys that the host can forget (decision 0446). */
  readonly closed?: readonly string[]
}

export interface Question {
  readonly id: string
  readonly text: string
  readonly answer_type: 'boolean' | 'select' | 'text'
  readonly options?: readonly string[]
  readonly default?: boolean | string
  /** The argument of the call that answers it, for a caller who can be asked only by another call. */
  readonly argument?: string
}

/** What a call has besides its arguments and its policy. */
export interface ToolIo {
  /** The only way to files. */
  readonly anchors: Anchors
  /** To questions that an earlier run asked, by the question's id. */
  readonly answers: Readonly<Record<string, unknown>>
  /** The words that each of them was asked in, where the host says so: an answer is one to those. */
  readonly asked: Readonly<Record<string, unknown>>
  /** What a person was shown of the call, if one was asked. */
  readonly shown: AsShown
  /** The tool's own settings, from the configuration. */
  readonly options: Readonly<Record<string, unknown>>
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly parameters: ObjectSchema
  /** What would be done, for a person who is asked. Does no I/O. */
  readonly describe: (args: unknown) => string
  readonly run: (args: unknown, context: Context, io: ToolIo) => Promise<ToolResult>
}

/** A tool as its file writes it: with arguments of the type that its schema describes. */
export interface ToolDefinition<S extends ObjectSchema> {
  readonly name: string
  readonly description: string
  readonly parameters: S
  readonly describe: (args: Infer<S>) => string
  readonly run: (args: Infer<S>, context: Context, io: ToolIo) => ToolResult | Promise<ToolResult>
}
