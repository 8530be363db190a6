import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseHost } from '../src/index.ts'

/** Names as people write them, and those that a converter reads as something else: numbers, hex, Punycode, capitals, dots. */
const label = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9-]{1,8}$/),
  fc.constantFrom('0x7f', '0x', '127', '1', 'xn--', 'xn--bcher-kva', 'xn--a', 'x', '-', '--', 'ab--cd', ''),
  fc.stringMatching(/^[a-z]{60,70}$/),
)
const host = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'))

test('a host is spelled as the converter spells it, whether it was asked or not (SPEC 1.5)', () => {
  fc.assert(
    fc.property(host, (text) => {
      expect(parseHost(text)).toBe(converted(text))
    }),
    { numRuns: 20_000 },
  )
})

function converted(text: string): string | undefined {
  if (text === '' || !URL.canParse(`http://${text}/`)) return undefined
  const { hostname } = new URL(`http://${text}/`)
  const name = hostname.replace(/\.$/, '')
  return hostname.length > 255 || name.split('.').includes('') ? undefined : name
}
