import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { CACHE, CORDON, cordon } from './harness/cordon.ts'
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
      readFileSync(join(entry.parentPath, entry.name), 'utf8').replaceAll(
        /"(?:approved_at|as_written)".*/g,
        '',
      ),
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

describe('SPEC 6.1: what another terminal took up meanwhile is theirs', () => {
  /** `cordon q --last` of another terminal, as soon as there is a conversation; `done` is there when it has ended. */
  const anotherTerminal = () => {
    const script = `until ls .cordon/conversations/*/events.jsonl >"$2/found" 2>&1; do sleep 0.1; done
"$0" "$1" q --quiet --last "a question of theirs" >"$2/answer" 2>&1; touch "$2/done"`
    return spawn('/bin/sh', ['-c', script, process.execPath, CORDON, here.dir], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE, ...here.env },
      stdio: 'ignore',
      detached: true, // a session of its own
    })
  }

  test.each([
    ['whoever leaves an idle prompt', [], '\u0004', 0],
    ['a mount that is declined', ['--mount', 'm=../forks/x', 'hi'], 'n\r', 2],
  ])('%s does not remove it', async (_what, args, typed, code) => {
    write('forks/x/a.txt', 'of the fork')
    await model([{ text: 'an answer to them' }])
    const other = anotherTerminal()
    const ended = once(other, 'exit')
    const played = atTerminal(['--new', ...args], [[`file:${join(here.dir, 'done')}`, typed]])
    await ended
    expect(played).toMatchObject({ missed: [], code })
    expect(played.screen).not.toContain('taken back')
    expect(readFileSync(join(here.dir, 'answer'), 'utf8')).toBe('an answer to them\n')
    expect(kinds()).toEqual(['turn', 'request', 'response'])
  })
})
