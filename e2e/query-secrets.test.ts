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
