/** What a recorded model says to one request. */
export interface RecordedStep {
  readonly text?: string
  readonly reasoning?: string
  /** Reasoning that only the provider can read; Anthropic's alone. */
  readonly redacted?: string
  /** `arguments` as text is sent as it is, also when it is no JSON. */
  readonly calls?: readonly { readonly tool: string; readonly arguments: unknown }[]
  /** Between two pieces of the text, in milliseconds. */
  readonly pace?: number
  /** Why it ends, where it is not by itself. */
  readonly stop?: 'length'
  /** What it says it took. */
  readonly tokens?: { readonly input: number; readonly output: number }
  readonly fault?: Fault
}

type Fault =
  /** An answer with this status instead; `retryAfter` in seconds, or a date. */
  | {
      readonly kind: 'status'
      readonly status: number
      readonly retryAfter?: number | string
      /** The message of its error; as `page`, the whole body. */
      readonly body?: string
      readonly page?: string
      readonly location?: string
    }
  /** The connection ends in the middle of the text. */
  | { readonly kind: 'cut' }
  /** A line that is no JSON, in the middle of the text. */
  | { readonly kind: 'malformed' }
  /** After the text nothing more comes, and it does not end. */
  | { readonly kind: 'hang' }

/** One step for each request, in their order; or what to say by what was asked. */
export type Script = readonly RecordedStep[] | ((request: unknown, index: number) => RecordedStep)

export function stepOf(script: Script, request: unknown, index: number): RecordedStep {
  if (typeof script === 'function') return script(request, index)
  return script[index] ?? { text: '(the recording ends here)' }
}

/** As a model would send it: a few letters at a time; what is meant to be too much comes in larger pieces. */
export const piecesOf = (text: string): string[] =>
  text.match(text.length > 100_000 ? /[^]{1,4096}/g : /\s*\S{1,8}|\s+$/g) ?? []

/** What a recorded answer says it took, unless its step says otherwise. */
export const USUAL = { input: 100, output: 20 }

export const argumentsText = (args: unknown): string =>
  typeof args === 'string' ? args : JSON.stringify(args)
