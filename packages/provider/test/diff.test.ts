import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unifiedDiff } from '../src/operations/diff.ts'

const diffOf = (path: string, before: string, after: string): Promise<string> =>
  unifiedDiff(path, before, after, async () => {})

const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`)

test('two changes far from each other are two hunks, and what lies between them is not shown', async () => {
  const before = numbered(100)
  const after = before.with(1, 'second\n').with(90, 'ninety-first\n')
  expect(await diffOf('/f', before.join(''), after.join(''))).toBe(
    '--- /f\n+++ /f\n@@ -1,5 +1,5 @@\n line 1\n-line 2\n+second\n line 3\n line 4\n line 5\n' +
      '@@ -88,7 +88,7 @@\n line 88\n line 89\n line 90\n-line 91\n+ninety-first\n line 92\n line 93\n line 94\n',
  )
})

test('a new file, an emptied one, and a last line without its end', async () => {
  expect(await diffOf('/f', '', 'a\n')).toBe('--- /f\n+++ /f\n@@ -0,0 +1,1 @@\n+a\n')
  expect(await diffOf('/f', 'a\n', '')).toBe('--- /f\n+++ /f\n@@ -1,1 +0,0 @@\n-a\n')
  expect(await diffOf('/f', 'a', 'a\n')).toBe(
    '--- /f\n+++ /f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n',
  )
  expect(await diffOf('/f', 'a\n', 'a\n')).toBe('')
})

test('whatever the texts are, the diff makes the second out of the first', async () => {
  const text = fc
    .array(fc.constantFrom('a\n', 'b\n', '\n', '-c\n', '+d\n', ' e\n'), { maxLength: 40 })
    .chain((lines) => fc.constantFrom(lines.join(''), `${lines.join('')}end`))
  await fc.assert(
    fc.asyncProperty(text, text, async (before, after) => {
      expect(patched(before, await diffOf('f', before, after))).toBe(after)
    }),
    { numRuns: 2000 },
  )
})

/** As patch(1) does it, and as strict as it can be. */
function patched(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const made: string[] = []
  let at = 0
  for (const line of diff
    .replaceAll('\n\\ No newline at end of file\n', '\0')
    .match(/[^\n\0]*[\n\0]/g)
    ?.slice(2) ?? []) {
    const text = line.slice(1).replace('\0', '')
    const hunk = /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@\n$/.exec(line)
    if (hunk) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1)
      made.push(...old.slice(at, start))
      at = start
      expect(made.length).toBe(Number(hunk[3]) - (hunk[4] === '0' ? 0 : 1))
    } else {
      if (line[0] !== '+') expect(old[at++]).toBe(text)
      if (line[0] !== '-') made.push(text)
    }
  }
  return [...made, ...old.slice(at)].join('')
}

/** The most processor time between two turns. */
async function longestPiece(before: string, after: string): Promise<{ diff: string; ms: number }> {
  let since = process.threadCpuUsage()
  let longest = 0
  const breathe = async (): Promise<void> => {
    const { user, system } = process.threadCpuUsage(since)
    longest = Math.max(longest, user + system)
    since = process.threadCpuUsage()
  }
  const diff = await unifiedDiff('/f', before, after, breathe)
  await breathe()
  return { diff, ms: longest / 1000 }
}

test('more lines than are compared: one change, and nobody waits for it', async () => {
  const [before, after] = ['a\n'.repeat(2 ** 22), 'b\n'.repeat(2 ** 22)]
  const { diff, ms } = await longestPiece(`same\n${before}end`, `same\n${after}end`)
  expect(diff).toBe(
    `--- /f\n+++ /f\n@@ -1,${2 ** 22 + 2} +1,${2 ** 22 + 2} @@\n same\n` +
      `${'-a\n'.repeat(2 ** 22)}${'+b\n'.repeat(2 ** 22)} end\n\\ No newline at end of file\n`,
  )
  expect(ms).toBeLessThan(100)
})
