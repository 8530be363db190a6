import type * as z from 'zod/mini'
import { definition, docs, type ListMerge, listMerges } from './definition.ts'

/** The definition as the merge and the messages read it: which keys a table has, which lists are rule lists. */
export interface Shape {
  /** The keys that have names of their own. Absent: this is no table. */
  readonly keys: ReadonlyMap<string, Shape> | undefined
  /** What every other key holds, in a table of names. */
  readonly rest: Shape | undefined
  readonly list: ListMerge | undefined
  readonly example: unknown
}

let root: Shape | undefined

export const rootShape = (): Shape => (root ??= shapeOf(definition))

export const childShape = (shape: Shape | undefined, key: string): Shape | undefined =>
  shape?.keys?.get(key) ?? shape?.rest

export function shapeAt(path: readonly (string | number)[]): Shape | undefined {
  let shape: Shape | undefined = rootShape()
  for (const part of path) shape = typeof part === 'number' ? elementShape(shape) : childShape(shape, part)
  return shape
}

/** The elements of a rule list have the shape that `rest` holds. */
const elementShape = (shape: Shape | undefined): Shape | undefined => (shape?.list ? shape.rest : undefined)

const made = new WeakMap<z.core.$ZodType, Shape>()

function shapeOf(schema: z.core.$ZodType): Shape {
  const known = made.get(schema)
  if (known) return known
  const shape = inner(schema)
  const example = docs.get(schema)?.examples?.[0]
  if (example !== undefined) shape.example = example
  made.set(schema, shape)
  return shape
}

function inner(schema: z.core.$ZodType): Writable<Shape> {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const list = listMerges.get(schema)
  const shape: Writable<Shape> = { keys: undefined, rest: undefined, list, example: undefined }
  if (def.type === 'optional') return { ...shapeOf(def.innerType) }
  if (def.type === 'object') {
    shape.keys = new Map(Object.entries(def.shape).map(([key, value]) => [key, shapeOf(value)]))
    if (def.catchall && def.catchall._zod.def.type !== 'never') shape.rest = shapeOf(def.catchall)
  } else if (def.type === 'record') {
    shape.keys = new Map()
    shape.rest = shapeOf(def.valueType)
  } else if (def.type === 'union' && list) {
    const lists = (def.options as readonly z.core.$ZodTypes[]).map((option) => option._zod.def)
    const array = lists.find((option) => option.type === 'array')
    if (array) shape.rest = shapeOf(array.element)
  }
  return shape
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }
