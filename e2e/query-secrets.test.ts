import { existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { RecordedStep } from '../packages/host/src/agent/recorded/script.ts'
import { cordon } from './harness/cordon.ts'
import { atTerminal, events, here, model, query, write } from './harness/query.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

const call = (tool: string, args: unknown): RecordedStep => ({ calls: [{ tool, arguments: args }] })
const read = (path: string): RecordedStep => call('fs_read_file', { path })
const create = (path: string): RecordedStep => call('fs_create_file', { path, content: 'made\n' })
const DONE: RecordedStep = { text: 'done' }
const results = () => events().filter(({ kind }) => kind === 'tool_result')
const outcomes = (): unknown[] => results().map(({ outcome }) => outcome)
const texts = (): string[] => results().map(({ text }) => String(text))

describe('SPEC 4.9: where secrets live, by every name', () => {
  test('a home that is reached through a link is warned about, asked about and left out of attachments', async () => {
    write('home/.aws/credentials', 'aws_secret\n')
    write('home/.config/gh/hosts.yml', 'oauth_token\n')
    write('home/.config/x.txt', 'x\n')
    const home = join(here.dir, 'linked')
    symlinkSync(here.home, home)
    const linked = { ...here, home }
    await model([read('out/.aws/credentials'), DONE, DONE], '')
    const { missed } = cordonAtTerminal(
      linked,
      ['q', '--mount', `out=${home}`, 'go'],
      [
        ['where secrets live', ''],
        ['[y/N]', 'y\r'],
        ['out/.aws/credentials may be secret. Run fs_read_file?', 'n\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(outcomes()).toEqual(['denied'])
    const { code, stderr } = cordon(linked, 'q', '--new', '--attach', '~/.config', 'go')
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('because it may be secret: ~/.config/gh/hosts.yml'),
    ])
  })

  test('a directory that is called ~, or file:, is looked into as the tools do', async () => {
    write('w/.env', 'TOKEN=x\n')
    for (const [dir, link] of [
      ['~', 'n'],
      ['file:', 'n'],
    ] as const) {
      mkdirSync(join(here.cwd, dir))
      symlinkSync('../.env', join(here.cwd, dir, link))
    }
    symlinkSync('../.env.local', join(here.cwd, '~/new'))
    const cat = (path: string): RecordedStep => call('unix_utils', { util: 'cat', args: [path] })
    await model([cat('README.md'), cat('~/n'), cat('file://n'), create('a'), create('~/new'), DONE], '')
    const { missed, screen } = atTerminal(
      ['go'],
      [
        ['Run unix_utils?', 'a\r'],
        ['~/n may be secret. Run unix_utils?', 'n\r'],
        ['may be secret. Run unix_utils?', 'n\r'],
        ['Run fs_create_file?', 'a\r'],
        ['~/new may be secret. Run fs_create_file?', 'n\r'],
      ],
    )
    expect({ missed, screen }).toEqual({
      missed: [],
      screen: expect.stringContaining('file://n may be secret'),
    })
    expect(outcomes()).toEqual(['success', 'denied', 'denied', 'success', 'denied'])
    expect(existsSync(join(here.cwd, '.env.local'))).toBe(false)
  })

  test('a place of secrets that is a link is secret where it leads, too', async () => {
    write('home/dotfiles/aws/credentials', 'aws_secret\n')
    symlinkSync('dotfiles/aws', join(here.home, '.aws'))
    await model([read('dots/aws/credentials'), DONE], '')
    const { missed } = atTerminal(
      ['--mount', `dots=${here.home}/dotfiles`, 'go'],
      [
        ['where secrets live', ''],
        ['[y/N]', 'y\r'],
        ['dots/aws/credentials may be secret. Run fs_read_file?', 'n\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(outcomes()).toEqual(['denied'])
  })
})

describe('SPEC 6.5: a link that leads to nothing is what would be made through it', () => {
  const link = (target: string): void => {
    mkdirSync(join(here.cwd, 'docs'))
    symlinkSync(target, join(here.cwd, 'docs/a.md'))
  }
  const rules = (run: string): string => `[conversation.tools.fs_create_file]\nrun = ${run}\n`

  test('what rules skip is skipped', async () => {
    link('../.env')
    await model(
      [create('docs/a.md'), DONE],
      rules('[{ path = ".env", mode = "skip" }, { path = "docs", mode = "unattended" }]'),
    )
    expect(query('go').code).toBe(0)
    expect([outcomes(), existsSync(join(here.cwd, '.env'))]).toEqual([['skipped'], false])
  })

  test('what rules allow in a directory is not allowed elsewhere', async () => {
    link('../src/evil.ts')
    await model([create('docs/a.md'), DONE], rules('[{ path = "docs", mode = "unattended" }]'))
    expect(query('go').code).toBe(0)
    expect([outcomes(), existsSync(join(here.cwd, 'src'))]).toEqual([['denied'], false])
  })

  test('`always` does not cover a secret that would be made', async () => {
    link('../.env.production')
    await model([create('b.md'), create('docs/a.md'), DONE], '')
    const { missed } = atTerminal(
      ['go'],
      [
        ['Run fs_create_file?', 'a\r'],
        ['docs/a.md may be secret. Run fs_create_file?', 'n\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(outcomes()).toEqual(['success', 'denied'])
  })
})

describe('SPEC 4.9: after `always`, all that the arguments name is looked at', () => {
  test('however many words go before it, under a name with spaces, and as a key', async () => {
    write('w/.env', 'TOKEN\n')
    symlinkSync('.env', join(here.cwd, 'notes (old).txt'))
    write('w/cat.sh', 'cat\n')
    const cat = (args: string[], stdin?: string): RecordedStep =>
      call('unix_utils', { ...(stdin === undefined ? {} : { stdin }), util: 'cat', args })
    const distinct = Array.from({ length: 20_001 }, (_, i) => i.toString(36)).join(' ')
    await model(
      [
        cat(['README.md']),
        cat(['.env'], 'x '.repeat(1001)),
        cat(['notes (old).txt']),
        cat(['README.md'], distinct),
        call('echoed', {}),
        call('echoed', { '.env': 1 }),
        DONE,
      ],
      '[conversation.tools.echoed]\nsource = "local"\ncommand = ["sh", "cat.sh"]\n',
    )
    const { missed } = atTerminal(
      ['go'],
      [
        ['Run unix_utils?', 'a\r'],
        ['.env may be secret. Run unix_utils?', 'n\r'],
        ['notes (old).txt may be secret. Run unix_utils?', 'n\r'],
        ['what it names is too much to look at, so it may be secret. Run unix_utils?', 'n\r'],
        ['Run echoed?', 'a\r'],
        ['.env may be secret. Run echoed?', 'n\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(outcomes()).toEqual(['success', 'denied', 'denied', 'denied', 'success', 'denied'])
  })

  test('a path that is longer than any can be is an error of the call, and not of Cordon', async () => {
    await model([read('a/'.repeat(20_000)), DONE], '')
    expect(query('go')).toMatchObject({ code: 0 })
    expect(outcomes()).toEqual(['error'])
    expect(texts()[0]).toContain('it is longer than 4096 characters')
  })
})

describe('SPEC 4.9: a search does not look into what may be secret', () => {
  const search = (pattern: string, more = {}): RecordedStep =>
    call('fs_grep_files', { pattern, hidden: true, ...more })

  test('whether it matches there or not, the answer is the same', async () => {
    write('w/.env', 'API_KEY=s3cret\n')
    write('w/d/.env.local', 'API_KEY=s3cret\n')
    await model([search('^API_KEY=s3'), search('^API_KEY=s4'), DONE], '')
    expect(query('go').code).toBe(0)
    const [right, wrong] = texts()
    expect(right).toBe(wrong)
    expect(right).toContain(
      'Not searched, because it may be secret: .env, d/.env.local (a person is asked about a call that names it as its path).',
    )
  })

  test('also after a yes, unless the call names it', async () => {
    write('w/.env', 'TOKEN=hello\n')
    await model(
      [search('hello'), search('hello', { path: '.env' }), DONE],
      '[conversation.tools."*"]\nrun = "ask"\n',
    )
    const { missed } = atTerminal(
      ['go'],
      [
        ['Run fs_grep_files?', 'y\r'],
        ['.env may be secret. Run fs_grep_files?', 'y\r'],
      ],
    )
    expect(missed).toEqual([])
    expect(texts()[0]).toContain('README.md:1:hello')
    expect(texts()[0]).not.toContain('TOKEN')
    expect(texts()[1]).toContain('TOKEN=hello')
  })

  test('`unattended` that a person wrote means all of it', async () => {
    write('w/.env', 'TOKEN=hello\n')
    await model([search('hello'), DONE], '[conversation.tools.fs_grep_files]\nrun = "unattended"\n')
    expect(query('go').code).toBe(0)
    expect(texts()[0]).toContain('TOKEN=hello')
  })
})

test('SPEC 6.5: with `run = "edit"` an editor that changes nothing leads to a question that says it may be secret, without `always`', async () => {
  await model([create('.env'), create('b.md'), DONE], '[conversation.tools.fs_create_file]\nrun = "edit"\n')
  const { missed, screen } = atTerminal(
    ['go'],
    [
      ['.env may be secret. Run fs_create_file? [y/N/e(dit)/r(eply)]', 'n\r'],
      ['Run fs_create_file? [y/N/e(dit)/r(eply)]', 'a\r'],
      ['its run mode is edit', ''],
      ['Run fs_create_file?', 'y\r'],
    ],
    { EDITOR: 'true' },
  )
  expect(missed).toEqual([])
  expect(screen).not.toContain('is not asked about any more')
  expect(outcomes()).toEqual(['denied', 'success'])
})
