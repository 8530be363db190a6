import { expect, test } from 'vitest'
import { BlankLines } from '../src/format/blank-lines.ts'

/** However it is cut into pieces, the same is printed. */
test.each([
  ['a\n\n', 'a\n'],
  ['a\n\n\n\nb\n', 'a\n\n\n\nb\n'],
  ['\n\na\n\nb', 'a\n\nb'],
  ['\n\n\n', ''],
  ['', ''],
])('%j becomes %j', (text, printed) => {
  for (let size = 1; size <= text.length + 1; size++) {
    const lines = new BlankLines()
    let all = ''
    for (let at = 0; at < text.length; at += size) all += lines.write(text.slice(at, at + size))
    expect(all).toBe(printed)
  }
})
