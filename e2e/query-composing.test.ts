import { existsSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atTerminal, events, here, inShell, kinds, model, query, READ, write } from './harness/query.ts'

/** An editor of the test's own, which writes `text` and ends with `code`. It notes that it was started, and whether it has a terminal. */
function editor(text: string, code = 0): string {
  const file = join(here.dir, 'editor.sh')
  writeFileSync(
    file,
    `[ -t 0 ] && [ -t 1 ] && echo terminal > ${here.dir}/started || echo none > ${here.dir}/started\nprintf '%s' '${text}' >> "$1"\nexit ${code}\n`,
  )
  return `sh ${file}`
}

const started = (): string | undefined => {
  try {
    return readFileSync(join(here.dir, 'started'), 'utf8').trim()
  } catch {
    return undefined
  }
}

/** What is said to be kept; it is removed, because others do so only after a week. */
function kept(screen: string): string | undefined {
  const file = /your text is kept: (\S+)/.exec(screen)?.[1]
  if (file === undefined) return undefined
  const text = readFileSync(file, 'utf8')
  rmSync(dirname(file), { recursive: true })
  return text
}

const asked = (): unknown[] => events().flatMap((event) => (event.kind === 'request' ? [event['text']] : []))

describe('`cordon q -e`', () => {
  test('what can be known to be wrong is said before anybody writes', () => {
    const played = atTerminal(['-e'], [], { EDITOR: editor('a long text') })
    expect(played.code).toBe(2)
    expect(played.screen).toContain('no model is chosen')
    expect(started()).toBeUndefined()
  })

  test('what fails later keeps the text, and says where', async () => {
    await model([{ text: 'never' }])
    const played = atTerminal(['-e', '--attach', 'missing.txt', 'typed '], [], {
      EDITOR: editor('and written'),
    })
    expect(played.code).not.toBe(0)
    expect(played.screen).toContain('missing.txt')
    expect(kept(played.screen)).toBe('typed and written')
  })

  test('an editor that fails is named with its code, and the text is kept', async () => {
    await model([{ text: 'never' }])
    const played = atTerminal(['-e', 'typed '], [], { EDITOR: editor('and written', 3) })
    expect(played.code).toBe(2)
    expect(played.screen).toContain('failed (exit 3)\n')
    expect(played.screen).not.toContain('nothing was written')
    expect(kept(played.screen)).toBe('typed and written')
  })

  test('piped in: the editor has the terminal, and what is piped is added', async () => {
    await model([{ text: 'fine' }])
    write('w/piped.txt', 'the difference')
    const played = inShell(`cat piped.txt | EDITOR='${editor('what I want')}' "$0" "$1" q -e`, [])
    expect(played.code).toBe(0)
    expect(started()).toBe('terminal')
    expect(asked()).toEqual(['what I want\n\nthe difference'])
  })

  test('without a terminal an editor that needs none still works', async () => {
    await model([{ text: 'fine' }])
    Object.assign(here, { env: { ...here.env, EDITOR: editor('what I want') } })
    expect(query('-e')).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(asked()).toEqual(['what I want'])
  })

  test('a text that was kept long ago is removed by the next one that is written', async () => {
    await model([{ text: 'fine' }])
    const old = mkdtempSync(join(tmpdir(), 'cordon-text-'))
    writeFileSync(join(old, 'query.md'), 'nobody came back to it')
    utimesSync(join(old, 'query.md'), 0, 0)
    Object.assign(here, { env: { ...here.env, EDITOR: editor('what I want'), TMPDIR: tmpdir() } })
    expect(query('-e')).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(existsSync(old)).toBe(false)
  })
})

test('--resume takes neither a text nor an attachment, and says what does', async () => {
  await model([{ text: 'one', fault: { kind: 'cut' } }, { text: 'never' }])
  query('go')
  const before = kinds()
  expect(query('--resume', 'and more')).toMatchObject({
    code: 2,
    stderr:
      'cordon: --resume goes on with a turn as it was begun, and takes no text\n' +
      '  fix: cordon q "…", which begins the next turn; or cordon q --resume alone\n',
  })
  expect(query('--resume', '--attach', 'README.md')).toMatchObject({
    code: 2,
    stderr:
      'cordon: --resume goes on with a turn as it was begun, and takes no attachments\n' +
      '  fix: cordon q --attach FILE "…", which begins the next turn; or cordon q --resume alone\n',
  })
  expect(kinds()).toEqual(before)
})

test('--attach says what was attached, in the form that was asked for', async () => {
  await model([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
  const said = 'attached file:///README.md (text/markdown, 6 B)\n'
  expect(query('--attach', 'README.md', 'go')).toEqual({ code: 0, stdout: 'one\n', stderr: said })
  expect(query('--quiet', '--attach', 'README.md', 'go')).toEqual({ code: 0, stdout: 'two\n', stderr: '' })
  const { stdout, stderr } = query('--json', '--attach', 'README.md', 'go')
  expect(stderr).toBe('')
  expect(stdout).toContain(
    '{"kind":"attached","items":[{"uri":"file:///README.md","mime_type":"text/markdown","size":6}]}\n',
  )
})

test('no answer at all is no success', async () => {
  await model([{ text: '' }, READ, { text: ' \n' }, { ...READ, text: 'I look.' }, { text: '' }])
  const none = { code: 1, stderr: expect.stringContaining('warning: the model had no answer\n') }
  expect(query('go')).toMatchObject(none)
  expect(query('go')).toMatchObject(none)
  // It said something, before it did what it said.
  expect(query('go')).toMatchObject({ code: 0, stdout: 'I look.\n' })
})

test('assistant.instructions come after what Cordon says, and before the conversation', async () => {
  const { requests } = await model([{ text: 'yes' }])
  expect(query('--cfg', 'assistant.instructions="Answer briefly."', 'hi').code).toBe(0)
  const [system, first] = (requests()[0]!.body as { messages: { role: string; content: string }[] }).messages
  expect(system).toEqual({
    role: 'system',
    content: expect.stringMatching(/^You help a person in a workspace[^]*\n\nAnswer briefly\.$/),
  })
  expect(first!.role).toBe('user')
})
