import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RecordedStep } from '../packages/host/src/agent/recorded/script.ts'
import { cordon } from './harness/cordon.ts'
import {
  atTerminal,
  CHANGE,
  conversationIds,
  conversations,
  events,
  here,
  inShell,
  kinds,
  model,
  query,
  READ,
  UNATTENDED,
  write,
} from './harness/query.ts'

describe('SPEC 6.5 at a terminal', () => {
  test('a call is shown with its difference and asked about: y, n, a, r, e', async () => {
    const AGAIN = {
      calls: [
        { tool: 'fs_modify_file', arguments: { edits: [{ path: 'README.md', old: 'edited', new: 'last' }] } },
      ],
    }
    await model([CHANGE, CHANGE, CHANGE, AGAIN, { text: 'done' }], '')
    const played = atTerminal(
      ['go'],
      [
        ['Run fs_modify_file?', 'what\r'],
        ['y runs it once', ''],
        ['Run fs_modify_file?', 'n\r'],
        ['declined the call', ''],
        ['Run fs_modify_file?', 'r\r'],
        ['instead?', 'ask me later\r'],
        ['Run fs_modify_file?', 'e\r'],
        ['changed README.md', ''],
        ['Run fs_modify_file?', 'a\r'],
      ],
      { EDITOR: `sed -i s/bye/edited/` },
    )
    expect(played.missed).toEqual([])
    expect(played.code).toBe(0)
    expect(played.screen).toContain('    README.md\n    @@ -1 +1 @@\n    -hello\n    +bye\n')
    const results = events().filter(({ kind }) => kind === 'tool_result')
    expect(results.map(({ outcome }) => outcome)).toEqual(['denied', 'denied', 'success', 'success'])
    expect(results[1]!['text']).toBe(
      'tool fs_modify_file: the person declined the call and says: ask me later',
    )
    expect(readFileSync(join(here.cwd, 'README.md'), 'utf8')).toBe('last\n')
    // The log has the call as the model made it, and with its result what ran instead.
    expect(results[2]!['text']).toMatch(
      /^\[the person changed the arguments first, to:\]\n\{\n[^]*\n +"new": "edited"\n[^]*\n\}\n\[the result:\]\nchanged README\.md/,
    )
    // What runs is shown before it runs, and the person who wrote it is not asked again.
    expect(played.screen).toContain(
      '→ fs_modify_file  change README.md\n    (as you changed it)\n    README.md\n    @@ -1 +1 @@\n    -hello\n    +edited\n',
    )
    expect(played.screen).toContain('✓ changed README.md')
    // `always` is a person's word, sealed into the conversation.
    expect(events().find(({ kind }) => kind === 'config')).toMatchObject({
      delta: { conversation: { tools: { fs_modify_file: { source: 'local', run: 'unattended' } } } },
      seal: expect.any(String),
    })
  })

  test('`always` holds for the next question of this conversation, and for no other', async () => {
    const CAT = { calls: [{ tool: 'unix_utils', arguments: { util: 'cat', args: ['README.md'] } }] }
    await model([CAT, { text: 'one' }, CAT, { text: 'two' }, CAT, { text: 'three' }], '')
    expect(atTerminal(['go'], [['Run unix_utils?', 'a\r']]).code).toBe(0)
    expect(query('again').code).toBe(0)
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ outcome }) => outcome),
    ).toEqual(['success', 'success'])
    query('--new', '--json', 'and here?')
    const ids = conversationIds()
    expect(ids).toHaveLength(2)
    expect(readFileSync(join(conversations(), ids.toSorted().at(-1)!, 'events.jsonl'), 'utf8')).toContain(
      '"denied"',
    )
  })

  test('`cordon q` alone talks until the end of input', async () => {
    await model([{ text: 'first' }, { text: 'second' }])
    const played = atTerminal(
      [],
      [
        ['›', 'one\r'],
        ['first', ''],
        ['›', 'two\r'],
        ['second', ''],
        ['›', '\u0004'],
      ],
    )
    expect(played.missed).toEqual([])
    expect(played.code).toBe(0)
    expect(kinds().filter((kind) => kind === 'turn')).toHaveLength(2)
    expect(played.screen).toContain(
      'recorded/x · a new conversation · Enter sends, a paste of several lines is one text, Ctrl-D leaves',
    )
  })

  test('what is pasted is one text, however many lines it has and whatever is in them', async () => {
    await model([{ text: 'first' }, { text: 'second' }, { text: 'third' }])
    const played = atTerminal(
      [],
      [
        ['›', '\u001b[200~one\r\ntwo\n\tthree\u001b[A\u0003\u001b[201~'],
        ['one␊two␊    three[A', ' and four\r'],
        ['first', ''],
        ['›', 'five\rsix\r'], // from a terminal that does not tell
        ['second', ''],
        ['›', 'seven\u001b[20'],
        ['seven', '0~\neight\u001b[20'],
        ['eight', '1~\r'],
        ['third', ''],
        ['›', '\u0004'],
      ],
    )
    expect(played.missed).toEqual([])
    expect(
      events()
        .filter(({ kind }) => kind === 'request')
        .map(({ text }) => text),
    ).toEqual(['one\ntwo\n    three[A and four', 'five\nsix', 'seven\neight'])
  })

  test('what is typed while the model answers is there to be sent, and is not sent', async () => {
    await model([{ text: 'one two three four five', pace: 20 }, { text: 'second' }])
    const played = atTerminal(
      [],
      [
        ['›', 'go\r'],
        ['one two', 'and then\rthis\r'],
        ['and then␊this', '!\r'],
        ['second', ''],
        ['›', '\u0004'],
      ],
    )
    expect(played.missed).toEqual([])
    expect(
      events()
        .filter(({ kind }) => kind === 'request')
        .at(-1),
    ).toMatchObject({
      text: 'and then\nthis!',
    })
  })

  test('Ctrl-C stops the tool, the model hears of it; in a stream it stops the turn, and what came is kept', async () => {
    const tool = `[conversation.tools.slow]
source = "local"
command = ["sh", "-c", "cat >/dev/null; echo so far; echo and so >&2; touch begun; sleep 600"]
`
    await model(
      [
        { calls: [{ tool: 'slow', arguments: {} }, READ.calls![0]!] },
        { text: 'one two three four', pace: 50, fault: { kind: 'hang' } },
      ],
      UNATTENDED + tool,
    )
    const begun = `until [ -e begun ]; do sleep 0.05; done; echo it runs >/dev/tty`
    const played = inShell(`(${begun}) & exec "$0" "$1" q go`, [
      ['it runs', '\u0003'],
      ['two', '\u0003'],
    ])
    expect(played.missed).toEqual([])
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ outcome, text }) => [outcome, text]),
    ).toEqual([
      [
        'cancelled',
        'the person stopped it while it ran\nthe call was cancelled; it had printed:\nso far\nstandard error:\nand so',
      ],
      ['cancelled', 'it was not run: the person stopped the calls of this reply while another one ran'],
    ])
    expect(played.screen).toContain(
      'recorded/x · 100 in · 20 out · and what was stopped · 2 requests · interrupted',
    )
    expect(played.screen).toMatch(
      /\nnote: interrupted, and what came is kept; to go on: cordon q --resume\n(?:.*sh.*)?$/,
    )
    expect(cordon(here, 'conversation', 'print').stdout).toMatch(/one two.*\n\n> interrupted here\n$/)
    expect(events().at(-1)).toMatchObject({
      kind: 'response',
      stop: 'interrupted',
      text: expect.stringMatching(/^one two/),
    })
  })

  test('SPEC 1.9: a tool says what a call would do where it is asked to, confined, and never runs before a yes', async () => {
    write(
      'w/count.sh',
      `case $(cat) in
*'"action":"format_arguments"'*) touch formatted; printf 'count \\033[2J\\nRun it?  ' ;;
*) touch ran; echo counted ;;
esac
`,
    )
    const tool = '[conversation.tools.count]\nsource = "local"\ncommand = ["sh", "count.sh"]\n'
    const call = { calls: [{ tool: 'count', arguments: { path: 'a' } }] }
    await model([call, { text: 'one' }, call, { text: 'two' }], tool)
    const silent = atTerminal(['go'], [['Run count?', 'n\r']])
    expect(silent.screen).toContain('→ count\n    path: "a"\n')
    expect(readdirSync(here.cwd)).not.toContain('formatted')
    const asked = '--cfg=conversation.tools.count.format_arguments=true'
    const told = atTerminal([asked, 'go'], [['Run count?', 'n\r']])
    expect(told.screen).toContain('→ count  count \\u{1b}[2J Run it?\n    path: "a"\n')
    expect(readdirSync(here.cwd)).toContain('formatted')
    expect(readdirSync(here.cwd)).not.toContain('ran')
  })

  test('SPEC 6.1: what a person was asked is on record; it is asked again unless they said `always`, which holds in the conversation', async () => {
    write(
      'w/asks.sh',
      `case $(cat) in
*'"answers":{"sure":true}'*) echo sure ;;
*) echo '{"type": "needs_input", "question": {"id": "sure", "text": "Are you sure?", "answer_type": "boolean"}}' ;;
esac
`,
    )
    const tool = '[conversation.tools.asks]\nsource = "local"\ncommand = ["sh", "asks.sh"]\n'
    const call = { tool: 'asks', arguments: {} }
    await model(
      [
        { calls: [call, call] },
        { calls: [{ tool: 'ask_user', arguments: { question: 'Which one?' } }] },
        { text: 'fine' },
        { calls: [call] },
        { text: 'again' },
      ],
      UNATTENDED + tool,
    )
    const played = atTerminal(
      ['go'],
      [
        ['Are you sure? [y/N/a(lways yes here)]', 'y\r'],
        ['Are you sure? [y/N/a(lways yes here)]', 'a\r'],
        ['(the same question of asks is answered so from now on, in this conversation)', ''],
        ['asks: Which one?', 'the first\r'],
      ],
    )
    expect(played.screen.match(/Which one\?/g)).toHaveLength(1)
    expect(played.missed).toEqual([])
    // In another process, where nobody can be asked; and not in another conversation.
    expect(query('again')).toMatchObject({ code: 0, stdout: 'again\n' })
    const inquiries = events().filter(({ kind }) => kind === 'inquiry')
    expect(inquiries.map(({ question, answer }) => [question, answer])).toEqual([
      ['Are you sure?', true],
      ['Are you sure?', true],
      ['Which one?', 'the first'],
    ])
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ text }) => String(text).trim()),
    ).toEqual(['sure', 'sure', 'the first', 'sure'])
    expect(events().find(({ kind }) => kind === 'config')).toMatchObject({
      delta: {
        conversation: {
          tools: { asks: { source: 'local', questions: { sure: { text: 'Are you sure?', answer: true } } } },
        },
      },
      seal: expect.any(String),
    })
  })

  test('what was typed between two questions answers neither', async () => {
    await model([CHANGE, { text: 'thinking about it', pace: 100, ...CHANGE }, { text: 'done' }], '')
    const played = atTerminal(
      ['go'],
      [
        ['Run fs_modify_file?', 'n\r'],
        ['thinking', 'y\r'],
        ['Run fs_modify_file?', 'n\r'],
        ['done', ''],
      ],
    )
    expect(played.missed).toEqual([])
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ outcome }) => outcome),
    ).toEqual(['denied', 'denied'])
  })

  test('what is pasted into a question answers nothing: not it, and not the next one', async () => {
    const create = (path: string): RecordedStep => ({
      calls: [{ tool: 'fs_create_file', arguments: { path, content: 'x' } }],
    })
    await model([create('a.txt'), create('b.txt'), create('c.txt'), { text: 'done' }], '')
    const played = atTerminal(
      ['go'],
      [
        ['Run fs_create_file?', '\u001b[200~y\ry\ry\r\u001b[201~'],
        ['', 'n\r'],
        ['Run fs_create_file?', '\u001b[200~a\u001b[201~\r'],
        ['Run fs_create_file?', 'y\ry\r'], // from a terminal that does not tell
        ['y runs it once', ''],
        ['Run fs_create_file?', 'r\r'],
        ['instead?', '\u001b[200~first\rsecond\r\u001b[201~'],
        ['first␊second', '\r'],
      ],
    )
    expect(played.missed).toEqual([])
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ text }) => text),
    ).toEqual([
      'tool fs_create_file: the person declined the call',
      'tool fs_create_file: the person declined the call',
      'tool fs_create_file: the person declined the call and says: first\nsecond',
    ])
    expect(readdirSync(here.cwd).filter((name) => name.endsWith('.txt'))).toEqual([])
  })

  test('what was typed before the model asks is no answer', async () => {
    const tool = '[conversation.tools.slow]\nsource = "local"\ncommand = ["sh", "slow.sh"]\n'
    write('w/slow.sh', 'while [ ! -e typed ]; do sleep 0.05; done\n')
    await model(
      [
        { calls: [{ tool: 'slow', arguments: {} }] },
        { calls: [{ tool: 'ask_user', arguments: { question: 'Which one?' } }] },
        { text: 'fine' },
      ],
      UNATTENDED + tool,
    )
    // The tool ends when the line has arrived at the terminal.
    const tell = `import select; select.select([open('/dev/tty')], [], []); open('typed', 'w')`
    const { missed } = inShell(`python3 -c "${tell}" & exec "$0" "$1" q go`, [
      ['running slow', 'typed too early\r'],
      ['asks: Which one?', 'the first\r'],
      ['fine', ''],
    ])
    expect(missed).toEqual([])
    expect(events().find(({ kind }) => kind === 'inquiry')).toMatchObject({ answer: 'the first' })
  })

  test('whoever waits for standard input is told so', async () => {
    const { requests } = await model([{ text: 'fine' }])
    const { missed, code } = inShell(`head -n 1 /dev/tty | "$0" "$1" q explain`, [
      ['note: reading standard input, until it ends\r\n', 'the piped text\r'],
      ['fine', ''],
    ])
    expect({ missed, code }).toEqual({ missed: [], code: 0 })
    expect(JSON.stringify(requests()[0]!.body)).toContain('explain\\n\\nthe piped text')
  })

  test('a narrow window breaks calls and questions between words', async () => {
    const call = { tool: 'fs_create_file', arguments: { path: 'a/rather/long/name.txt', content: 'x' } }
    await model([{ calls: [call] }, { text: 'fine' }], '')
    const { missed, screen } = inShell('stty cols 40; exec "$0" "$1" q go', [['e(dit)/r(eply)]', 'n\r']])
    expect(missed).toEqual([])
    expect(screen).toContain('Run fs_create_file? [y/N/a(lways\nhere)/e(dit)/r(eply)] ')
    expect(screen).toContain('→ fs_create_file  create\n  ↳ a/rather/long/name.txt (1 byte)\n')
  })

  test('the command that would allow a call works as it is pasted, however narrow the window is', async () => {
    const call = { tool: 'fs_create_file', arguments: { path: 'notes/a.txt', content: 'x' } }
    const narrow = '[[conversation.tools.fs_create_file.access.fs]]\npath = "."\nread = true\n'
    await model([{ calls: [call] }, { text: 'so' }], UNATTENDED + narrow)
    const { screen } = inShell('stty cols 40; exec "$0" "$1" q go', [['so', '']])
    const [command = ''] = /^ +cordon config set .*$/m.exec(screen) ?? []
    expect(command.length).toBeGreaterThan(60)
    const pasted = inShell(command.trim().replace(/^cordon /, '"$0" "$1" '), [])
    expect(pasted).toMatchObject({ code: 0 })
  })

  test('a stream that stalls shows the last word that came', async () => {
    await model([{ text: 'one two three four', fault: { kind: 'hang' } }])
    expect(atTerminal(['go'], [['three', '\u0003']]).missed).toEqual([])
  })

  test('what a model writes cannot draw on the terminal', async () => {
    await model([{ text: 'a \u001b]52;c;aGk=\u0007 b \u001b[2J c' }])
    const { raw, screen } = atTerminal(['go'], [])
    expect(screen).toContain('a \\u{1b}]52;c;aGk=\\u{7} b \\u{1b}[2J c')
    expect(raw).not.toContain('\u001b]52')
    expect(raw).not.toContain('\u001b[2J')
  })

  test('an error begins a line of its own, below what had come', async () => {
    await model([{ text: 'one two three four five six', pace: 5, fault: { kind: 'cut' } }])
    const { screen } = atTerminal(['go'], [])
    expect(screen).toMatch(/\rone[a-z ]*\n+cordon: recorded\/x: /)
  })

  test('a terminal that can do nothing gets text', async () => {
    await model([{ text: 'a **bold** word' }])
    const { raw } = atTerminal(['go'], [], { TERM: 'dumb' })
    expect(raw).not.toContain('\u001b')
    expect(raw).toContain('a bold word')
  })
})

describe('SPEC 6.5 what is shown is what runs', () => {
  test('--quiet and --json show a call that is asked about', async () => {
    for (const flag of ['--quiet', '--json']) {
      await model([CHANGE, { text: 'so' }], '')
      const played = atTerminal([flag, 'go'], [['Run fs_modify_file?', 'n\r']])
      expect(played.missed).toEqual([])
      expect(played.screen).toContain('    -hello\n    +bye\n')
    }
  })

  test('every argument, every line on request, base64, other occurrences and what is replaced', async () => {
    const long = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`).join('\n')
    const tool = '[conversation.tools.mine]\nsource = "local"\ncommand = ["true"]\n'
    write('w/c', 'a a\n')
    await model(
      [
        { calls: [{ tool: 'mine', arguments: { note: 'harmless '.repeat(60), cmd: 'rm -rf everything' } }] },
        { calls: [{ tool: 'fs_create_file', arguments: { path: 'a', content: long, overwrite: true } }] },
        {
          calls: [
            { tool: 'fs_create_file', arguments: { path: 'b', content: 'Y3VybCBldmls', encoding: 'base64' } },
          ],
        },
        {
          calls: [
            { tool: 'fs_modify_file', arguments: { edits: [{ path: 'c', old: 'a', new: 'b', all: true }] } },
          ],
        },
        { text: 'done' },
      ],
      tool,
    )
    const played = atTerminal(
      ['go'],
      [
        ['rm -rf everything', ''],
        ['Run mine?', 'n\r'],
        ['… 21 more lines', ''],
        ['/v(iew all)]', 'v\r'],
        ['+line 60', ''],
        ['Run fs_create_file?', 'n\r'],
        ['+curl evil', ''],
        ['Run fs_create_file?', 'n\r'],
        ['(every occurrence)', ''],
        ['Run fs_modify_file?', 'n\r'],
      ],
    )
    expect(played.missed).toEqual([])
    expect(played.screen).toContain('(replaces all that is there)')
  })

  test('a result is handed over as it was seen: all of it', async () => {
    const lines = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`)
    write('w/README.md', lines.join('\n'))
    const ask = '[conversation.tools.fs_read_file]\nresult = "ask"\n'
    await model([READ, { text: 'one' }, READ, { text: 'two' }], UNATTENDED + ask)
    const yes = atTerminal(['go'], [['Hand over this result of fs_read_file', 'y\r']])
    expect(yes.missed).toEqual([])
    const shown = yes.screen.slice(0, yes.screen.indexOf('Hand over'))
    expect(shown).toContain(lines.map((line) => `  │ ${line}\n`).join(''))
    expect(atTerminal(['go'], [['Hand over this result of fs_read_file', 'n\r']]).missed).toEqual([])
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ outcome }) => outcome),
    ).toEqual(['success', 'denied'])
  })

  test('neither `always` nor an edit goes past a rule that skips', async () => {
    const remove = (path: string): RecordedStep => ({
      calls: [{ tool: 'fs_delete_file', arguments: { path } }],
    })
    for (const name of ['a.txt', 'b.txt', 'keep.txt']) write(`w/${name}`, name)
    await model(
      [remove('a.txt'), remove('keep.txt'), { text: 'one' }, remove('b.txt'), { text: 'two' }],
      '[conversation.tools.fs_delete_file]\nrun = [{ path = "keep.txt", mode = "skip" }]\n',
    )
    expect(atTerminal(['go'], [['Run fs_delete_file?', 'a\r']]).missed).toEqual([])
    expect(
      atTerminal(['go'], [['Run fs_delete_file?', 'e\r']], { EDITOR: 'sed -i s/b.txt/keep.txt/' }).missed,
    ).toEqual([])
    expect(readdirSync(here.cwd).filter((name) => name.endsWith('.txt'))).toEqual(['b.txt', 'keep.txt'])
  })

  test('questions before a turn stand where they can be read', async () => {
    await model([{ text: 'ok' }])
    write('forks/x/a.txt', 'x')
    const played = atTerminal(
      ['--mount', 'fork=../forks/x', 'go'],
      [
        ['[y/N]', 'y\r'],
        ['ok', ''],
      ],
    )
    expect(played.missed).toEqual([])
    expect(played.screen).not.toMatch(/thinking[^]*\[y\/N\]/)
  })
})

test('SPEC 6.5: what --json prints cannot redraw a terminal, and is the same data', async () => {
  const odd = '\u009b2Jx\u007f\u202ey\u200b\u0085'
  await model([{ text: odd }])
  const raw = /[\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/
  const said = atTerminal(['--json', 'go'], [['"end"', '']])
  expect(said.raw).not.toMatch(raw)
  const printed = inShell('"$0" "$1" conversation print --json', [['\n]', '']])
  expect(printed.raw).not.toMatch(raw)
  expect(printed.raw).toContain('\\u009b2Jx\\u007f\\u202ey\\u200b\\u0085')
  expect(events().at(-1)).toMatchObject({ text: odd })
})
