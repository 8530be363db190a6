import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { contentsOf, writeBack } from '../../src/outside/write-back.ts'

let base: string
let path: string

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-back-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  for (const name of ['dotfiles/tool', 'victim']) mkdirSync(join(base, name), { recursive: true })
  path = join(base, 'dotfiles/tool/config')
})

const back = (before: ReturnType<typeof contentsOf>): readonly string[] =>
  writeBack([{ path, content: Buffer.from('inside') }], before)
const here = (): ReturnType<typeof contentsOf> => contentsOf([{ path, origin: 'a test' }])

test('SPEC 4.8 what changed inside is written back whole, with its mode, and leaves nothing beside it', () => {
  writeFileSync(path, 'before', { mode: 0o640 })
  expect(back(here())).toEqual([])
  expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['inside', 0o640])
  expect(readdirSync(join(base, 'dotfiles/tool'))).toEqual(['config'])
})

test('SPEC 4.8 what also changed outside stays, with the other beside it', () => {
  writeFileSync(path, 'before')
  const before = here()
  writeFileSync(path, 'outside')
  expect(back(before)).toEqual([
    `${path} was changed outside as well, and stays; what the command made of it is ${path}.from-cordon-1`,
  ])
  expect([readFileSync(path, 'utf8'), readFileSync(`${path}.from-cordon-1`, 'utf8')]).toEqual([
    'outside',
    'inside',
  ])
})

test.each(['dotfiles', 'dotfiles/tool'])(
  'decision 0495: a link that another command put in the place of %s leads nothing elsewhere',
  (swapped) => {
    for (const is of ['there', 'missing']) {
      if (is === 'there') writeFileSync(path, 'before')
      const before = here()
      mkdirSync(join(base, 'victim/tool'), { recursive: true })
      renameSync(join(base, swapped), join(base, 'away'))
      symlinkSync(join(base, 'victim'), join(base, swapped))
      expect(back(before)).toEqual([
        `${path} could not be written back to ${join(base, 'dotfiles/tool')}: a directory on the way to it is a link now, or is gone`,
      ])
      expect([readdirSync(join(base, 'victim')), readdirSync(join(base, 'victim/tool'))]).toEqual([
        ['tool'],
        [],
      ])
      rmSync(join(base, swapped))
      renameSync(join(base, 'away'), join(base, swapped))
      rmSync(path, { force: true })
    }
  },
)
