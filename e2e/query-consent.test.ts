import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RecordedStep } from '../packages/host/src/agent/recorded/script.ts'
import { cordon } from './harness/cordon.ts'
import { atTerminal, events, here, model, query, READ, write } from './harness/query.ts'

const read = (path: string): RecordedStep => ({ calls: [{ tool: 'fs_read_file', arguments: { path } }] })
const results = () => events().filter(({ kind }) => kind === 'tool_result')
const outcomes = (): unknown[] => results().map(({ outcome }) => outcome)
const texts = (): string[] => results().map(({ text }) => String(text))

const SEARCH: RecordedStep = {
  calls: [{ tool: 'fs_grep_files', arguments: { pattern: 'hello', hidden: true } }],
}

describe('SPEC 4.9, decision 0365: what may be secret', () => {
  test('a shipped tool that reads is not asked about, except where secrets live; the question says so', async () => {
    write('w/.env', 'KEY=hello\n')
    await model([READ, read('.env'), SEARCH, { text: 'done' }], '')
    const { missed, screen } = atTerminal(
      ['go'],
      [['.env may be secret. Run fs_read_file? [y/N/e(dit)', 'n\r']],
    )
    expect(missed).toEqual([])
    expect(screen).not.toContain('Run fs_grep_files?')
    expect(outcomes()).toEqual(['success', 'denied', 'success'])
    expect(texts()[2]).toContain('README.md:1:hello')
    expect(texts()[2]).not.toContain('KEY=')
    expect(texts()[2]).toContain('Not searched, because it may be secret: .env (a person is asked')
  })

  test('nobody to ask: it is denied, under whichever name', async () => {
    write('w/.env', 'KEY=1\n')
    write('home/.ssh/id_ed25519', 'KEY\n')
    symlinkSync('.env', join(here.cwd, 'plain.txt'))
    await model([READ, read('.env'), read('plain.txt'), read('src/../.env'), { text: 'done' }], '')
    expect(query('go').code).toBe(0)
    expect(outcomes()).toEqual(['success', 'denied', 'denied', 'denied'])
    expect(texts()[2]).toContain('tool fs_read_file: plain.txt may be secret, and there is nobody to ask')
  })

  test('`always` covers it neither now nor in the next question, and cannot be said to it', async () => {
    write('w/.env', 'KEY=1\n')
    write('w/cat.sh', 'cat >/dev/null; cat "$1"\n')
    const tool = `[conversation.tools.show]
source = "local"
command = ["sh", "cat.sh", "{{tool.arguments.file}}"]
`
    const call = (file: string): RecordedStep => ({ calls: [{ tool: 'show', arguments: { file } }] })
    await model(
      [call('README.md'), call('README.md'), call('.env'), { text: 'one' }, call('.env'), { text: 'two' }],
      tool,
    )
    const { missed, screen } = atTerminal(
      ['go'],
      [
        ['Run show? [y/N/a(lways', 'a\r'],
        ['.env may be secret. Run show? [y/N/e(dit)', 'a\r'],
        ['what may be secret is asked about each time', ''],
        ['Run show?', 'y\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(screen.match(/Run show\?/g)).toHaveLength(3)
    expect(query('again').code).toBe(0)
    expect(outcomes()).toEqual(['success', 'success', 'success', 'denied'])
  })

  test('`unattended` that a person wrote stays as it is, and so does `ask` for all tools', async () => {
    write('w/.env', 'KEY=1\n')
    for (const [config, expected] of [
      ['[conversation.tools.fs_read_file]\nrun = "unattended"\n', ['success', 'success']],
      ['[conversation.tools."*"]\nrun = "unattended"\n', ['success', 'success']],
      ['[conversation.tools."*"]\nrun = "ask"\n', ['denied', 'denied']],
      ['[conversation.tools.fs_read_file]\ncommand = ["true"]\n', ['denied', 'denied']],
    ] as const) {
      await model([read('.env'), READ, { text: 'done' }], config)
      expect(
        query('--json', '--no-persist', 'go').stdout.match(/(?<="outcome":")(?:success|denied)/g),
      ).toEqual(expected)
    }
  })
})

describe('SPEC 6.5: an answer `always`', () => {
  const CAT: RecordedStep = {
    calls: [{ tool: 'unix_utils', arguments: { util: 'cat', args: ['README.md'] } }],
  }

  test('says how long it holds, is listed, and is taken back', async () => {
    await model([CAT, { text: 'one' }, CAT, { text: 'two' }], '')
    const { missed, screen } = atTerminal(['go'], [['Run unix_utils?', 'a\r']])
    expect(missed).toEqual([])
    expect(screen).toContain(
      '  in this conversation unix_utils is not asked about any more, except where it may be secret\n    to take it back: cordon conversation forget unix_utils\n',
    )
    expect(cordon(here, 'conversation', 'show').stdout).toMatch(/\n {2}not asked about: +unix_utils\n/)
    const other = cordon(here, 'conversation', 'forget', 'fs_move_file')
    expect(other.code).toBe(2)
    expect(other.stderr).toMatch(
      /^cordon: no answer `always` about fs_move_file is kept in \w+; there is one about: unix_utils\n$/,
    )
    const back = cordon(here, 'conversation', 'forget', 'unix_utils')
    expect(back).toMatchObject({ code: 0, stderr: '' })
    expect(back.stdout).toMatch(/^unix_utils is asked about again in \w+\n$/)
    expect(cordon(here, 'conversation', 'show', '--json').stdout).toContain('"always": []')
    expect(query('again').code).toBe(0)
    expect(outcomes()).toEqual(['success', 'denied'])
    expect(cordon(here, 'conversation', 'forget').stderr).toMatch(/^no answer `always` is kept in \w+\n$/)
  })

  test('of a conversation that is not kept ends with the process, and says so', async () => {
    await model([CAT, { text: 'one' }], '')
    const { screen } = atTerminal(['--no-persist', 'go'], [['Run unix_utils?', 'a\r']])
    expect(screen).toContain('  until this cordon q ends, unix_utils is not asked about any more')
  })
})

describe('SPEC 6.5, decision 0366: nobody is asked in vain', () => {
  const call = (tool: string, args: unknown): RecordedStep => ({ calls: [{ tool, arguments: args }] })
  const create = (path: string, more = {}): RecordedStep =>
    call('fs_create_file', { path, content: 'bye\n', ...more })

  test('arguments that do not fit, what the policy refuses, an edit that has no place: told, and not asked', async () => {
    write('forks/x/a.txt', 'x\n')
    await model(
      [
        create('fork/new.txt'),
        call('fs_create_file', { file: 'a' }),
        call('fs_modify_file', { edits: [{ path: 'README.md', old: 'never', new: 'b' }] }),
        call('fs_modify_file', { edits: [{ path: 'fork/a.txt', old: 'x', new: 'b' }] }),
        call('fs_delete_file', { path: 'nothing.txt' }),
        call('fs_move_file', { from: 'README.md', to: 'fork/b.txt' }),
        create('README.md', { overwrite: false }),
        create('/etc/passwd'),
        call('unix_utils', { util: 'cat', args: ['/etc/passwd'] }),
        call('unix_utils', { util: 'touch', args: ['.envrc'] }),
        call('unix_utils', { util: 'cat', args: ['--exec', 'README.md'] }),
        { text: 'a pity' },
      ],
      '',
    )
    const { missed, screen } = atTerminal(
      ['--mount', 'fork=../forks/x', 'go'],
      [
        ['[y/N]', 'y\r'],
        ['a pity', ''],
      ],
    )
    expect(missed).toEqual([])
    expect(screen).not.toContain('Run ')
    expect(outcomes()).toEqual(Array.from({ length: 11 }, () => 'error'))
    expect(texts().map((text) => text.split('\n', 1)[0])).toEqual([
      expect.stringMatching(/^access denied: create on fork\/new\.txt/),
      expect.stringMatching(/^invalid arguments/),
      'README.md: the old text is not in the file',
      expect.stringMatching(/^access denied: update on fork\/a\.txt/),
      'nothing.txt does not exist',
      expect.stringMatching(/^access denied: create on fork\/b\.txt/),
      'README.md exists and was not replaced',
      expect.stringContaining('/etc/passwd'),
      expect.stringContaining('/etc/passwd'),
      'access denied: create on .envrc',
      'cat --exec is not permitted here',
    ])
    expect(screen).toContain('✗ error: README.md: the old text is not in the file')
  })

  test('a file that is there is shown with what changes, and asked about once', async () => {
    write('w/other.txt', 'other\n')
    await model(
      [create('README.md'), call('fs_move_file', { from: 'other.txt', to: 'README.md' }), { text: 'done' }],
      '',
    )
    const { missed, screen } = atTerminal(
      ['go'],
      [
        ['Run fs_create_file?', 'y\r'],
        ['replaced README.md', ''],
        ['(replaces all that is there)', ''],
        ['Run fs_move_file?', 'y\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(screen).toContain('    (replaces all that is there)\n    @@ -1 +1 @@\n    -hello\n    +bye\n')
    expect(screen).not.toContain('asks:')
    expect(outcomes()).toEqual(['success', 'success'])
    expect(readFileSync(join(here.cwd, 'README.md'), 'utf8')).toBe('other\n')
  })

  test('`always` is no yes to replacing a file', async () => {
    await model([create('new.txt'), create('README.md'), { text: 'done' }], '')
    const { missed } = atTerminal(
      ['go'],
      [
        ['Run fs_create_file?', 'a\r'],
        ['README.md exists (6 bytes). Replace it?', 'n\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(readFileSync(join(here.cwd, 'README.md'), 'utf8')).toBe('hello\n')
  })
})

describe('SPEC 6.5: e, the editor', () => {
  const create: RecordedStep = {
    calls: [{ tool: 'fs_create_file', arguments: { path: 'a.txt', content: 'x' } }],
  }

  test('what fails, changes nothing, or does not fit is said, and the question is asked again', async () => {
    await model([create, { text: 'done' }], '')
    // One editor a time: fails, changes nothing, breaks the JSON, names what is not known, and mends it.
    write(
      'edit.sh',
      `n=$(cat count 2>/dev/null || echo 0); n=$((n + 1)); echo $n > count
case $n in
1) exit 3 ;;
2) ;;
3) echo '{ "path": "b.txt", ' > "$1" ;;
4) grep -q 'b.txt' "$1" && echo '{ "path": "b.txt", "contents": "y" }' > "$1" ;;
5) sed -i s/contents/content/ "$1" ;;
esac
`,
    )
    const { missed, screen } = atTerminal(
      ['go'],
      [
        ['Run fs_create_file?', 'e\r'],
        ['failed (exit 3)', ''],
        ['Run fs_create_file?', 'e\r'],
        ['nothing was changed', ''],
        ['Run fs_create_file?', 'e\r'],
        ['what you saved is not JSON', ''],
        ['Run fs_create_file?', 'e\r'],
        ['contents', ''],
        ['Run fs_create_file?', 'e\r'],
        ['(as you changed it)', ''],
        ['created b.txt', ''],
      ],
      { EDITOR: `sh ${join(here.dir, 'edit.sh')}` },
    )
    expect(missed).toEqual([])
    expect(screen).toContain(
      '→ fs_create_file  create b.txt (1 byte)\n    (as you changed it)\n    b.txt\n    +y\n',
    )
    expect(screen.match(/Run fs_create_file\?/g)).toHaveLength(5)
    expect(outcomes()).toEqual(['success'])
    expect(readFileSync(join(here.cwd, 'b.txt'), 'utf8')).toBe('y')
  })

  test('without $EDITOR it is vi, and without that it is said; neither is a no', async () => {
    await model([create, { text: 'done' }], '')
    mkdirSync(join(here.dir, 'bin'))
    write('bin/vi', '#!/bin/sh\nsed -i s/a.txt/by-vi.txt/ "$1"\n')
    chmodSync(join(here.dir, 'bin/vi'), 0o755)
    const { missed } = atTerminal(['go'], [['Run fs_create_file?', 'e\r']], {
      PATH: `${join(here.dir, 'bin')}:${process.env['PATH']}`,
    })
    expect(missed).toEqual([])
    expect(readdirSync(here.cwd)).toContain('by-vi.txt')
    await model([create, { text: 'done' }], '')
    const none = atTerminal(
      ['go'],
      [
        ['Run fs_create_file?', 'e\r'],
        ['there is no editor nowhere-editor', ''],
        ['Run fs_create_file?', 'y\r'],
      ],
      { EDITOR: 'nowhere-editor' },
    )
    expect(none.missed).toEqual([])
    expect(readdirSync(here.cwd)).toContain('a.txt')
  })
})
