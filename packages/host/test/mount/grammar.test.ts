import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MountError } from '../../src/mount/errors.ts'
import { type MountRequest, parseMount } from '../../src/mount/grammar.ts'

const parsed = (text: string): Omit<MountRequest, 'text'> => {
  const { text: kept, ...rest } = parseMount(text)
  expect(kept).toBe(text)
  return rest
}

const refused = (text: string): string => {
  try {
    parseMount(text)
  } catch (error) {
    if (error instanceof MountError) return error.message
    throw error
  }
  return 'accepted'
}

test('SPEC 3.3 every row of the mode table', () => {
  expect(parsed('fork=/p')).toEqual({ tool: undefined, name: 'fork', path: '/p', mode: 'ro' })
  expect(parsed('fork=/p:ro')).toEqual({ tool: undefined, name: 'fork', path: '/p', mode: 'ro' })
  expect(refused('fork=/p:rw')).toBe(
    'mount fork=/p:rw: `:rw` requires a TOOL: prefix\n  fix: say who may write: fs_modify_file:fork=/p:rw; each tool in a command of its own',
  )
  expect(parsed('t:fork=/p')).toEqual({ tool: 't', name: 'fork', path: '/p', mode: 'ro' })
  expect(parsed('t:fork=/p:ro')).toEqual({ tool: 't', name: 'fork', path: '/p', mode: 'ro' })
  expect(parsed('t:fork=/p:rw')).toEqual({ tool: 't', name: 'fork', path: '/p', mode: 'rw' })
})

test('SPEC 3.3 the examples', () => {
  expect(parsed('fork=~/code/forks/serde-yaml')).toMatchObject({
    path: '~/code/forks/serde-yaml',
    mode: 'ro',
  })
  expect(parsed('fs_modify_file:fork=~/code/forks/x:rw')).toEqual({
    tool: 'fs_modify_file',
    name: 'fork',
    path: '~/code/forks/x',
    mode: 'rw',
  })
  expect(parsed('fs_read_file:fork=C:\\code\\forks\\x:ro')).toEqual({
    tool: 'fs_read_file',
    name: 'fork',
    path: 'C:\\code\\forks\\x',
    mode: 'ro',
  })
})

test('SPEC 3.3 split on the first =, and only :ro and :rw are peeled, only at the end, only once', () => {
  expect(parsed('a=b=c')).toMatchObject({ name: 'a', path: 'b=c' })
  expect(parsed('a=C:\\x')).toMatchObject({ path: 'C:\\x', mode: 'ro' })
  expect(parsed('t:a=/x:ro:rw')).toMatchObject({ path: '/x:ro', mode: 'rw' })
  expect(parsed('a=/x:rx')).toMatchObject({ path: '/x:rx', mode: 'ro' })
  expect(parsed('a=/x:RW')).toMatchObject({ path: '/x:RW', mode: 'ro' })
  expect(parsed('a=/rw')).toMatchObject({ path: '/rw', mode: 'ro' })
  expect(parsed('a=/x:rw/y')).toMatchObject({ path: '/x:rw/y', mode: 'ro' })
})

test('SPEC 3.3 the tool is what stands before the first :', () => {
  expect(parsed('_t9:a:b=/p')).toMatchObject({ tool: '_t9', name: 'a:b' })
  expect(parsed('t:foo/bar/baz=/p')).toMatchObject({ tool: 't', name: 'foo/bar/baz' })
  for (const [tool, shown] of [
    ['', '""'],
    ['9t', '"9t"'],
    ['T', '"T"'],
    ['my-tool', '"my-tool"'],
    ['C', '"C"'],
    ['t\u001b[2J', '"t\\u001b[2J"'],
  ])
    expect(refused(`${tool}:a=/p`)).toContain(
      `: ${shown} is not a tool name; before the : stand only a-z, 0-9 and _`,
    )
})

test('SPEC 3.3 what is missing is named', () => {
  expect(refused('fork')).toBe('mount fork: expected [TOOL:]NAME=PATH[:ro|:rw], and there is no =')
  expect(refused('')).toBe('mount "": expected [TOOL:]NAME=PATH[:ro|:rw], and there is no =')
  expect(refused('=/p')).toBe('mount =/p: expected [TOOL:]NAME=PATH[:ro|:rw], and the NAME is empty')
  expect(refused('t:=/p')).toBe('mount t:=/p: expected [TOOL:]NAME=PATH[:ro|:rw], and the NAME is empty')
  expect(refused('fork=')).toBe('mount fork=: expected [TOOL:]NAME=PATH[:ro|:rw], and the PATH is empty')
  expect(refused('fork=:ro')).toBe(
    'mount fork=:ro: expected [TOOL:]NAME=PATH[:ro|:rw], and the PATH is empty',
  )
})

test('SPEC 3.3 the parts can be put together again, and junk is refused with a MountError', () => {
  const name = fc.stringMatching(/^[^:=]+$/)
  const path = fc.string({ minLength: 1 }).filter((text) => !/:r[ow]$/.test(text))
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z_][a-z0-9_]*$/),
      name,
      path,
      fc.constantFrom('ro', 'rw'),
      (...parts) => {
        const [tool, mountName, mountPath, mode] = parts
        expect(parsed(`${tool}:${mountName}=${mountPath}:${mode}`)).toEqual({
          tool,
          name: mountName,
          path: mountPath,
          mode,
        })
      },
    ),
  )
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void refused(text)))
})
