import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configSchema } from '../src/index.ts'

/** The keys of a schema, with `*` for names that people choose. What is no table is one key. */
function keysOf(schema: unknown, path: readonly string[] = []): string[] {
  const { properties = {}, additionalProperties } = schema as {
    readonly properties?: Readonly<Record<string, unknown>>
    readonly additionalProperties?: unknown
  }
  const chosen = typeof additionalProperties === 'object' ? { '*': additionalProperties } : {}
  const parts = Object.entries({ ...properties, ...chosen })
  if (parts.length === 0) return [path.join('.')]
  return parts.flatMap(([name, part]) => keysOf(part, [...path, name]))
}

/** The first column of the table: `….x` is of a tool, `.x` stands beside the key before it, `{a, b}` are several. */
function keysInTable(): string[] {
  const text = readFileSync(join(import.meta.dirname, '../../../docs/configuration.md'), 'utf8')
  const table = /\n## Keys\n([^]*?)\n## /.exec(text)![1]!
  let before = ''
  return [...table.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].flatMap(([, key]) => {
      const whole = key!
        .replace(/^…\./, 'conversation.tools.NAME.')
        .replace(/^\./, `${before.slice(0, before.lastIndexOf('.'))}.`)
        .replaceAll(/\b(?:NAME|SERVER|MODEL|ID)\b|"\*"/g, '*')
      before = whole
      const [, start, names] = /^(.*)\{(.*)\}$/.exec(whole) ?? []
      return names === undefined ? [whole] : names.split(', ').map((name) => `${start}${name}`)
    }),
  )
}

test('docs/configuration.md: the table has every key of the schema, and no other', () => {
  const keys = [...new Set(keysOf(configSchema()))]
  const table = keysInTable()
  const isIn = (key: string, place: string): boolean => key === place || key.startsWith(`${place}.`)
  expect(keys.filter((key) => !table.some((place) => isIn(key, place) && place !== WHOLE))).toEqual([])
  // Of a profile that Cordon knows, and of all tools, the table says more.
  expect(table.filter((place) => !place.includes('attach') && !keys.some((key) => isIn(key, place)))).toEqual(
    [],
  )
})

/** The row of all tools is none of their keys. */
const WHOLE = 'conversation.tools.*'
