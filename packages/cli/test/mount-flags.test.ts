import type { MountFlag } from '@cordon/host'
import { Command as Parser } from 'commander'
import { expect, test } from 'vitest'
import { mountFlagsOf, type MountFlags, withBareNoMount, withMountFlags } from '../src/mount-flags.ts'

/** What a command with the flags and one text would see. */
function parse(...argv: string[]): { flags: readonly MountFlag[]; text: string | undefined } {
  const parser = withMountFlags(new Parser('query')).argument('[text]').exitOverride()
  parser.parse(withBareNoMount(argv), { from: 'user' })
  return { flags: mountFlagsOf(parser.opts<MountFlags>()), text: parser.args[0] }
}

const mount = (text: string): MountFlag => ({ kind: 'mount', text })
const noMount = (name?: string): MountFlag => ({ kind: 'no-mount', name })

test('SPEC 3.3 and 3.4 flags are kept in the order they were typed', () => {
  expect(parse('--mount', 'a=/p1', '--mount=t:b=/p2:rw', 'text')).toEqual({
    flags: [mount('a=/p1'), mount('t:b=/p2:rw')],
    text: 'text',
  })
  expect(parse('--no-mount', '--mount', 'a=/p', '--no-mount=a', '--mount', 'b=/p')).toEqual({
    flags: [noMount(), mount('a=/p'), noMount('a'), mount('b=/p')],
    text: undefined,
  })
  expect(parse('text')).toEqual({ flags: [], text: 'text' })
})

test('SPEC 3.4 a bare --no-mount does not take the next word for a name', () => {
  expect(parse('--no-mount', 'explain this')).toEqual({ flags: [noMount()], text: 'explain this' })
  expect(parse('--mount', 'a=/p', '--no-mount', 'text')).toEqual({
    flags: [mount('a=/p'), noMount()],
    text: 'text',
  })
  expect(parse('--', '--no-mount')).toEqual({ flags: [], text: '--no-mount' })
})
