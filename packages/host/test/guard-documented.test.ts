import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  GIT_ALTERNATES,
  GIT_NAMES,
  GIT_WAITING,
  OWN_NAMES,
  RUN_LATER,
  RUN_LATER_AT_HOME,
} from '../src/guard/names.ts'

/** The list of docs/sandbox.md: what stands in it as code, by the words that each of its lines begins with. */
const page = readFileSync(join(import.meta.dirname, '../../../docs/sandbox.md'), 'utf8')
const [, section = ''] = page.split('\n## The guard\n')
const lines = section.split('\n').filter((line) => line.startsWith('- '))
const namesAfter = (...beginnings: readonly string[]): readonly string[] =>
  lines
    .filter((line) => beginnings.some((words) => line.startsWith(`- ${words}`)))
    .flatMap((line) => [...line.replace(/ Text for the model .*/, '').matchAll(/`([^`]+)`/g)])
    .flatMap(([, name = '']) => expanded(name))

/** As a shell takes braces apart. */
function expanded(name: string): readonly string[] {
  const [, before = '', choices, after = ''] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(name) ?? []
  if (choices === undefined) return [name]
  return choices.split(',').flatMap((choice) => expanded(`${before}${choice}${after}`))
}

test('SPEC 4.10 docs/sandbox.md names what is guarded by its name: all of it, and nothing else', () => {
  const ofWorkspaces = namesAfter(
    'what runs',
    'what a prompt',
    'what package',
    'start-up',
    'of editors',
    'what agents',
  )
  expect(ofWorkspaces.toSorted()).toEqual(RUN_LATER.toSorted())
  const ofHomes = RUN_LATER_AT_HOME.filter((name) => !RUN_LATER.includes(name))
  expect(namesAfter('in your home alone').toSorted()).toEqual(ofHomes.toSorted())
})

test('SPEC 4.10 docs/sandbox.md names what of a git directory is guarded, and of Cordon’s own', () => {
  expect(namesAfter('of every git directory')).toEqual(
    expect.arrayContaining(['hooks', 'commondir', ...GIT_NAMES, ...GIT_WAITING, GIT_ALTERNATES]),
  )
  expect(namesAfter("Cordon's own files")).toEqual(expect.arrayContaining([...OWN_NAMES]))
})

test('SPEC 4.10 docs/spec.md names the git files and those of other version control', () => {
  const spec = readFileSync(join(import.meta.dirname, '../../../docs/spec.md'), 'utf8')
  const line = spec.split('\n').find((each) => each.startsWith('- What the host runs by itself later'))
  for (const name of [
    'hooks',
    'commondir',
    ...GIT_NAMES,
    ...GIT_WAITING,
    GIT_ALTERNATES,
    '.hg/requires',
    '.hg/sharedpath',
  ])
    expect(line).toContain(`\`${name}\``)
})
