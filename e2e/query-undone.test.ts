import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { cordon } from './harness/cordon.ts'
import {
  atTerminal,
  conversationIds,
  conversations,
  here,
  kinds,
  model,
  query,
  write,
} from './harness/query.ts'

/** What is mounted, approved, said and current. */
const state = () => ({
  workspace: readdirSync(here.cwd).toSorted(),
  conversations: existsSync(conversations()) ? conversationIds() : [],
  approvals: readdirSync(join(here.home, '.local'), { recursive: true, withFileTypes: true })
    .filter(({ name }) => name === 'approvals.json')
    .map((entry) =>
      readFileSync(join(entry.parentPath, entry.name), 'utf8').replaceAll(/"approved_at".*/g, ''),
    ),
  mounts: cordon(here, 'mount', 'ls').stdout,
})

describe('SPEC 3.3: of a command that fails or is declined, nothing is left', () => {
  beforeEach(async () => {
    write('forks/x/a.txt', 'of the fork')
    await model([{ text: 'one' }, { text: 'two' }])
    // So that there is something to leave as it was.
    expect(query('--mount', 'kept=../forks/x', 'first').code).toBe(0)
  })

  test.each([
    [
      'an unknown tool',
      ['--new', '--mount', 'm=../forks/x', '--tool', 'nope', 'hi'],
      'no tool is named nope',
    ],
    [
      'an attachment that is not there',
      ['--new', '--mount', 'm=../forks/x', '--attach', 'nofile', 'hi'],
      'nofile',
    ],
    [
      'the same in the conversation that goes on',
      ['--mount', 'm=../forks/x', '--attach', 'nofile', 'hi'],
      'nofile',
    ],
    ['a mount that is taken back', ['--no-mount=kept', '--attach', 'nofile', 'hi'], 'nofile'],
    ['nothing to resume', ['--mount', 'm=../forks/x', '--resume'], 'there is nothing to resume'],
    ['only an attachment', ['--new', '--attach', 'nofile', 'hi'], 'nofile'],
    ['a new one to resume', ['--new', '--resume'], "option '--resume' cannot be used with option '--new'"],
  ])('%s', (_what, args, said) => {
    const before = state()
    const { code, stderr } = query(...args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(said) })
    expect(stderr).not.toContain('taken back')
    expect(state()).toEqual(before)
    // The conversation that was current still is.
    expect(query('next')).toMatchObject({ code: 0, stdout: 'two\n' })
    expect(kinds().filter((kind) => kind === 'turn')).toHaveLength(2)
  })

  test('a declined mount leaves no conversation', () => {
    const before = state()
    const played = atTerminal(['--new', '--mount', 'm=../forks/x', 'hi'], [['[y/N]', 'n\r']])
    expect(played).toMatchObject({ missed: [], code: 2 })
    expect(state()).toEqual(before)
  })

  test('an attachment through the mount of the same command is found', () => {
    expect(query('--new', '--mount', 'm=../forks/x', '--attach', 'm/a.txt', 'hi')).toMatchObject({
      code: 0,
      stdout: 'two\n',
    })
  })
})
