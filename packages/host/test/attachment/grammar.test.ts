import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commandUri, parseAttachment } from '../../src/attachment/grammar.ts'

const external = `external:${'a'.repeat(64)}/report.pdf`

test.for([
  ['README.md', { kind: 'path', path: 'README.md' }],
  ['~/Downloads/report.pdf', { kind: 'path', path: '~/Downloads/report.pdf' }],
  ['src/**/*.ts', { kind: 'path', path: 'src/**/*.ts' }],
  ['notes:2024.md', { kind: 'path', path: 'notes:2024.md' }],
  ['./command:x', { kind: 'path', path: './command:x' }],
  ['C:\\x', { kind: 'path', path: 'C:\\x' }],
  ['external:short/x', { kind: 'path', path: 'external:short/x' }],
  ['file:///src/%C3%A4.md', { kind: 'workspace', path: 'src/ä.md' }],
  ['https://a.example', { kind: 'url', url: 'https://a.example/' }],
  ['HTTPS://A.example/x?q=1#part', { kind: 'url', url: 'https://a.example/x?q=1' }],
  ['command:git diff --stat', { kind: 'command', argv: ['git', 'diff', '--stat'] }],
  [`command:echo 'a b' "c \\"d\\"" e\\ f ''`, { kind: 'command', argv: ['echo', 'a b', 'c "d"', 'e f', ''] }],
] as const)('SPEC 6.3 --attach %s', ([text, expected]) => {
  expect(parseAttachment(text)).toEqual({ text, ...expected })
})

test.for([
  ['http://a.example/', 'what http sends can be changed on the way; write https://'],
  ['ftp://a.example/', 'nothing attaches ftp: URLs; a path, https: and command: can be attached'],
  ['https:a', 'it is not a valid URL'],
  ['https://', 'it is not a valid URL'],
  ['mcp:server/thing', 'resources of MCP servers cannot be attached yet'],
  ['file://host/x', 'file:/// and a path below the workspace was expected; for other files write the path'],
  ['file:///', 'file:/// and a path below the workspace was expected; for other files write the path'],
  [external, 'it names a snapshot of a file; write the path of the file'],
  ['command:', 'there is no command in it'],
  ["command:echo 'a", 'a quote is not closed'],
  ['command:a | b', "there is no shell, so | means nothing; quote it, or write command:sh -c '…'"],
  ['command:echo $HOME', "there is no shell, so $ means nothing; quote it, or write command:sh -c '…'"],
])('SPEC 6.3 --attach %s is refused', ([text, problem]) => {
  expect(() => parseAttachment(text!)).toThrow(`cannot attach ${text}: ${problem}`)
})

test('a password in a URL is neither kept nor repeated', () => {
  expect(() => parseAttachment('https://ann:secret@a.example/x')).toThrow(
    'cannot attach https://a.example/x: a user name or password in a URL would be kept in the conversation',
  )
})

test('the URI of a command is the command: reading it gives the same words, and one URI', () => {
  const word = fc.string({ unit: 'binary', maxLength: 12 }).filter((text) => !text.includes('\0'))
  fc.assert(
    fc.property(
      word.filter((text) => text !== ''),
      fc.array(word, { maxLength: 5 }),
      (program, args) => {
        const uri = commandUri([program, ...args])
        const parsed = parseAttachment(uri)
        expect(parsed).toEqual({ kind: 'command', text: uri, argv: [program, ...args] })
      },
    ),
  )
})

test('junk is a path, or an error that says so', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 60 }),
      fc.constantFrom('', 'https://', 'command:', 'file:///'),
      (text, before) => {
        try {
          parseAttachment(before + text)
        } catch (error) {
          expect(error).toMatchObject({ code: 'ATTACH' })
        }
      },
    ),
  )
})
