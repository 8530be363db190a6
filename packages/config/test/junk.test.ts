import { CordonError } from '@cordon/policy'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  ConfigError,
  formatKeyPath,
  formatValue,
  LAYERS,
  mergeSources,
  setValue,
  type Source,
} from '../src/index.ts'
import { tomlDocument } from './random-toml.ts'

const ACCESS = ['fs', 'net', 'env', 'commands']
const PLACES: readonly (readonly string[])[] = [
  [],
  ['sandbox'],
  ['sandbox', 'mode'],
  ['sandbox', 'sensitive'],
  ['sandbox', 'limits', 'processes'],
  ['conversation', 'tools'],
  ['conversation', 'tools', '*'],
  ['conversation', 'tools', '*', 'run'],
  ['conversation', 'tools', 'x'],
  ...['source', 'command', 'run', 'options', 'questions', 'parameters', 'access'].map((key) => [
    'conversation',
    'tools',
    'x',
    key,
  ]),
  ...ACCESS.map((axis) => ['conversation', 'tools', 'x', 'access', axis]),
  ['providers', 'mcp', 'x'],
  ['providers', 'mcp', 'x', 'variables'],
  ...ACCESS.map((axis) => ['profiles', 'p', 'access', axis]),
]

/** Wrong, but with the words of the real thing, so that it gets far. */
const WORDS =
  'strategy value dedup append replace path read host name args git local builtin mcp.x mcp. . / .. *'
const word = fc.constantFrom(...WORDS.split(' '), '__proto__', 'constructor', '\u0000', '\u202e', '')
const junk = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    word,
    fc.string(),
    fc.double(),
    fc.integer(),
    fc.boolean(),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(word, fc.string()), tie('any'), { maxKeys: 4 }),
  ),
})).any
const table = fc.dictionary(fc.oneof(word, fc.string()), junk, { maxKeys: 3 })

const source: fc.Arbitrary<Source> = fc
  .tuple(fc.constantFrom(...LAYERS), fc.constantFrom(...PLACES), junk, table)
  .map(([layer, key, value, whole]) => ({
    layer,
    label: 'junk',
    key,
    value: key.length === 0 ? whole : value,
  }))

test('whatever is in the layers, the answer is a config or a ConfigError', () => {
  fc.assert(
    fc.property(fc.array(source, { minLength: 1, maxLength: 4 }), (sources) => {
      try {
        const { config, values } = mergeSources(sources)
        expect(config.sandbox.mode).toMatch(/^(?:enforce|warn|off)$/)
        JSON.stringify(values)
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError)
        // Nothing in a message can move the cursor.
        expect((error as Error).message.replaceAll('\n', '')).not.toMatch(/\p{C}/u)
      }
    }),
    { numRuns: 2000 },
  )
})

test('whatever is set in whatever file, the answer is a text or one of our errors', () => {
  fc.assert(
    fc.property(
      tomlDocument,
      fc.constantFrom(...PLACES.slice(1)),
      junk,
      fc.boolean(),
      (text, key, value, plus) => {
        try {
          setValue(text, formatKeyPath(key), `${plus ? '+' : ''}${formatValue(value)}`)
        } catch (error) {
          expect(error).toBeInstanceOf(CordonError)
        }
      },
    ),
    { numRuns: 300 },
  )
})
