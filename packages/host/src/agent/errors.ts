import { CordonError, ParseError, type Problem, show } from '@cordon/policy'

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
  | 'too much context'
  | 'overloaded'
  | 'unreachable'
  | 'malformed'
  | 'refused'

/** The model's provider did not answer, or not as it should. */
export class ModelError extends CordonError {
  readonly code = 'MODEL_FAILED'
  readonly failure: ModelFailure
  constructor(failure: ModelFailure, model: string, said: string) {
    const advice = ADVICE[failure]
    super(
      `${show(model)}: ${WORDS[failure]}${said === '' ? '' : `: ${show(said.slice(0, MOST_SAID))}`}${advice === undefined ? '' : `\n  fix: ${advice}`}`,
    )
    this.failure = failure
  }
}

const MOST_SAID = 600

const WORDS: Readonly<Record<ModelFailure, string>> = {
  'key refused': 'the key was refused',
  redirected: 'the provider sends us elsewhere, and neither the key nor the conversation goes there',
  'unknown model': 'the provider does not know this model',
  'too much context': 'the conversation is longer than the model takes',
  overloaded: 'the provider is busy',
  unreachable: 'the provider cannot be reached',
  malformed: 'the answer broke off, or was not understood',
  refused: 'the provider refused the request',
}

const ADVICE: Readonly<Record<ModelFailure, string | undefined>> = {
  'key refused': 'check the variable, or the command, that holds the key; `cordon models` says which',
  redirected: 'write the address it has now as base_url, if it is one you trust',
  'unknown model': '`cordon models` lists what there is; choose with --model provider/model',
  'too much context': 'set assistant.context_tokens to what the model takes, or begin anew with --new',
  overloaded: 'wait a moment, then `cordon q --resume`',
  unreachable: 'check the network and base_url; `cordon models` tries it',
  malformed: '`cordon q --resume` asks again; what had arrived is kept',
  refused: undefined,
}

/** Even without everything that can be left out, one turn alone is more than may be sent. */
export class ContextFullError extends CordonError {
  readonly code = 'CONTEXT_FULL'
  constructor(tokens: number, most: number) {
    super(
      `this turn alone is about ${tokens} tokens, and ${most} may be sent\n  fix: say or attach less, or raise assistant.context_tokens`,
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
