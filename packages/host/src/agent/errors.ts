import { CordonError, ParseError, parseWorkspaceUri, type Problem, shellWord, show } from '@cordon/policy'

/** Which model answers is not known, or it is known nowhere. */
export class ModelChoiceError extends CordonError {
  readonly code = 'MODEL'
}

/** There is no key, or the command that prints it failed. The key itself is in no message. */
export class ModelKeyError extends CordonError {
  readonly code = 'MODEL_KEY'
}

/** What kind of failure it is decides what a person can do about it, and whether trying again helps. */
export type ModelFailure =
  | 'key refused'
  | 'redirected'
  | 'unknown model'
  /** The server is there, and has no API at this path. */
  | 'wrong address'
  | 'no tools'
  | 'file refused'
  | 'too much context'
  | 'overloaded'
  /** An error of the provider's own, or of a proxy before it. */
  | 'out of order'
  | 'unreachable'
  /** On this machine, nothing listens. */
  | 'nobody there'
  | 'broken off'
  | 'malformed'
  | 'refused'

/** The model's provider did not answer, or not as it should. */
export class ModelError extends CordonError {
  readonly code = 'MODEL_FAILED'
  readonly failure: ModelFailure
  /** `files`: what was sent that is no text. */
  constructor(failure: ModelFailure, model: string, said: string, files: readonly string[] = []) {
    const advice =
      failure === 'file refused' && files.length > 0
        ? `another model may take it; or without it: ${files.map((uri) => `cordon attachment rm ${shellWord(nameOf(uri))}`).join(' && ')}`
        : ADVICE[failure]
    super(
      `${show(model)}: ${WORDS[failure]}${said === '' ? '' : `: ${show(said.slice(0, MOST_SAID))}`}${advice === undefined ? '' : `\n  fix: ${advice}`}`,
    )
    this.failure = failure
  }
}

const MOST_SAID = 600

/** As `cordon attachment rm` finds it. */
const nameOf = (uri: string): string => parseWorkspaceUri(uri) ?? uri.slice(uri.lastIndexOf('/') + 1)

const WORDS: Readonly<Record<ModelFailure, string>> = {
  'key refused': 'the key was refused',
  redirected: 'the provider sends us elsewhere, and neither the key nor the conversation goes there',
  'unknown model': 'the provider does not know this model',
  'wrong address': 'there is a server, and no such API at this address',
  'no tools': 'the model, or its server, takes no tools',
  'file refused': 'the model, or its server, does not take an attached file',
  'too much context': 'the conversation is longer than the model takes',
  overloaded: 'the provider is busy',
  'out of order': 'the provider, or a proxy before it, is out of order',
  unreachable: 'the provider cannot be reached',
  'nobody there': 'nothing listens at the address of the provider',
  'broken off': 'the connection ended in the middle of the answer',
  malformed: 'the answer was not understood',
  refused: 'the provider refused the request',
}

const ADVICE: Readonly<Record<ModelFailure, string | undefined>> = {
  'key refused': 'check the variable, or the command, that holds the key; `cordon models` says which',
  redirected: 'write the address it has now as base_url, if it is one you trust',
  'unknown model': '`cordon models` lists what there is; choose with --model provider/model',
  'wrong address': 'check base_url: most end in /v1; `cordon models` tries it',
  'no tools': 'ask without tools: --no-tool; or another model; or start the server so that it takes them',
  'file refused': 'ask a model that takes files',
  'too much context':
    'set context_tokens, in assistant or where it is set for the model, to what it takes; or begin anew with --new',
  overloaded: 'wait a moment, then `cordon q --resume`',
  'out of order': 'wait a moment, then `cordon q --resume`',
  'nobody there': 'start it, or check base_url; `cordon models` tries it',
  'broken off': '`cordon q --resume` asks again; what had arrived is kept',
  unreachable: 'check the network and base_url; `cordon models` tries it',
  malformed: '`cordon q --resume` asks again; what had arrived is kept',
  refused: undefined,
}

/** How much may be sent. */
export interface Room {
  readonly tokens: number
  /** The key of the configuration that it is from. */
  readonly setting: string
}

/** Even without everything that can be left out, one turn alone is more than may be sent. */
export class ContextFullError extends CordonError {
  readonly code = 'CONTEXT_FULL'
  /** `setting`: the key that says how many. */
  constructor(tokens: number, { tokens: most, setting }: Room) {
    super(
      `this turn alone is about ${tokens} tokens, and ${most} may be sent\n  fix: say or attach less, or raise ${setting}`,
    )
  }
}

/** A turn cannot begin, or not go on, as it was asked for. */
export class TurnError extends CordonError {
  readonly code = 'TURN'
}

/** SPEC 6.5, `--schema`: the answer is not what was asked for. */
export class AnswerSchemaError extends CordonError {
  readonly code = 'ANSWER_SCHEMA'
  constructor(problems: readonly Problem[]) {
    const { message } = new ParseError('the answer does not fit the schema', problems)
    super(message)
  }
}
