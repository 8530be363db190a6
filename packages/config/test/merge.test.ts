import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatOrigin, formatValue, LAYERS, mergeSources, type Source } from '../src/index.ts'

interface Rule {
  readonly path: string
  readonly read: boolean
}
interface Layer {
  readonly strategy: 'plain' | 'append' | 'prepend' | 'replace'
  readonly dedup: boolean
  readonly rules: readonly Rule[]
  readonly spelling: 'inline' | 'headers' | 'value'
}

const rule: fc.Arbitrary<Rule> = fc.record({ path: fc.constantFrom('.', 'src', 'docs'), read: fc.boolean() })
const layer: fc.Arbitrary<Layer> = fc.record({
  strategy: fc.constantFrom('plain', 'append', 'prepend', 'replace'),
  dedup: fc.boolean(),
  rules: fc.array(rule, { maxLength: 3 }),
  spelling: fc.constantFrom('inline', 'headers', 'value'),
})

const LIST = 'conversation.tools.x.access.fs'
const BASE: Source = {
  layer: 'built-in',
  label: 'base',
  text: '[conversation.tools.x]\nsource = "local"',
}

function sourceOf({ strategy, dedup, rules, spelling }: Layer, i: number): Source {
  const layerName = LAYERS[Math.min(i + 1, LAYERS.length - 1)]!
  const base = { layer: layerName, label: `layer ${i}` }
  const value = strategy === 'plain' ? rules : { strategy, dedup, value: rules }
  if (spelling === 'value') return { ...base, key: LIST.split('.'), value }
  if (spelling === 'headers' && strategy === 'plain')
    return { ...base, text: rules.map((one) => `[[${LIST}]]\n${fields(one)}\n`).join('\n') }
  return { ...base, text: `${LIST} = ${formatValue(value)}\n` }
}

const fields = (one: Rule): string => `path = "${one.path}"\nread = ${one.read}`

/** SPEC 2, word for word. Slow on purpose. */
function definitionalMerge(layers: readonly Layer[]): { rule: Rule; from: string }[] {
  let merged: { rule: Rule; from: string }[] = []
  for (const [i, { strategy, dedup, rules }] of layers.entries()) {
    const own = rules.map((one) => ({ rule: one, from: `layer ${i}` }))
    if (strategy === 'plain' || strategy === 'append') merged = merged.concat(own)
    if (strategy === 'prepend') merged = own.concat(merged)
    if (strategy === 'replace') merged = own
    if (dedup && strategy !== 'plain')
      merged = merged.filter(
        (one, at) =>
          !merged
            .slice(at + 1)
            .some((later) => later.rule.path === one.rule.path && later.rule.read === one.rule.read),
      )
  }
  return merged
}

test('SPEC 2: a merged rule list is what the definition says, and each rule knows its layer', () => {
  fc.assert(
    fc.property(fc.array(layer, { maxLength: 6 }), (layers) => {
      const { config, explain } = mergeSources([BASE, ...layers.map(sourceOf)])
      const expected = definitionalMerge(layers)
      const rules = config.conversation.tools['x']?.access?.fs ?? []
      expect(rules.map(({ path, grants }) => ({ path, read: grants.has('read') }))).toEqual(
        expected.map((one) => one.rule),
      )
      expect(rules.map(({ origin }) => origin!.replace(/:\d+:\d+$/, ''))).toEqual(
        expected.map((one) => one.from),
      )
      const elements = explain(LIST.split('.'))?.elements ?? []
      expect(elements.map(({ origin }) => formatOrigin(origin))).toEqual(rules.map(({ origin }) => origin))
    }),
    { numRuns: 400 },
  )
})

const KEYS = [
  ['conversation', 'tools', '*', 'result'],
  ['conversation', 'tools', '*', 'max_output_bytes'],
  ['conversation', 'tools', '*', 'timeout_secs'],
  ['conversation', 'tools', 'x', 'description'],
  ['conversation', 'tools', 'x', 'options', 'a'],
] as const
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  result: ['ask', 'skip'],
  max_output_bytes: [1, 2],
  timeout_secs: [3, 4],
  description: ['d', 'e'],
  a: [true, 'x', [1]],
}

const assignment = fc
  .tuple(fc.constantFrom(...KEYS), fc.nat(), fc.boolean())
  .map(([key, pick, asText]) => ({ key, value: VALUES[key.at(-1)!]![pick % 2], asText }))

test('SPEC 2: the later layer wins, and a layer that does not touch a value does not change its origin', () => {
  fc.assert(
    fc.property(fc.array(fc.array(assignment, { maxLength: 1 }), { maxLength: 6 }), (layers) => {
      const sources = layers.flatMap((assignments, i): Source[] =>
        assignments.map(({ key, value, asText }) => {
          const base = { layer: LAYERS[i + 1]!, label: `layer ${i}` }
          const written = key.map((part) => (part === '*' ? '"*"' : part)).join('.')
          return asText ? { ...base, text: `${written} = ${formatValue(value)}` } : { ...base, key, value }
        }),
      )
      for (let count = 0; count < sources.length; count++) {
        const before = mergeSources([BASE, ...sources.slice(0, count)])
        const after = mergeSources([BASE, ...sources.slice(0, count + 1)])
        const touched = layers.flat()[count]!
        for (const key of KEYS) {
          if (key !== touched.key) expect(after.explain(key)).toEqual(before.explain(key))
          else {
            const was = before.explain(key)
            expect(after.explain(key)).toEqual({
              value: touched.value,
              origin: after.origin(key),
              overrode: was ? [{ value: was.value, origin: was.origin }, ...was.overrode] : [],
            })
            expect(after.origin(key)?.label).toBe(sources[count]!.label)
          }
        }
      }
    }),
    { numRuns: 150 },
  )
})

test('SPEC 2: sources are laid over each other by layer, whatever the order they are given in', () => {
  const { config, explain } = mergeSources([
    { layer: 'flags', label: '--sandbox', key: ['sandbox', 'mode'], value: 'off' },
    { layer: 'user', label: '~/.config/cordon/config.toml', text: '[sandbox]\nmode = "warn"\n' },
  ])
  expect(config.sandbox.mode).toBe('off')
  expect(explain(['sandbox', 'mode'])).toEqual({
    value: 'off',
    origin: { layer: 'flags', label: '--sandbox' },
    overrode: [
      { value: 'warn', origin: { layer: 'user', label: '~/.config/cordon/config.toml', line: 2, column: 1 } },
      { value: 'enforce', origin: { layer: 'built-in', label: 'built-in defaults' } },
    ],
  })
})

test('SPEC 2: fs, net and env merge independently', () => {
  const { config } = mergeSources([
    BASE,
    {
      layer: 'workspace',
      label: 'w',
      text: '[conversation.tools.x.access]\nfs = [{ path = "." }]\nnet = [{ host = "a.example" }]\nenv = [{ name = "A" }]\n',
    },
    {
      layer: 'directory',
      label: 'd',
      text: '[conversation.tools.x.access]\nfs = { strategy = "replace", value = [] }\nnet = [{ host = "b.example", allow = true }]\n',
    },
  ])
  expect(config.conversation.tools['x']?.access).toEqual({
    fs: [],
    net: [
      { host: 'a.example', allow: false, origin: 'w:3:8' },
      { host: 'b.example', allow: true, origin: 'd:3:8' },
    ],
    env: [{ name: 'A', read: false, origin: 'w:4:8' }],
  })
})

test('SPEC 3.1: an external rule keeps what it asks for, and has no target yet', () => {
  const { config } = mergeSources([
    BASE,
    {
      layer: 'conversation',
      label: 'conversation',
      key: ['conversation', 'tools', 'x', 'access', 'fs'],
      value: [{ path: 'fork', external: true, read: true, write: true, delete: false }],
    },
  ])
  expect(config.conversation.tools['x']?.access?.fs).toEqual([
    { path: 'fork', external: true, grants: new Set(['read', 'create', 'update']), origin: 'conversation' },
  ])
})

test('decision 0032: run is replaced by a later layer, and joined when the long form says so', () => {
  const layers = (later: string): Source[] => [
    BASE,
    {
      layer: 'user',
      label: 'u',
      text: 'conversation.tools.x.run = [{ arg = "/path", prefix = "src/", mode = "unattended" }]',
    },
    { layer: 'workspace', label: 'w', text: `conversation.tools.x.run = ${later}` },
  ]
  const runOf = (later: string): unknown => mergeSources(layers(later)).config.conversation.tools['x']?.run
  const src = { arg: '/path', prefix: 'src/', mode: 'unattended' }
  const env = { arg: '/path', equals: '.env', mode: 'skip' }
  expect(runOf('"skip"')).toBe('skip')
  expect(runOf(`[${formatValue(env)}]`)).toEqual([env])
  expect(runOf(`{ strategy = "prepend", value = [${formatValue(env)}] }`)).toEqual([env, src])
})

test('SPEC 2: a place inside of a rule, a default of all tools, and what nobody wrote', () => {
  const { explain, origin } = mergeSources([
    BASE,
    { layer: 'workspace', label: 'w', text: `${LIST} = [\n  { path = "src",\n    read = true },\n]\n` },
    { layer: 'directory', label: 'd', text: `[[${LIST}]]\npath = "docs"\n` },
  ])
  const list = LIST.split('.')
  expect(explain([...list, 0, 'read'])).toEqual({
    value: true,
    origin: { layer: 'workspace', label: 'w', line: 3, column: 5 },
    overrode: [],
  })
  expect(origin([...list, 1])).toEqual({ layer: 'directory', label: 'd', line: 1, column: 1 })
  expect(origin(list)?.label).toBe('d')
  expect(explain(['conversation', 'tools', 'x', 'run'])).toEqual({
    value: 'ask',
    origin: { layer: 'built-in', label: 'built-in defaults' },
    overrode: [],
  })
  expect(explain([...list, 2])).toBe(undefined)
  expect(explain(['conversation', 'tools', 'y', 'run'])).toBe(undefined)
})
