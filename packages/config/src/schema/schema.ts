/** A node of the definition: the part of JSON Schema (draft 7) that it is written in, and `check.ts` implements. */
export interface Schema {
  readonly $ref?: string
  readonly description?: string
  /** What to write, for messages and editors. */
  readonly examples?: readonly unknown[]
  readonly type?: 'string' | 'boolean' | 'number' | 'integer' | 'array' | 'object'
  readonly enum?: readonly string[]
  readonly anyOf?: readonly Schema[]
  readonly minLength?: 1
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: 1
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** What every key without a name of its own holds; false: there are no others. */
  readonly additionalProperties?: Schema | false
  readonly definitions?: Readonly<Record<string, Schema>>
  /** This is a rule list. Under a symbol, which is not printed: no editor needs to know. */
  readonly [LIST_MERGE]?: ListMerge
}

export const LIST_MERGE: unique symbol = Symbol('how a list joins those of earlier layers')

/** How the lists of later layers join those of earlier ones (SPEC 2). */
export interface ListMerge {
  readonly strategy: 'append' | 'replace'
  /** Which of two rules that are equal decides, so that `dedup` keeps that one. */
  readonly decides: 'first' | 'last'
  /** SPEC 4.9: some lists can only grow. */
  readonly reducible: boolean
}

type Properties = Readonly<Record<string, Schema>>

export const table = (properties: Properties, required: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
  additionalProperties: false,
})

/** A table whose keys are names of a person's choice. */
export const namesOf = (value: Schema): Schema => ({ type: 'object', additionalProperties: value })

export const listOf = (items: Schema): Schema => ({ type: 'array', items })

export const oneOf = (...choices: readonly string[]): Schema => ({ type: 'string', enum: choices })

export const doc = (schema: Schema, description: string, example?: unknown): Schema => ({
  ...schema,
  description,
  ...(example === undefined ? {} : { examples: [example] }),
})

export const flag = (description: string): Schema => doc({ type: 'boolean' }, description, true)

export const text = (description: string, example: string): Schema =>
  doc({ type: 'string', minLength: 1 }, description, example)

/** Text that may be empty, as far as its shape goes. */
export const anyText = (description: string, example: string): Schema =>
  doc({ type: 'string' }, description, example)

export const whole = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum })

export const count = (description: string, example: number): Schema =>
  doc(whole(1, 2 ** 40), description, example)

/** The long form of a rule list. */
export const longForm = (value: Schema): Schema =>
  table(
    {
      strategy: doc(
        oneOf('append', 'prepend', 'replace'),
        'How this layer joins the rules of earlier layers.',
        'append',
      ),
      dedup: doc({ type: 'boolean' }, 'Drop rules that are written twice.', true),
      value,
    },
    ['value'],
  )

/** A list in both forms, or else one of the `others`. */
export const ruleList = (rule: Schema, merge: ListMerge, ...others: readonly Schema[]): Schema => ({
  anyOf: [...others, listOf(rule), longForm(listOf(rule))],
  [LIST_MERGE]: merge,
})
