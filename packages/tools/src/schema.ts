/** The part of JSON Schema that the shipped tools' parameters use. */
type Schema = StringSchema | NumberSchema | BooleanSchema | ArraySchema | ObjectSchema

interface Described {
  readonly description?: string
}
interface StringSchema extends Described {
  readonly type: 'string'
  readonly enum?: readonly string[]
  readonly maxLength?: number
}
interface NumberSchema extends Described {
  readonly type: 'integer'
  readonly minimum: number
  readonly maximum: number
}
interface BooleanSchema extends Described {
  readonly type: 'boolean'
}
interface ArraySchema extends Described {
  readonly type: 'array'
  readonly items: Schema
  readonly minItems?: number
  readonly maxItems: number
}
export interface ObjectSchema extends Described {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Schema>>
  readonly required: readonly string[]
  readonly additionalProperties: false
}

/** The type of the values that fit a schema. */
export type Infer<S> = S extends { type: 'string'; enum: readonly (infer E)[] }
  ? E
  : S extends { type: 'string' }
    ? string
    : S extends { type: 'integer' }
      ? number
      : S extends { type: 'boolean' }
        ? boolean
        : S extends { type: 'array'; items: infer I }
          ? readonly Infer<I>[]
          : S extends { type: 'object'; properties: infer P; required: readonly (infer R)[] }
            ? { readonly [K in keyof P & R]: Infer<P[K]> } & {
                readonly [K in Exclude<keyof P, R>]?: Infer<P[K]>
              }
            : never
