import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sha256 } from '../src/index.ts'

const judge = (text: string): string => createHash('sha256').update(text).digest('hex')

test('FIPS 180-4: the published examples', () => {
  expect(sha256('')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(sha256('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq')).toBe(
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  )
})

test('every length around the ends of a block, and around the change to node:crypto', () => {
  for (let length = 0; length < 300; length++)
    expect(sha256('x'.repeat(length))).toBe(judge('x'.repeat(length)))
  for (const length of [32_767, 32_768, 32_769, 1_000_000])
    expect(sha256('é'.repeat(length / 2))).toBe(judge('é'.repeat(length / 2)))
})

test('agrees with node:crypto about any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
      expect(sha256(text)).toBe(judge(text))
    }),
    { numRuns: 2000 },
  )
})
