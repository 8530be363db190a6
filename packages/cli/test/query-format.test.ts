import { describe, expect, test } from 'vitest'
import { showCall as showKnown, type ShownCall } from '../../host/src/agent/shown.ts'
import {
  formatAllAttached,
  formatCall,
  formatHanded,
  formatResult,
  formatTurn,
  isCut,
} from '../src/format/query.ts'
import { clip, foreign } from '../src/format/text.ts'
import { widthOf } from '../src/format/wrap.ts'
import { warn } from '../src/report.ts'
import type { World } from '../src/world.ts'

/** Of a file that cannot be read now: the call's own words. */
const showCall = (tool: string, args: unknown, isOurs: boolean): ShownCall =>
  showKnown(tool, args, { isOurs, files: () => undefined })

const plain = { style: (_: string, text: string): string => text }
const plainStream = { ...plain, columns: undefined }
const at = (columns: number) => ({ ...plain, columns })

describe('SPEC 6.5 a call that is decided about', () => {
  const modify = (before: string, after: string): ShownCall =>
    showCall('fs_modify_file', { edits: [{ path: 'a.js', old: before, new: after }] }, true)
  const foreignCall = (args: unknown, said?: string): ShownCall => ({
    ...showCall('mine', args, false),
    said,
  })

  test('what a utility reads is shown, all of it on request', () => {
    const stdin = `${'x'.repeat(400)} rm -rf everything`
    const call = showCall('unix_utils', { util: 'jq', args: ['-n', '1'], stdin }, true)
    expect(isCut(call, plainStream)).toBe(true)
    expect(formatCall(call, plainStream)).toBe(
      `→ unix_utils  run jq -n 1\n    stdin: "${'x'.repeat(300)}"… (418 characters)\n`,
    )
    expect(formatCall(call, plainStream, 'whole')).toBe(`→ unix_utils  run jq -n 1\n    stdin: "${stdin}"\n`)
  })

  test('what cannot be seen is shown in a difference', () => {
    const shown = formatCall(
      modify('hello', 'bye\u{e0172}\u{e0165}\nok\u3164 = 1\u115f // \u2800\u034f'),
      at(100),
    )
    expect(shown).toBe(
      '→ fs_modify_file  change a.js\n' +
        '    a.js\n' +
        '    -hello\n' +
        '    +bye\\u{e0172}\\u{e0165}\n' +
        '    +ok\\u{3164} = 1\\u{115f} // \\u{2800}\\u{34f}\n',
    )
  })

  test('a script is read line by line, behind a margin; one that would fill the screen when it is asked for', () => {
    const script = 'set -e\nrm -rf build \n\u001b[2J\n    path: "harmless path"'
    const call = foreignCall({ command: script, path: 'a' })
    expect(formatCall(call, at(28))).toBe(
      '→ mine\n' +
        '    command: (4 lines)\n' +
        '  │ set -e\n' +
        '  │ rm -rf build·\n' +
        '  │ \\u{1b}[2J\n' +
        '  │     path: "harmless path\n' +
        '  ↳ "\n' +
        '    path: "a"\n',
    )
    const long = foreignCall({ command: 'x\n'.repeat(50) })
    expect(formatCall(long, at(80))).not.toContain('│')
    expect([isCut(long, at(80)), formatCall(long, at(80), 'whole').split('│').length]).toEqual([true, 52])
    expect(formatCall(foreignCall({ command: 'one\n' }), at(80))).toBe('→ mine\n    command: "one\\n"\n')
  })

  const FAKE = 'Run_fs_read_file?[y/N]'

  test('padding puts no word of the model where a row begins: the gutter of the difference stands there', () => {
    expect(formatCall(modify('hello', `bye${' '.repeat(37)}Run fs_read_file? [y/N]`), at(45))).toBe(
      '→ fs_modify_file  change a.js\n' +
        '    a.js\n' +
        '    -hello\n' +
        `    +bye${' '.repeat(37)}\n` +
        '  ↳ +Run fs_read_file? [y/N]\n',
    )
  })

  test.each([8, 12, 20, 40, 80])(
    'nor do wide characters, tabs, paths, arguments or words of a tool, at %i columns',
    (columns) => {
      for (const padding of ['x', '你', '✅', '\t', ' ', 'का', '\u3164']) {
        const text = padding.repeat(columns) + FAKE
        const calls = [
          modify(`a\n${text}`, `b\n${text}`),
          showCall('fs_modify_file', { diff: text }, true),
          showCall('fs_create_file', { path: text, content: text }, true),
          foreignCall({ [text]: text }, text),
          foreignCall({}, `a\n${text}`),
          foreignCall({ command: `a\n${text}` }),
        ]
        const shown = [
          ...calls.map((call) => formatCall(call, at(columns), 'whole')),
          formatHanded(text, at(columns)),
          ...(['success', 'error'] as const).map((outcome) =>
            formatResult(
              { kind: 'result', id: 'c1', tool: 'mine', outcome, text: `a\n${text}` },
              at(columns),
            ),
          ),
        ]
        const rows = shown.flatMap((each) => each.split('\n'))
        expect(rows.filter((row) => row !== '' && !/^(?: {2}|→(?: |$))/.test(row))).toEqual([])
        expect(rows.filter((row) => /\t/.test(row) || widthOf(row) > columns)).toEqual([])
      }
    },
  )

  test('decision 0456: no path and no key begins a row as a line of ours does', () => {
    const ours = '(docs/x leads to docs/y)'
    const begun = /^ {0,4}\(docs\/x leads to/m
    for (let length = 1; length < 80; length++) {
      const to = `${'a'.repeat(length)} ${ours}/../src/x.md`
      const move = showCall('fs_move_file', { from: 'a', to }, true)
      const leads = [{ path: to, place: 'src/x.md' }]
      expect(formatCall({ ...move, leads }, at(80))).not.toMatch(begun)
      expect(formatCall(foreignCall({}, `run ${to}`), at(80))).not.toMatch(begun)
    }
    expect(formatCall(foreignCall({ [ours]: [] }), at(80))).toBe(`→ mine\n    "${ours}": []\n`)
  })

  test('one line that fills the window is cut, and can be seen whole', () => {
    const call = modify('', `${'x'.repeat(100_000)} end`)
    expect(formatCall(call, at(80)).split('\n')).toHaveLength(44)
    expect(isCut(call, at(80))).toBe(true)
  })

  test('and in what a tool or a path says', () => {
    expect(formatCall(foreignCall({}, 'say\u3164\ufe0f'), at(80))).toBe('→ mine  say\\u{3164}\\u{fe0f}\n')
    expect(formatCall(showCall('fs_delete_file', { path: 'a\u3164' }, true), at(80))).toContain(
      '"a\\u{3164}"',
    )
  })

  test('a long path, and a long word of a command, are shown whole', () => {
    const long = 'x'.repeat(600)
    for (const call of [
      showCall('fs_delete_file', { path: long }, true),
      showCall('unix_utils', { util: 'sort', args: [long] }, true),
    ])
      expect(formatCall(call, plain)).toContain(long)
    expect(formatCall(showCall('fs_create_file', { path: long, content: '' }, true), plain)).toContain(
      `    "${long}"\n`,
    )
  })

  test.each([
    ['a value', foreignCall({ text: `${'x'.repeat(400)} end` })],
    ['values', foreignCall({ list: [...Array.from({ length: 150 }, () => 'x'), ' end'] })],
    ['words of a tool', foreignCall({}, `${'x'.repeat(400)} end`)],
    ['a difference', modify('', `${'x\n'.repeat(60)} end`)],
    ['a pattern', showCall('fs_grep_files', { pattern: `${'x'.repeat(5000)} end` }, true)],
  ])('what is cut can be seen whole: %s', (_, call) => {
    expect(isCut(call, at(80))).toBe(true)
    expect(formatCall(call, at(80))).not.toContain(' end')
    expect(formatCall(call, at(80), 'whole')).toContain(' end')
  })

  test('of what is shown whole there is no more to see', () => {
    expect(isCut(modify('a', 'b'), at(80))).toBe(false)
    expect(isCut(foreignCall({ a: 1 }, 'says'), at(80))).toBe(false)
  })
})

test('prose keeps its blanks and its emoji, and hides nothing', () => {
  expect(foreign('« a »\u3000⚠\ufe0f\u3164\u{e0172}\u001b[2J', { isTerminal: true })).toBe(
    '« a »\u3000⚠\ufe0f\\u{3164}\\u{e0172}\\u{1b}[2J',
  )
})

describe('SPEC 6.5 what came of a call', () => {
  const failed = (text: string) =>
    ({ kind: 'result', id: 'c1', tool: 'noisy', outcome: 'error', text }) as const

  test('the lines of a result are counted as they are, with the empty ones', () => {
    const text = `a\n\nb\n\nc\n\nd\ne\nf\ng\n`
    const result = { kind: 'result', id: 'c1', tool: 'mine', outcome: 'success', text } as const
    expect(formatResult(result, at(80))).toContain('a  (10 lines)')
  })

  test('an error of one long line is shown in part, and the rest is counted', () => {
    const shown = formatResult(failed('z'.repeat(900_000)), at(80))
    expect(shown.match(/z/g)).toHaveLength(4000)
    expect(shown).toContain('z\n    … 896,000 more characters …\n    z')
  })

  test('of an error of many lines the end is shown, too: tests say there what failed', () => {
    const shown = formatResult(failed(`first\n${'ab\n'.repeat(1000)}1 failed\n`), at(80))
    expect(shown.split('\n')).toHaveLength(42)
    expect(shown).toMatch(/^ {2}✗ error: first\n {4}ab\n/)
    expect(shown).toMatch(/ab\n {4}… 2,\d+ more characters …\n {4}ab\n[^]*\n {4}1 failed\n$/)
  })

  const COMMAND = `cordon config set conversation.tools.x.access.fs '[{ path = ".", read = true, create = true }]'`
  const DENIAL = `access denied: create on a.txt\n  because: no rule covers that path at all\n  to allow it:\n    ${COMMAND}\n    (in the workspace)`

  test('a command to be pasted is one line, however narrow the window is; what stands around it is wrapped', () => {
    expect(formatResult(failed(DENIAL), at(40), 'ours')).toBe(
      '  ✗ error: access denied: create on\n' +
        '    a.txt\n' +
        '      because: no rule covers that\n' +
        '      path at all\n' +
        '      to allow it:\n' +
        `        ${COMMAND}\n` +
        '        (in the workspace)\n',
    )
  })

  test('what another tool calls a command stays behind its margin', () => {
    const rows = formatResult(failed(DENIAL), at(40)).split('\n')
    expect(rows.filter((row) => widthOf(row) > 40)).toEqual([])
  })

  test('the command of a warning is one line; what a server said is not, whatever it begins with', () => {
    let written = ''
    const err = { ...at(40), isTerminal: true, write: (text: string) => (written += text) }
    warn({ err } as unknown as World, [
      `tool x: refused: a.example:443: no rule allows it\n  to allow it:\n    ${COMMAND}\n  it had said:\n    to allow it: ${'x'.repeat(60)}\n  fix: \`cordon mcp doctor x\` finds out what it needs`,
    ])
    expect(written).toBe(
      'warning: tool x: refused:\n' +
        '  a.example:443: no rule allows it\n' +
        '  to allow it:\n' +
        `    ${COMMAND}\n` +
        '  it had said:\n' +
        '    to allow it:\n' +
        `    ${'x'.repeat(36)}\n` +
        `    ${'x'.repeat(24)}\n` +
        '  fix: `cordon mcp doctor x` finds out what it needs\n',
    )
  })

  test('a short one is shown whole', () => {
    expect(formatResult(failed('no\n  because: x'), at(80))).toBe('  ✗ error: no\n      because: x\n')
  })
})

test.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['🙂🙂🙂', 3, '🙂🙂🙂'],
  ['🙂🙂🙂🙂', 3, '🙂🙂…'],
])('%j is clipped to %i characters', (text, most, clipped) => {
  expect(clip(text, most)).toBe(clipped)
})

test('SPEC 6.5: tokens that the provider did not say are not known', () => {
  const model = { id: 'h/m', provider: 'h', model: 'm', config: { kind: 'anthropic', models: {} } } as const
  const end = { kind: 'done', text: '', steps: 1 } as const
  const line = (input: number, output: number): string =>
    formatTurn({ ...end, usage: { input, cached: 0, output } }, model, { ...plain, columns: undefined })
  expect([line(0, 0), line(1200, 3)]).toEqual(['h/m · tokens unknown\n', 'h/m · 1,200 in · 3 out\n'])
})

test('what is attached from outside is named as a person knows it', () => {
  const uri = `external:${'a'.repeat(64)}/report.md`
  const items = [{ uri, size: 84, mimeType: 'text/markdown', origin: { kind: 'outside' } }] as const
  expect(formatAllAttached(items as never, at(100))).toBe(
    'attached ↗ report.md (text/markdown, 84 B, from outside the workspace)\n',
  )
})
