import { spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { configSchema } from '@cordon/config'
import { CAPABILITIES } from '@cordon/policy'
import { afterAll, expect, test } from 'vitest'

/** What nothing reads yet, as `Type.key`: for readers that are not built. Empty is how it should be. */
const WILL_BE_READ: string[] = []

const ROOT = join(import.meta.dirname, '../../..')
const copy = mkdtempSync(join(tmpdir(), 'cordon-keys-'))
afterAll(() => rmSync(copy, { recursive: true }))

// The compiler is asked: in a copy of the sources every key of the configuration's types has another name, and who reads a
// key no longer compiles.
test('everything in the configuration is read by something', () => {
  const types = readFileSync(join(ROOT, 'packages/config/src/config.ts'), 'utf8')
  copySources()
  writeFileSync(join(copy, 'packages/config/src/config.ts'), renamed(types))
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', '.', '--pretty', 'false'], {
    cwd: copy,
    encoding: 'utf8',
  })
  const read = stdout.matchAll(
    /^packages\/(?!config\/)\S+ error TS\d+: Property '(\w+)' does not exist on type '(\w+)'/gm,
  )
  const bases = new Map(
    [...types.matchAll(/interface (\w+) extends (\w+) \{/g)].map(([, type, base]) => [type, base]),
  )
  // Of a `Pick` by its names the compiler says no more than that.
  const picked = [
    ...stdout.matchAll(/^packages\/(?!config\/)\S+ error TS2344: Type '([^']+)' .* 'keyof (\w+)'/gm),
  ].flatMap(([, names = '', type]) => [...names.matchAll(/"(\w+)"/g)].map(([, key]) => ['', key, type]))
  const readers = new Set(
    [...read, ...picked].flatMap(([, key, type]) => [`${type}.${key}`, `${bases.get(type)}.${key}`]),
  )
  const keys = [...types.matchAll(/^(?:export )?interface (\w+)[^{\n]* \{\n([^]*?)^\}/gm)].flatMap(
    ([, type, body = '']) =>
      [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].flatMap(([, key = '']) =>
        TABLES.includes(key) ? [] : [`${type}.${key}`],
      ),
  )
  expect(keys.filter((key) => !readers.has(key)).toSorted()).toEqual(WILL_BE_READ)
  expect(keys.length).toBeGreaterThan(30)
})

test('the types have every key of the schema', () => {
  const types = readFileSync(join(ROOT, 'packages/config/src/config.ts'), 'utf8')
  // A rule's own keys are read by @cordon/policy, which makes a rule of them; those of a list by the merge.
  const rules = readFileSync(join(ROOT, 'packages/policy/src/wire/parse-rule.ts'), 'utf8')
  const elsewhere = new Set<string>([...CAPABILITIES, 'strategy', 'dedup', 'value', '*'])
  const missing = keysOf(configSchema()).filter(
    (key) => !elsewhere.has(key) && !new RegExp(`\\b${key}\\??:`).test(types) && !rules.includes(`'${key}'`),
  )
  expect(missing).toEqual([])
})

/** All but the tables that hold others, without which nobody would get to those. */
const TABLES = ['sandbox', 'conversation', 'providers', 'profiles', 'limits', 'access', 'assistant', 'models']

const renamed = (types: string): string =>
  types.replaceAll(/^ {2}readonly (\w+)(\??:)/gm, (line, key: string, rest: string) =>
    TABLES.includes(key) ? line : `  readonly ${key}_${rest}`,
  )

function copySources(): void {
  mkdirSync(join(copy, 'node_modules/@cordon'), { recursive: true })
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@cordon') symlinkSync(join(ROOT, 'node_modules', name), join(copy, 'node_modules', name))
  for (const name of readdirSync(join(ROOT, 'packages'))) {
    symlinkSync(join('../../packages', name), join(copy, 'node_modules/@cordon', name))
    for (const part of ['src', 'package.json'])
      cpSync(join(ROOT, 'packages', name, part), join(copy, 'packages', name, part), { recursive: true })
  }
  const include = ['packages/host/src', 'packages/cli/src']
  const base = JSON.parse(readFileSync(join(ROOT, 'tsconfig.base.json'), 'utf8')) as {
    compilerOptions: object
  }
  const options = {
    ...base.compilerOptions,
    noEmit: true,
    declaration: false,
    isolatedDeclarations: false,
    allowImportingTsExtensions: true,
  }
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include }))
}

/** Of every table in the schema. */
function keysOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  return Object.entries(schema).flatMap(([key, value]) => [
    ...(key === 'properties' ? Object.keys(value as object) : []),
    ...keysOf(value),
  ])
}
