import { expect, test } from 'vitest'
import { configSchema, formatValue, mergeSources } from '../src/index.ts'

type Node = { [key: string]: unknown; properties?: Record<string, Node>; additionalProperties?: Node | false }

const SCHEMA = configSchema() as Node & { definitions: Record<string, Node> }

const resolve = (node: Node): Node =>
  typeof node['$ref'] === 'string' ? SCHEMA.definitions[node['$ref'].replace('#/definitions/', '')]! : node

/** Every key of the schema with its first example; names of a person's choice are written `x`. */
function examples(at: Node, path: readonly string[] = []): { key: string; value: unknown }[] {
  const node = resolve(at)
  const own = Array.isArray(node['examples'])
    ? [{ key: path.join('.'), value: node['examples'][0] as unknown }]
    : []
  const inner = Object.entries(node.properties ?? {}).flatMap(([key, child]) =>
    examples(child, [...path, key === '*' ? '"*"' : key]),
  )
  const named = node.additionalProperties ? examples(node.additionalProperties, [...path, 'x']) : []
  return [...own, ...inner, ...named]
}

test('SPEC 2: what the schema gives as an example, the validation accepts', () => {
  const all = examples(SCHEMA)
  expect(all.length).toBeGreaterThan(30)
  const complete = [
    {
      layer: 'built-in',
      label: 'tool',
      text: '[conversation.tools.x]\nsource = "local"\nquestions.x.answer = true\n',
    },
    { layer: 'built-in', label: 'server', text: '[providers.mcp.x]\ncommand = "npx"\n' },
    { layer: 'built-in', label: 'model', text: '[providers.llm.x]\nkind = "anthropic"\n' },
  ] as const
  for (const { key, value } of all) {
    const text = `${key} = ${formatValue(value)}`
    expect(() => mergeSources([...complete, { layer: 'user', label: 'u', text }]), text).not.toThrow()
  }
})

test('SPEC 2: the schema describes every key, and closes every table', () => {
  const open: string[] = []
  const visit = (node: Node, path: string): void => {
    if (node['type'] === 'object' && node.additionalProperties === undefined) open.push(path)
    for (const [key, at] of Object.entries(node.properties ?? {})) {
      const child = resolve(at)
      if (child['type'] !== 'object' && child['description'] === undefined)
        open.push(`${path}.${key}: no description`)
      visit(child, `${path}.${key}`)
    }
    if (node.additionalProperties) visit(resolve(node.additionalProperties), `${path}.x`)
  }
  visit(SCHEMA, '')
  expect(open).toEqual(['.conversation.tools.x.questions.x.answer: no description'])
})

test('SPEC 2: every reference of the printed schema leads somewhere, and nothing stands there unused', () => {
  const printed = JSON.stringify(SCHEMA)
  const used = new Set([...printed.matchAll(/"\$ref":"#\/definitions\/(\w+)"/g)].map(([, name]) => name))
  expect([...used].toSorted()).toEqual(Object.keys(SCHEMA.definitions).toSorted())
  expect(printed.match(/"\$ref":/g)?.length).toBe(printed.match(/"\$ref":"#\/definitions\/\w+"/g)?.length)
})

test('SPEC 2: the schema is draft 7, which editors of TOML read', () => {
  expect(SCHEMA['$schema']).toBe('http://json-schema.org/draft-07/schema#')
  expect(Object.keys(SCHEMA.properties!)).toEqual([
    'sandbox',
    'conversation',
    'providers',
    'assistant',
    'profiles',
  ])
})
