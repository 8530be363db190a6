import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeConfigFile } from '../src/config-file.ts'

const directory = (): string => mkdtempSync(join(tmpdir(), 'cordon-write-'))

function refusal(work: () => void): unknown {
  try {
    work()
  } catch (error) {
    return { code: (error as { code?: string }).code, message: (error as Error).message }
  }
  return 'written'
}

test('a new file, then another text: the mode stays, nothing else is left', () => {
  const here = directory()
  const file = join(here, 'config.toml')
  writeConfigFile(file, 'a = 1\n', undefined)
  chmodSync(file, 0o640)
  writeConfigFile(file, 'a = 2\n', 'a = 1\n')
  expect(readFileSync(file, 'utf8')).toBe('a = 2\n')
  expect(statSync(file).mode & 0o7777).toBe(0o640)
  expect(readdirSync(here)).toEqual(['config.toml'])
})

test('bad TOML, a change by somebody else, a link, a directory: nothing is written', () => {
  const here = directory()
  const file = join(here, 'config.toml')
  writeFileSync(file, 'a = 1\n')
  symlinkSync('config.toml', join(here, 'link.toml'))
  mkdirSync(join(here, 'd.toml'))
  expect(refusal(() => writeConfigFile(file, 'a = ', 'a = 1\n'))).toEqual({
    code: 'CONFIG',
    message: `error: not valid TOML: invalid value\n  at ${file}:1:5`,
  })
  expect(refusal(() => writeConfigFile(file, 'a = 2\n', 'a = 0\n'))).toEqual({
    code: 'CONFIG_WRITE',
    message: `cannot write ${file}: somebody else changed it meanwhile\n  fix: try again`,
  })
  expect(refusal(() => writeConfigFile(file, 'a = 2\n', undefined))).toEqual({
    code: 'CONFIG_WRITE',
    message: `cannot write ${file}: somebody else changed it meanwhile\n  fix: try again`,
  })
  expect(refusal(() => writeConfigFile(join(here, 'link.toml'), 'a = 2\n', 'a = 1\n'))).toEqual({
    code: 'CONFIG_WRITE',
    message: `cannot write ${here}/link.toml: it is a symbolic link\n  fix: edit the file that it points to`,
  })
  expect(refusal(() => writeConfigFile(join(here, 'd.toml'), 'a = 2\n', undefined))).toEqual({
    code: 'CONFIG_WRITE',
    message: `cannot write ${here}/d.toml: it is not a regular file\n  fix: take it away`,
  })
  expect(refusal(() => writeConfigFile(join(here, 'no/x.toml'), 'a = 2\n', undefined))).toEqual({
    code: 'CONFIG_WRITE',
    message: `cannot write ${here}/no/x.toml: its directory does not exist\n  fix: make its directory writable, then try again`,
  })
  expect(readFileSync(file, 'utf8')).toBe('a = 1\n')
  expect(readdirSync(here).toSorted()).toEqual(['config.toml', 'd.toml', 'link.toml'])
})

test('no permission, as an ordinary user: an error, and the file as it was', () => {
  const here = directory()
  const file = join(here, 'config.toml')
  writeFileSync(file, 'a = 1\n')
  chmodSync(here, 0o555)
  const script = `
    import { writeConfigFile } from '../src/config-file.ts'
    try { writeConfigFile(${JSON.stringify(file)}, 'a = 2', 'a = 1\\n') } catch (error) { console.log(error.code, error.message) }`
  const node = [
    process.execPath,
    '--conditions=cordon-source',
    '--input-type=module-typescript',
    '-e',
    script,
  ]
  const command =
    process.getuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', ...node] : node
  const { stdout } = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8', cwd: import.meta.dirname })
  expect(stdout).toBe(
    `CONFIG_WRITE cannot write ${file}: no permission\n  fix: make its directory writable, then try again\n`,
  )
  expect(readFileSync(file, 'utf8')).toBe('a = 1\n')
  expect(readdirSync(here)).toEqual(['config.toml'])
})
