import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Secrets } from '../../src/execute/secrets.ts'
import { wordsIn } from '../../src/execute/words.ts'

const base = mkdtempSync(join(tmpdir(), 'cordon-secrets-'))
afterAll(() => rmSync(base, { recursive: true }))
const [root, home] = [join(base, 'w'), join(base, 'h')]
const linkedHome = join(base, 'home')
mkdirSync(join(root, 'deep/dir'), { recursive: true })
mkdirSync(join(home, '.ssh'), { recursive: true })
mkdirSync(join(home, 'dotfiles/aws'), { recursive: true })
writeFileSync(join(root, '.env'), 'KEY=1\n')
for (const [name, target] of [
  ['home', home],
  ['h/.aws', 'dotfiles/aws'],
  ['w/keys', join(home, '.ssh')],
  ['w/mount', home],
  ['w/made', 'deep/.env.local'],
  ['w/far', 'hop'],
  ['w/hop', 'deep/none/../../.env'],
  ['w/loop', 'loop'],
  ['w/lnk', 'deep/dir'],
  ['w/deep/up', '../.env'],
  ['w/notes (old).txt', '.env'],
] as const)
  symlinkSync(target, join(base, name))

const patterns = [
  '~/.ssh',
  '~/.aws',
  '**/.env*',
  '*.pem',
  '**/vault/*/key',
  '/srv/secret',
  '**/[[:upper:]]*.key',
]
const secrets = new Secrets({ root, home: linkedHome, patterns })

test.for([
  '.env',
  './.env',
  'a/../.env',
  'deep/er/.env.local',
  '~/.ssh/id',
  '.env.d/below/it',
  'a/tls.pem',
  'a/tls.pem/below/it',
  'a/vault/prod/key',
  'a/vault/prod/key/below/it',
  '/srv/secret/of/all',
  '/elsewhere/.env',
  'Mine.key',
  '.ENV',
  'Server.PEM',
  'keys',
  'keys/new',
  'keys/new/er',
  'mount/.ssh/config',
  'mount/.SSH/config',
  'mount/dotfiles/aws/credentials',
  `${linkedHome}/.ssh/id`,
  `${home}/.aws/credentials`,
])('SPEC 4.9: %s may be secret, by whichever name, also where nothing is there yet', (path) =>
  expect(secrets.forCall().at(path)).toBe(true),
)

test.for(['made', 'far', 'hop', 'lnk/../up', 'loop', 'loop/x'])(
  'SPEC 4.9: %s may be secret: what would be made through a link counts, and where it leads nowhere the worst',
  (path) => expect(secrets.forCall().at(path)).toBe(true),
)

test.for([
  'a',
  'env',
  'keys2/new',
  'src/.envelope/../a',
  'mount/dotfiles/aws2',
  'mount/.config',
  '.env\0',
  'a.pem.txt',
  'vault/prod/keys',
  'vault/a/b/key',
  '/srv/secrets',
  'mine.key',
])('SPEC 4.9: %s may not', (path) => expect(secrets.forCall().at(path)).toBe(false))

const said = (args: unknown): string | undefined => secrets.forCall().namedIn('other', args, 'others')

test.for([
  [{ sh: 'cat <.env' }, '.env may be secret'],
  [{ '.env': 1 }, '.env may be secret'],
  [{ args: ['notes (old).txt'] }, 'notes (old).txt may be secret'],
  [{ sh: `cat 'notes (old).txt'` }, 'notes (old).txt may be secret'],
  [{ pad: 'x '.repeat(100_000), deep: [{ path: '.env' }] }, '.env may be secret'],
  [{ text: 'hello' }, undefined],
] as const)(
  'SPEC 4.9: any key, text or word of the arguments of another tool may be a path: %j',
  ([args, expected]) => expect(said(args)).toBe(expected),
)

test('SPEC 4.9: what is too much to look at may be secret', () => {
  const tooMuch = 'what it names is too much to look at, so it may be secret'
  const words = Array.from({ length: 20_001 }, (_, i) => i)
  expect(said({ text: words.join(' ') })).toBe(tooMuch)
  expect(said({ text: 'x'.repeat(1_000_001) })).toBe(tooMuch)
  expect(said({ text: words.slice(0, 10_000).join(' ') })).toBeUndefined()
})

test('SPEC 4.9: no arguments are too deep, and no path is too long', () => {
  const nested: unknown = JSON.parse(`${'['.repeat(100_000)}".env"${']'.repeat(100_000)}`)
  expect(said(nested)).toBe('.env may be secret')
  expect(secrets.forCall().namedIn('fs_read_file', { path: 'a/'.repeat(8000) }, 'ours')).toBeUndefined()
  expect(secrets.forCall().at('.env/'.repeat(1000))).toBe(false) // no tool takes it
})

test('a call looks at so much, and takes the rest for secret', () => {
  const deep = Array.from({ length: 1900 }, () => 'a').join('/')
  mkdirSync(join(root, deep), { recursive: true })
  const call = secrets.forCall()
  const answers = Array.from({ length: 20 }, (_, i) => call.at(`${deep}/${i}`))
  expect(answers[0]).toBe(false)
  expect(answers.at(-1)).toBe(true)
  // What is known is known.
  expect(call.at(`${deep}/0`)).toBe(false)
})

test('words are each there once', () => {
  expect(wordsIn({ a: 'b b "c d"' })).toEqual(['b b "c d"', 'b b ', 'c d', 'b', 'c', 'd', 'a'])
})

test('decision 0396: what a call names is looked up once, also for its result; what only the result names is looked up then', () => {
  const call = secrets.forCall()
  expect(call.namedIn('fs_read_file', { path: 'later.txt' }, 'ours')).toBeUndefined()
  // Meanwhile somebody made a link of it: the tool names what it opened.
  symlinkSync('.env', join(root, 'later.txt'))
  expect(['later.txt', '.env'].map((path) => call.at(path))).toEqual([false, true])
  expect(secrets.forCall().at('later.txt')).toBe(true)
})
