import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Secrets } from '../../src/execute/secrets.ts'

const base = mkdtempSync(join(tmpdir(), 'cordon-secrets-'))
afterAll(() => rmSync(base, { recursive: true }))
const [root, home] = [join(base, 'w'), join(base, 'h')]
mkdirSync(root)
mkdirSync(join(home, '.ssh'), { recursive: true })
symlinkSync(join(home, '.ssh'), join(root, 'keys'))
const secrets = new Secrets({ root, home, patterns: ['~/.ssh', '**/.env*'] })

test.for([
  '.env',
  './.env',
  'a/../.env',
  'deep/er/.env.local',
  'keys',
  'keys/new',
  'keys/new/er',
  '~/.ssh/id',
])('SPEC 4.9: %s may be secret, also where nothing is there yet', (path) =>
  expect(secrets.at(path)).toBe(true),
)

test.for(['a', 'env', 'keys2/new', 'src/.envelope/../a'])('SPEC 4.9: %s may not', (path) =>
  expect(secrets.at(path)).toBe(false),
)
