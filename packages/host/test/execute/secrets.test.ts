import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { lookedUpOnce, Secrets } from '../../src/execute/secrets.ts'

const base = mkdtempSync(join(tmpdir(), 'cordon-secrets-'))
afterAll(() => rmSync(base, { recursive: true }))
const [root, home] = [join(base, 'w'), join(base, 'h')]
mkdirSync(root)
mkdirSync(join(home, '.ssh'), { recursive: true })
symlinkSync(join(home, '.ssh'), join(root, 'keys'))
const patterns = ['~/.ssh', '**/.env*', '*.pem', '**/vault/*/key', '/srv/secret']
const secrets = new Secrets({ root, home, patterns })

test.for([
  '.env',
  './.env',
  'a/../.env',
  'deep/er/.env.local',
  'keys',
  'keys/new',
  'keys/new/er',
  '~/.ssh/id',
  '.env.d/below/it',
  'a/tls.pem',
  'a/tls.pem/below/it',
  'a/vault/prod/key',
  'a/vault/prod/key/below/it',
  '/srv/secret/of/all',
  '/elsewhere/.env',
])('SPEC 4.9: %s may be secret, also where nothing is there yet', (path) =>
  expect(secrets.at(path)).toBe(true),
)

test.for([
  'a',
  'env',
  'keys2/new',
  'src/.envelope/../a',
  'a.pem.txt',
  'vault/prod/keys',
  'vault/a/b/key',
  '/srv/secrets',
])('SPEC 4.9: %s may not', (path) => expect(secrets.at(path)).toBe(false))

test('decision 0396: what a call names is looked up once, also for its result; what only the result names is looked up then', () => {
  const looked: string[] = []
  const isSecret = lookedUpOnce((path) => {
    looked.push(path)
    return secrets.at(path)
  })
  expect(secrets.namedIn('fs_read_file', { path: 'a.txt' }, 'ours', isSecret)).toBeUndefined()
  // Meanwhile somebody made a link of it: the tool names what it opened.
  expect(['a.txt', 'keys/id', 'a.txt', 'keys/id'].map(isSecret)).toEqual([false, true, false, true])
  expect(looked).toEqual(['a.txt', 'keys/id'])
})
