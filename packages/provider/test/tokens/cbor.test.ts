import { decode, encode } from '@ipld/dag-cbor'
import fc from 'fast-check'
import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { expect, test } from 'vitest'
import { decodeCanonical } from '../../src/tokens/cbor.ts'

/** The definition: what the encoder makes of the value is what was read. Undefined: refused. */
function specCanonical(bytes: Uint8Array): { value: unknown } | undefined {
  try {
    const value: unknown = decode(bytes)
    return Buffer.compare(encode(value), bytes) === 0 ? { value } : undefined
  } catch {
    return undefined
  }
}

function read(bytes: Uint8Array): { value: unknown } | undefined {
  try {
    return { value: decodeCanonical(bytes) }
  } catch {
    return undefined
  }
}

const hex = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex')

const cid = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((digest) => CID.createV1(0x71, createDigest(0x12, digest)))
/** Few and alike, so that they collide and change places; some mean something to JavaScript or to the encoder. */
const key = fc.constantFrom('a', 'b', 'aa', 'ab', 'ba', 'cmd', 'é', '1', '10', '__proto__', '/', 'bytes', '')
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.integer(),
    fc.maxSafeInteger(),
    fc.bigInt({ min: -(2n ** 64n), max: 2n ** 64n - 1n }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.uint8Array({ maxLength: 40 }),
    cid,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((pairs) => new Map(pairs)),
  ),
}))

/** Maps written with their pairs in the order in which they were drawn, so that most are not in the one that counts. */
function loose(each: unknown): Uint8Array {
  if (each instanceof Map)
    return Buffer.concat([
      Uint8Array.of(0xa0 + each.size),
      ...[...(each as Map<string, unknown>)].flatMap((pair) => pair.map(loose)),
    ])
  if (Array.isArray(each)) return Buffer.concat([Uint8Array.of(0x80 + each.length), ...each.map(loose)])
  return encode(each)
}

const spoilt = fc
  .tuple(
    value.map((each) => {
      try {
        return loose(each)
      } catch {
        return encode(null) // a lone surrogate, or a number that the encoder has not
      }
    }),
    fc.array(fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) }), { maxLength: 2 }),
  )
  .map(([bytes, changes]) => {
    const made = Uint8Array.from(bytes)
    for (const { at, byte } of changes) made[at % made.length] = byte
    return made
  })

test('what is canonical is seen as the encoder would have it', () => {
  let accepted = 0
  fc.assert(
    fc.property(spoilt, (bytes) => {
      const expected = specCanonical(bytes)
      if (expected) accepted++
      expect(read(bytes)).toEqual(expected)
    }),
    { numRuns: Number(process.env['CORDON_FUZZ'] ?? 5000) },
  )
  expect(accepted).toBeGreaterThan(500)
})

test.each([
  ['keys in order', 'a2 6161 01 6162 02', { a: 1, b: 2 }],
  ['the shorter key first', 'a2 6162 01 626161 02', { b: 1, aa: 2 }],
  ['false, true, null', '83 f4 f5 f6', [false, true, null]],
  ['2 to the 64th, less one', '1b ffffffffffffffff', 2n ** 64n - 1n],
  ['a name that is not ASCII', '62 c3a9', 'é'],
])('canonical: %s', (_, text, expected) => {
  expect(read(hex(text))).toEqual({ value: expected })
})

test.each([
  ['keys out of order', 'a2 6162 01 6161 02'],
  ['the longer key first', 'a2 626161 01 6162 02'],
  ['a key twice', 'a2 6161 01 6161 02'],
  ['a key that is bytes', 'a1 4161 01'],
  ['one as a float', 'fb 3ff0000000000000'],
  ['a float of four bytes', 'fa 3fc00000'],
  ['undefined', 'f7'],
  ['false in two bytes', 'f8 14'],
  ['a length in two bytes', '78 01 61'],
  ['text that is not UTF-8', '62 c328'],
  ['another tag', 'c1 00'],
  ['a tag of something else than a CID', 'd82a 41 00'],
  ['a CID with a number in one byte too many', `d82a 5826 00 01 f100 1220 ${'00'.repeat(32)}`],
  ['something after the end', '01 01'],
  ['a list that is cut', '82 01'],
])('not canonical: %s', (_, text) => {
  expect(read(hex(text))).toBeUndefined()
})
