import { expect, test } from 'vitest'
import { askConsent } from '../../src/execute/consent.ts'
import { readableIn, shownValues } from '../../src/execute/shown.ts'
import { shownResult } from '../../src/gateway/results.ts'

/** What the person is shown. */
async function questionAbout(args: unknown): Promise<string> {
  let shown = ''
  const confirms = (question: string): Promise<boolean> => {
    shown = question
    return Promise.resolve(true)
  }
  const config = { run: 'ask', runIsWritten: true } as const
  const subject = {
    name: 'write',
    config,
    secretIn: () => undefined,
    secretAmong: () => undefined,
    filesNow: () => () => undefined,
    shownPaths: () => [],
    placesOf: () => undefined,
  }
  await askConsent(subject, args, { confirms, edits: () => Promise.resolve() })
  return shown
}

test('SPEC 6.5 whoever is asked sees every argument: the path behind a long text, keys, and what is deep inside', async () => {
  expect(
    await questionAbout({
      content: `harmless ${'x'.repeat(5000)}`,
      edits: [{ old: 'a', 'new\u202e': 'b\u001b[2J' }],
      path: '.git/hooks/pre-commit',
      force: true,
      none: {},
    }),
  ).toBe(
    'Run write?\n' +
      '  path: ".git/hooks/pre-commit"\n' +
      `  content: "harmless ${'x'.repeat(291)}"… (5009 characters)\n` +
      '  edits[0].old: "a"\n' +
      '  edits[0]."new\\u202e": "b\\u001b[2J"\n' +
      '  force: true\n' +
      '  none: {}\n',
  )
  expect(shownValues(Array.from({ length: 120 }, () => 1))).toMatch(
    /^ {2}\(120 values, 20 of them are not shown\)\n/,
  )
})

test('who decides about a result sees all of its parts, and where a text was cut', () => {
  expect(
    shownResult({
      content: [
        { type: 'text', text: 'y'.repeat(3000) },
        { type: 'resource', resource: { uri: 'file:///key', text: 'secret' } },
        { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      ],
      structuredContent: { token: 'hunter22' },
    }),
  ).toBe(
    `${'y'.repeat(2000)}… (3000 characters, the rest is not shown)\n` +
      'file:///key:\nsecret\n' +
      '3 bytes that are no text\n  type: "image"\n  mimeType: "image/png"\n' +
      'as data:\n  token: "hunter22"\n',
  )
})

test('who wants to see all of it sees whole names, too', () => {
  const name = `a ${'b'.repeat(2000)} rm -rf`
  expect(shownValues({ [name]: 1 }, 'whole')).toBe(`  "${name}": 1\n`)
})

test('decision 0448: a key that could read as a line of ours, or as the way to another value, is quoted', () => {
  expect(
    shownValues({ '(a leads to b)': {}, 'edits[0].path': 1, 'to: "x"\n  (b': 2, 'plain-key_1': 3 }),
  ).toBe('  "(a leads to b)": {}\n  "edits[0].path": 1\n  "to: \\"x\\"\\n  (b": 2\n  plain-key_1: 3\n')
  expect(shownValues({ ['k'.repeat(400)]: 1 })).toBe(`  "${'k'.repeat(300)}"… (400 characters): 1\n`)
})

test('decision 0448: what can be read whole is what is shown whole', () => {
  const { places, others } = readableIn({ path: 'p', text: 'x'.repeat(301), note: 'n', 'a.b': { deep: 'd' } })
  expect(places).toEqual(['p'])
  expect(others).toEqual(expect.arrayContaining(['p', 'n', 'd', 'path', 'deep']))
  expect(others.filter((text) => text.startsWith('xx'))).toEqual([])
  expect(readableIn({ files: Array.from({ length: 101 }, (_, i) => `${i}`) }).places).toHaveLength(100)
})
