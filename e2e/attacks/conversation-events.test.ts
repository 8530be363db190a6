import {
  appendFileSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { PEOPLE, Place } from '../harness/place.ts'

/** SPEC 2.1: a conversation's log lies in the workspace, where confined commands may write; its events are no person's word. */
describe.each(PEOPLE)('what somebody writes into a conversation’s log, seen by $name', (person) => {
  let place: Place
  let log: string

  beforeEach(() => {
    place = new Place(person)
    place.write('note.txt', 'x')
    place.write(join(place.home, 'secret'), 'mine')
    const readOnly = '[[conversation.tools.fs_read_file.access.fs]]\npath = "."\nread = true\n'
    place.write(join(place.home, '.config/cordon/config.toml'), readOnly)
    mkdirSync(join(place.dir, 'outside'))
    place.give(join(place.dir, 'outside'))
    // A person's own change: sealed, and from now on the conversation that commands use.
    const mounted = place.cordon(['mount', 'add', `fs_read_file:out=${place.dir}/outside`])
    expect(mounted).toMatchObject({ code: 0 })
    const conversations = join(place.root, '.cordon/conversations')
    log = join(conversations, readdirSync(conversations)[0]!, 'events.jsonl')
  })

  const event = (delta: object): string =>
    JSON.stringify({ kind: 'config', at: '2026-01-01T00:00:00.000Z', delta })
  const off = event({ sandbox: { mode: 'off' } })
  const grant = event({
    conversation: {
      tools: { fs_delete_file: { access: { fs: [{ path: '.', read: true, delete: true }] } } },
    },
  })
  const mayDelete = (): number | null => place.cordon(['why', 'fs_delete_file', 'delete', 'note.txt']).code
  const seesSecret = (): boolean =>
    place.run(['--', 'sh', '-c', `cat ${place.home}/secret 2>/dev/null; true`]).stdout.includes('mine')
  const hasMount = (): boolean => place.cordon(['mount', 'ls']).stdout.includes('out')

  test('a confined command appends sandbox.mode = "off", and a rule: the next command has neither', () => {
    const before = readFileSync(log, 'utf8')
    for (const line of [off, grant])
      place.run([
        '--',
        'sh',
        '-c',
        `printf '%s\\n' "$1" >> "$2"`,
        'sh',
        line,
        log.slice(place.root.length + 1),
      ])
    // Whether or not the sandbox let it write there: it is written now.
    writeFileSync(log, `${before}${off}\n${grant}\n`)
    expect(seesSecret()).toBe(false)
    expect(mayDelete()).not.toBe(0)
  })

  test('the person’s own rule is there as before, and a copy of it in another place is nothing', () => {
    expect(hasMount()).toBe(true)
    const [sealed] = readFileSync(log, 'utf8').match(/^.*"config".*$/m)!
    const { delta } = JSON.parse(sealed) as { delta: object }
    expect(JSON.stringify(delta)).toContain('"external":true')
    expect(sealed).toMatch(/,"seal":"[0-9a-f]{64}"\}$/)
    const other = place.cordon(['conversation', 'fork', '--json'])
    expect(other.code).toBe(0)
    expect(hasMount()).toBe(true) // sealed anew
    rmSync(join(place.home, '.local/share/cordon'), { recursive: true }) // as on another machine, or in a clone
    const fresh = place.cordon(['why', 'fs_read_file', 'read', 'note.txt', '--id', other.stdout.trim()])
    expect(fresh.stdout).not.toContain('conversation')
  })

  test('an event with a changed, cut or made-up seal grants nothing', () => {
    const [sealed] = readFileSync(log, 'utf8').match(/^.*"config".*$/m)!
    for (const forged of [
      sealed.replace('"read":true', '"read":true,"delete":true'),
      grant.replace(/\}$/, `,"seal":"${'a'.repeat(64)}"}`),
      grant.replace(/\}$/, sealed.slice(sealed.lastIndexOf(',"seal"'))),
    ]) {
      expect(forged).not.toBe(sealed)
      appendFileSync(log, `${forged}\n`)
    }
    expect(mayDelete()).not.toBe(0)
    expect(seesSecret()).toBe(false)
  })

  test('a log that was rolled back: nothing of it takes effect, and nothing is added to it', () => {
    const before = readFileSync(log, 'utf8')
    expect(place.cordon(['mount', 'rm', 'out']).code).toBe(0)
    expect(hasMount()).toBe(false)
    writeFileSync(log, before) // the mount is in it, and that it was taken back is not
    expect(hasMount()).toBe(false)
    const again = place.cordon(['mount', 'add', `fs_read_file:out=${place.dir}/outside`])
    expect(again.code).not.toBe(0)
    expect(again.stdout).toBe('')
    expect(readFileSync(log, 'utf8')).toBe(before)
  })

  test('what is left of it takes effect when it is trusted, and who trusts it is told that some is gone', () => {
    const before = readFileSync(log, 'utf8')
    expect(place.cordon(['mount', 'rm', 'out']).code).toBe(0)
    writeFileSync(log, before)
    const gone = `  the log was cut or replaced: not all of your own changes of this conversation are there any more, and what is left takes effect only as it is trusted here.
  What the missing ones granted is not granted, and what they took away is not taken away.

`
    const grants = `  places outside the workspace, once their targets are approved:
    out: read (tool fs_read_file)
`
    const id = log.split('/').at(-2)!
    expect(place.cordon(['trust', 'show'])).toMatchObject({
      code: 0,
      stdout: `conversations/${id} came with the files, and nobody has trusted it. It would grant:\n\n${gone}${grants}`,
    })
    expect(hasMount()).toBe(false)
    expect(place.cordon(['trust', '--yes'])).toMatchObject({
      code: 0,
      stdout: `trusted conversations/${id}\n${gone}${grants}`,
    })
    expect(hasMount()).toBe(true)
  })

  test('the key and what is known of the log are the person’s alone, and not in the workspace', () => {
    const places = join(place.home, '.local/share/cordon/workspace')
    const seals = join(
      places,
      readdirSync(places).find((name) => !name.startsWith('.'))!,
      'seals',
    )
    expect(readdirSync(seals)).toHaveLength(2)
    for (const name of ['.', ...readdirSync(seals)]) {
      const { mode, uid } = statSync(join(seals, name))
      expect([name, mode & 0o077, uid]).toEqual([name, 0, person.uid ?? 0])
    }
    const seen = place.run(['--', 'sh', '-c', `cat ${seals}/key; echo x > ${seals}/key; ls ${places}`])
    expect(seen.stdout).toBe('')
    expect(statSync(join(seals, 'key')).size).toBe(32)
  })

  if (person.uid !== undefined)
    test('what another user sealed is foreign', () => {
      chownSync(log, 0, 0) // written by root for itself: another home, another key
      expect(hasMount()).toBe(true)
      const roots = new Place({ name: 'root' })
      const foreign = roots.cordon(['mount', 'ls', '--json'], {
        cwd: place.root,
        env: { CORDON_TRUST_UID: String(person.uid) },
      })
      expect(foreign.stdout).not.toContain('"out"')
    })
})
