import { describe, expect, test } from 'vitest'
import { type Pasting, pastedAsOne } from '../src/pasted.ts'

const START = '\u001b[200~'
const END = '\u001b[201~'

/** What is typed by the chunks, each of which the terminal sent by itself. */
function typedBy(pasting: Pasting, chunks: readonly string[], { isPasting = false } = {}): string {
  const input = pastedAsOne(process.stdin, pasting, isPasting)
  for (const chunk of chunks) input.write(chunk)
  return String(input.read() ?? '')
}

describe('a paste whose end does not come', () => {
  for (const [name, key] of [
    ['Ctrl-C', '\u0003'],
    ['Ctrl-D', '\u0004'],
    ['Esc', '\u001b'],
  ] as const) {
    test(`${name} by itself ends it, and is that key`, () => {
      expect(typedBy('nothing', [START, 'y\r', key, 'n\r'])).toBe(`${key}n\r`)
      expect(typedBy('text', [`${START}one\rtwo`, key, '\r'])).toBe(`one␊two${key}\r`)
    })

    test(`${name} by itself ends one that began before the question`, () => {
      expect(typedBy('nothing', ['y\r', key], { isPasting: true })).toBe(key)
    })

    test(`${name} by itself ends one of whose mark only a piece came`, () => {
      expect(typedBy('nothing', [START, 'y\u001b[20', key, 'n\r'])).toBe(`${key}n\r`)
    })

    test(`${name} among what is pasted is none`, () => {
      expect(typedBy('nothing', [START, `y${key}`, `${key}y\r`, `${key}${key}`, `${END}n\r`])).toBe('n\r')
    })
  }

  test('an end whose Esc comes by itself stays an end to whoever reads the keys', () => {
    expect(typedBy('nothing', [`${START}y\r`, '\u001b', '[201~', 'n\r'])).toBe(`${END}n\r`)
  })
})
