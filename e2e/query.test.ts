import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CACHE, CORDON, cordon, cordonMeanwhile, type Ended } from './harness/cordon.ts'
import {
  CHANGE,
  conversationIds,
  events,
  here,
  inShell,
  kinds,
  model,
  query,
  READ,
  UNATTENDED,
  write,
} from './harness/query.ts'
import { until } from './harness/waiting.ts'

describe.each(['openai-compatible', 'anthropic', 'openai', 'google'])('SPEC 6.5 a turn over %s', (kind) => {
  test('asks, calls, and asks again; the answer is on standard output, everything is in the log', async () => {
    const { requests } = await model([READ, CHANGE, { text: 'It is **done**.\n' }], UNATTENDED, kind)
    const { code, stdout, stderr } = query('say bye')
    expect(stderr).toContain('✓ changed README.md')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'I change it.\nIt is **done**.\n' })
    expect(readFileSync(join(here.cwd, 'README.md'), 'utf8')).toBe('bye\n')
    expect(kinds()).toEqual([
      'turn',
      'request',
      'response',
      'tool_call',
      'tool_result',
      'response',
      'tool_call',
      'tool_result',
      'response',
    ])
    expect(requests()).toHaveLength(3)
    // What the tool read is what the model was sent.
    expect(JSON.stringify(requests()[1]!.body)).toContain('README.md:\\\\nhello'.replaceAll('\\\\', '\\'))
  })
})

test('SPEC 6.1: a path in a file is a mark to the model and in the log, and the path again in what it writes', async () => {
  write('w/conf.ini', `root=${here.cwd}/data\nhome=${here.home}/x\n`)
  const edits = [{ path: 'conf.ini', old: 'home=<cordon:home>/x', new: 'home=<cordon:home>/y' }]
  const { requests } = await model([
    { calls: [{ tool: 'fs_read_file', arguments: { path: 'conf.ini' } }] },
    { calls: [{ tool: 'fs_modify_file', arguments: { edits } }] },
    { text: 'It is <cordon:home>/y, not <cordon:home>/z.' },
  ])
  const { code, stdout } = query(`set ${here.home}/y`)
  expect({ code, stdout }).toEqual({ code: 0, stdout: `It is ${here.home}/y, not ${here.home}/z.\n` })
  expect(readFileSync(join(here.cwd, 'conf.ini'), 'utf8')).toBe(
    `root=${here.cwd}/data\nhome=${here.home}/y\n`,
  )
  const sent = JSON.stringify(requests().map(({ body }) => body))
  for (const text of [sent, JSON.stringify(events())]) {
    expect(text).not.toContain(here.dir)
    expect(text).toContain('root=<cordon:workspace>/data')
    expect(text).toContain('set <cordon:home>/y')
  }
})

test('SPEC 6.5: the next question goes on with the conversation; --new begins another', async () => {
  const { requests } = await model([{ text: 'one' }, { text: 'two' }, { text: 'three' }])
  query('first question')
  query('second question')
  expect(JSON.stringify(requests()[1]!.body)).toContain('first question')
  expect(conversationIds()).toHaveLength(1)
  query('--new', 'third question')
  expect(JSON.stringify(requests()[2]!.body)).not.toContain('first question')
  expect(conversationIds()).toHaveLength(2)
})

test('--last goes on with what another terminal asked, which is not what this one would', async () => {
  const { requests } = await model([
    { text: 'one' },
    { text: 'two' },
    { text: 'three' },
    { text: 'four' },
    { text: 'five' },
  ])
  const q = (...words: string[]): string => ['"$0" "$1" q', ...words].join(' ')
  const elsewhere = (...words: string[]): string => `setsid -w ${q(...words)}`
  const line = [
    q("'asked here'"),
    elsewhere('--new', "'asked elsewhere'"),
    q('again'),
    elsewhere('--new', "'asked there'"),
    q('--last', "'and again'"),
  ]
  expect(inShell(line.join(' && '), []).code).toBe(0)
  expect(JSON.stringify(requests()[2]!.body)).toContain('asked here')
  const sent = JSON.stringify(requests()[4]!.body)
  expect([sent.includes('asked there'), sent.includes('asked here')]).toEqual([true, false])
})

test('--edit asks what the editor left of the text, and nothing where it left nothing', async () => {
  const { requests } = await model([{ text: 'one' }])
  const edited = (editor: string): Ended =>
    cordon({ ...here, env: { ...here.env, EDITOR: editor } }, 'q', '--edit', 'a draft')
  expect(edited('sed -i s/draft/question/')).toMatchObject({ code: 0, stdout: 'one\n' })
  expect(JSON.stringify(requests()[0]!.body)).toContain('a question')
  expect(edited('truncate -s 0')).toMatchObject({
    code: 2,
    stderr: 'cordon: nothing was written, so nothing is asked\n',
  })
  expect(requests()).toHaveLength(1)
})

test('SPEC 6.5: a file larger than what may be sent is seen in part, and asked for once', async () => {
  write('w/large.txt', `first line\n${'many words '.repeat(20_000)}\nlast line\n`)
  const { requests } = await model([
    { calls: [{ tool: 'fs_read_file', arguments: { path: 'large.txt' } }] },
    { text: 'seen' },
  ])
  const { code, stdout, stderr } = query('--cfg', 'assistant.context_tokens=24000', 'read it')
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'seen\n' })
  expect(stderr).toMatch(
    /warning: left out to save room: the middle of the result of fs_read_file \([\d,]+ characters\)\n/,
  )
  const sent = JSON.stringify(requests()[1]!.body)
  expect(sent).toContain('first line')
  expect(sent).toContain('last line')
  expect(sent).toContain('ask for less at once')
})

describe('SPEC 6.5 without a person', () => {
  test('what would be asked is refused, with the reason, and the file stays', async () => {
    await model([CHANGE, { text: 'a pity' }], '')
    const { code, stderr } = query('--json', 'go')
    expect(stderr).toBe('')
    expect(code).toBe(0)
    expect(events().find(({ kind }) => kind === 'tool_result')).toMatchObject({
      outcome: 'denied',
      text: "tool fs_modify_file: its run mode needs a person, and there is nobody to ask\nto allow it: --cfg 'conversation.tools.fs_modify_file.run=unattended'",
    })
    expect(readFileSync(join(here.cwd, 'README.md'), 'utf8')).toBe('hello\n')
  })

  test('the flag that would allow it works as it is pasted, also for a tool of a server that no layer names', async () => {
    write('w/.env', 'KEY=1\n')
    const server = join(import.meta.dirname, 'harness/small-server.mjs')
    const config = `[providers.mcp.small]
command = ${JSON.stringify(process.execPath)}
arguments = [${JSON.stringify(server)}]
`
    const calls = [
      { tool: 'fs_create_file', arguments: { path: 'a.txt', content: 'x' } },
      { tool: 'fs_read_file', arguments: { path: '.env' } },
      { tool: 'pid', arguments: {} },
    ]
    await model([{ calls }, { text: 'a pity' }, { calls }, { text: 'fine' }], config)
    const denied = query('go')
    const flags = [...denied.stderr.matchAll(/^ +to allow it: (--cfg .*)$/gm)].map(([, flag]) => flag!)
    expect(flags).toEqual([
      "--cfg 'conversation.tools.fs_create_file.run=unattended'",
      "--cfg 'conversation.tools.fs_read_file.run=unattended'",
      `--cfg 'conversation.tools.pid={ source = "mcp.small.pid", run = "unattended" }'`,
    ])
    const script = `exec "$0" "$1" q ${flags.join(' ')} go </dev/null`
    const { status } = spawnSync('/bin/sh', ['-c', script, process.execPath, CORDON], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE, ...here.env },
    })
    expect(status).toBe(0)
    expect(
      events()
        .filter(({ kind }) => kind === 'tool_result')
        .map(({ outcome }) => outcome),
    ).toEqual(['denied', 'denied', 'denied', 'success', 'success', 'success'])
  })

  test('--json is one event a line, --quiet the answer alone', async () => {
    await model([READ, { text: 'so' }, READ, { text: 'so' }])
    const lines = query('--json', 'go')
      .stdout.trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string })
    expect(lines.map(({ kind }) => kind)).toEqual([
      'begin',
      'response',
      'tool_call',
      'tool_result',
      'text',
      'response',
      'end',
    ])
    expect(lines.at(-1)).toEqual({
      kind: 'end',
      outcome: 'done',
      text: 'so',
      usage: { input: 200, cached: 0, output: 40 },
      steps: 2,
      model: 'recorded/x',
    })
    expect(query('--quiet', 'go')).toEqual({ code: 0, stdout: 'so\n', stderr: '' })
  })

  test('what is piped in is added to the text', async () => {
    const { requests } = await model([{ text: 'ok' }])
    const { status } = spawnSync(process.execPath, [CORDON, 'q', 'explain'], {
      cwd: here.cwd,
      input: 'the piped text',
      env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE },
    })
    expect(status).toBe(0)
    expect(JSON.stringify(requests()[0]!.body)).toContain('explain\\n\\nthe piped text')
  })

  test('a reader that leaves is no error', async () => {
    await model([{ text: 'many words '.repeat(2000) }])
    const { status, stderr } = spawnSync(
      '/bin/sh',
      ['-c', `"$0" "$1" q go | head -c 10`, process.execPath, CORDON],
      {
        cwd: here.cwd,
        env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE },
        encoding: 'utf8',
      },
    )
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  })
})

describe('SPEC 6.5 flags', () => {
  test('--schema: JSON that fits, or an error', async () => {
    const schema = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
    const { requests } = await model([
      { text: '{"n": 3}' },
      { text: '{"n": "three"}' },
      { text: 'three' },
      { text: '[1, [2]]' },
    ])
    expect(query('--quiet', '--schema', schema, 'how many?')).toEqual({
      code: 0,
      stdout: '{"n":3}\n',
      stderr: '',
    })
    expect(requests()[0]!.body).toMatchObject({ response_format: { type: 'json_schema' } })
    expect(query('--schema', schema, 'how many?')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'cordon: the answer does not fit the schema: n: expected a whole number, got the string "three"\n',
      ),
    })
    expect(query('--schema', schema, 'how many?')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the answer does not fit the schema: it is not JSON'),
    })
    const nested = '{"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}}'
    expect(query('--quiet', '--schema', nested, 'and a list?')).toMatchObject({
      code: 0,
      stdout: '[1,[2]]\n',
    })
    expect(query('--schema', 'nope.json', 'x')).toEqual({
      code: 2,
      stdout: '',
      stderr: `cordon: --schema nope.json: there is no such file\n  fix: name a file, or write the schema itself: --schema '{"type": "object", …}'\n`,
    })
  })

  test('--schema: a schema that is none is refused before the model is asked', async () => {
    const { requests } = await model([])
    for (const [schema, why] of [
      ['{"type": "objekt"}', 'the schema has the type "objekt", which JSON does not'],
      ['{"properties": {"n": {"type": "int"}}}', 'the schema has the type "int", which JSON does not'],
      ['{"$ref": "#/$defs/x"}', 'the schema refers to "#/$defs/x", which is not there'],
      ['{"properties": {"n": 3}}', 'the schema at /properties/n: expected a schema, got 3'],
      ['{"required": "n"}', 'the schema: required is the string "n"'],
    ])
      expect(query('--schema', schema!, 'x')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`: ${why}\n`),
      })
    expect(requests()).toEqual([])
  })

  test('--schema: JSON in one fence is accepted, and standard output has nothing else', async () => {
    const schema = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
    await model([
      { ...READ, text: 'I look.' },
      { text: '```json\n{"n": 3}\n```\n' },
      { text: '```json\n{"n": "x"}\n```' },
      { text: 'It is:\n```json\n{"n": 3}\n```' },
    ])
    expect(query('--quiet', '--schema', schema, 'how many?')).toEqual({
      code: 0,
      stdout: '{"n":3}\n',
      stderr: '',
    })
    for (let each = 0; each < 2; each++)
      expect(query('--quiet', '--schema', schema, 'how many?')).toMatchObject({ code: 1, stdout: '' })
  })

  test('--json: calls and results have their id, the conversation is named, and an error is an end', async () => {
    await model([READ, { text: 'so' }, { fault: { kind: 'status', status: 400, body: '{}' } }])
    const linesOf = ({ stdout }: Ended): Record<string, unknown>[] =>
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    const lines = linesOf(query('--json', 'go'))
    const [id] = conversationIds()
    expect(lines[0]).toEqual({ kind: 'begin', conversation: id, model: 'recorded/x' })
    const [call, result] = ['tool_call', 'tool_result'].map((kind) =>
      lines.find((line) => line['kind'] === kind),
    )
    expect(call).toMatchObject({ id: expect.stringMatching(/^c\d+_1$/), tool: 'fs_read_file' })
    expect(result!['id']).toBe(call!['id'])
    const failed = query('--json', 'again')
    expect(failed.code).toBe(1)
    expect(linesOf(failed).at(-1)).toEqual({
      kind: 'end',
      outcome: 'failed',
      error: {
        code: 'MODEL_FAILED',
        message: expect.stringContaining('recorded/x: the provider refused the request'),
      },
    })
    const none = query('--json', '--model', 'nobody/x', 'again')
    expect(none.code).toBe(2)
    expect(linesOf(none)).toMatchObject([{ kind: 'end', outcome: 'failed', error: { code: 'MODEL' } }])
  })

  test('--json: every result is of a call that was printed, and what was attached is said', async () => {
    write('w/notes.txt', 'notes\n')
    const unknown = { tool: 'nope', arguments: { a: 1 } }
    await model([{ calls: [unknown, { tool: 'fs_read_file', arguments: 'no JSON' }] }, { text: 'so' }])
    const lines = query('--json', '--attach', 'notes.txt', 'go')
      .stdout.trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.filter(({ kind }) => kind === 'attached')).toEqual([
      { kind: 'attached', items: [{ uri: 'file:///notes.txt', mime_type: 'text/plain', size: 6 }] },
    ])
    const called = lines.filter(({ kind }) => kind === 'tool_call')
    expect(called.map(({ tool, arguments: args }) => [tool, args])).toEqual([
      ['nope', { a: 1 }],
      ['fs_read_file', {}],
    ])
    expect(lines.filter(({ kind }) => kind === 'tool_result').map(({ id }) => id)).toEqual(
      called.map(({ id }) => id),
    )
  })

  test('flags that would do nothing, or contradict each other, are refused', async () => {
    const { requests } = await model([])
    const refused = (said: string) => ({ code: 2, stdout: '', stderr: `cordon: ${said}\n` })
    expect(query('--sensitive', 'hi')).toEqual(
      refused(
        '--sensitive is about what is attached, and nothing is\n  fix: leave it out, or name it: --attach PATH',
      ),
    )
    for (const without of ['--no-tool', '--no-tool=fs_read_file'])
      expect(query('--tool', 'fs_read_file', without, '--', 'hi')).toEqual(
        refused(`--tool fs_read_file and ${without} contradict each other\n  fix: leave one of them out`),
      )
    expect(query('--resume')).toEqual(
      refused('there is nothing to resume: nothing was asked yet\n  fix: ask something'),
    )
    expect(requests()).toEqual([])
  })

  test('--quiet prints no list of tools for a mount', async () => {
    write('forks/a.txt', 'of the fork')
    await model([{ text: 'fine' }])
    expect(query('--quiet', '--mount', 'm=../forks', 'hi')).toEqual({ code: 0, stdout: 'fine\n', stderr: '' })
  })

  test('the room for an answer takes no more than half of what the model takes, and the error names what helps', async () => {
    const own = '[providers.llm.recorded.models.x]\ncontext_tokens = 4000\n'
    const { requests } = await model([{ text: 'fine' }])
    const window = ['--cfg', 'assistant.context_tokens=16384']
    expect(query('--quiet', ...window, 'word '.repeat(4000)).code).toBe(0)
    expect(requests()[0]!.body).toMatchObject({ max_tokens: 8192 })
    await model([], own)
    expect(query(...window, 'word '.repeat(5000))).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^cordon: this turn alone is about \d+ tokens, and 2000 may be sent\n {2}fix: say or attach less, or raise providers\.llm\.recorded\.models\.x\.context_tokens\n$/,
      ),
    })
  })

  test('--tool and --no-tool say what is offered', async () => {
    const { requests } = await model([{ text: '1' }, { text: '2' }, { text: '3' }])
    const offered = (): string[] =>
      ((requests().at(-1)!.body as { tools?: { function: { name: string } }[] }).tools ?? []).map(
        (tool) => tool.function.name,
      )
    query('--tool', 'fs_read_file', '--tool', 'ask_user', 'a')
    expect(offered()).toEqual(['fs_read_file', 'ask_user'])
    query('--no-tool=fs_read_file', 'a')
    expect(offered()).not.toContain('fs_read_file')
    expect(offered()).toContain('fs_list_files')
    query('--no-tool', 'a')
    expect(offered()).toEqual([])
  })

  test('--tool and --no-tool of a name that no tool has are refused, and nothing is begun', async () => {
    const { requests } = await model([])
    expect(query('--tool', 'fs_read_fiel', 'a')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'cordon: no tool is named fs_read_fiel; did you mean fs_read_file?\n',
    })
    const { code, stderr } = query('--no-tool=zzzzzzzzzz', 'a')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /^cordon: no tool is named zzzzzzzzzz; there are: ask_user, describe, fs_/,
      ),
    })
    expect(requests()).toEqual([])
    expect(readdirSync(join(here.cwd, '.cordon'))).not.toContain('conversations')
  })

  test('SPEC 4.9: --attach of a directory leaves out what may be secret, and takes it with --sensitive', async () => {
    write('w/docs/a.txt', 'open')
    write('w/docs/.env', 'TOKEN=hidden')
    const { requests } = await model([{ text: '1' }, { text: '2' }])
    expect(query('--attach', 'docs', 'read').stderr).toContain(
      'warning: left out, because it may be secret: docs/.env; name a file to attach it, or add --sensitive\n',
    )
    expect(JSON.stringify(requests()[0]!.body)).not.toContain('TOKEN')
    expect(query('--new', '--sensitive', '--attach', 'docs', 'read').code).toBe(0)
    expect(JSON.stringify(requests()[1]!.body)).toContain('TOKEN=hidden')
  })

  test('--no-persist keeps nothing', async () => {
    await model([READ, { text: 'seen' }])
    expect(query('--no-persist', 'go')).toMatchObject({ code: 0, stdout: 'seen\n' })
    expect(readdirSync(join(here.cwd, '.cordon'))).not.toContain('conversations')
  })

  test('D03: --attach of what lies outside goes to the model, and its path nowhere', async () => {
    write('Downloads/report.txt', 'the report')
    const { requests } = await model([{ text: 'short' }])
    expect(query('--attach', '../Downloads/report.txt', 'summarise')).toMatchObject({ code: 0 })
    expect(JSON.stringify(requests()[0]!.body)).toMatch(
      /<resource uri=.*external:[0-9a-f]{64}\/report\.txt.*the report/,
    )
    expect(JSON.stringify(events())).not.toContain('Downloads')
  })

  test('D43: --mount links, grants and asks; --no-mount=NAME takes it back; with a space it is a text', async () => {
    write('forks/x/a.txt', 'of the fork')
    const read = { calls: [{ tool: 'fs_read_file', arguments: { path: 'fork/a.txt' } }] }
    await model([read, { text: 'read' }, { text: 'gone' }])
    expect(query('--mount', 'fork=../forks/x', 'fix the bug')).toMatchObject({ code: 0 })
    expect(events().find(({ kind }) => kind === 'tool_result')).toMatchObject({ outcome: 'success' })
    expect(JSON.stringify(events())).not.toContain('forks/x')
    expect(query('--no-mount', 'fork')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'fork is a mount, and after `--no-mount` it is read as text\n  fix: write --no-mount=fork',
      ),
    })
    expect(query('--no-tool', 'fs_read_file')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        'fs_read_file is a tool, and after `--no-tool` it is read as text\n  fix: write --no-tool=fs_read_file',
      ),
    })
    expect(query('--no-mount=fork', 'and now?')).toMatchObject({ code: 0, stdout: 'gone\n' })
    expect(readdirSync(here.cwd)).not.toContain('fork')
  })
})

describe('SPEC 6.5 when it does not work', () => {
  test('no model: the choices are listed, nothing is begun', () => {
    const { code, stderr } = query('hello')
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^cordon: no model is chosen\n {2}fix: .*\n {2}providers:\n {4}anthropic\/… {2}\(needs ANTHROPIC_API_KEY\)/,
    )
    expect(stderr).toContain('`cordon demo`')
    expect(readdirSync(join(here.cwd, '.cordon'))).not.toContain('conversations')
  })

  test('no key, and a key that a command prints; neither is in the log', async () => {
    const { requests } = await model([{ text: 'ok' }])
    const key = '--cfg=providers.llm.recorded.api_key_env=NO_SUCH_KEY'
    const without = query(key, 'hello')
    expect(without.code).toBe(2)
    expect(without.stderr).toContain('there is no key for recorded: NO_SUCH_KEY is not set')
    const command = '--cfg=providers.llm.recorded.api_key_command=["printf", "sk-very-secret"]'
    expect(query(key, command, 'hello').code).toBe(0)
    expect(requests().at(-1)!.headers.authorization).toBe('Bearer sk-very-secret')
    expect(JSON.stringify(events())).not.toContain('sk-very-secret')
  })

  test('a workspace’s files cannot say where the conversation is sent, nor which command prints a key', () => {
    write('w/.cordon/config.toml', '[providers.llm.anthropic]\nbase_url = "http://127.0.0.1:9/v1"\n')
    const { code, stderr } = cordon(here, 'config', 'validate')
    expect(code).toBe(2)
    expect(stderr).toContain('`providers.llm`: the files of a workspace cannot set it, only a person can')
  })

  test.each([
    [401, 'the key was refused', 'recorded status 401'],
    [404, 'the provider does not know this model', 'model x not found'],
    [404, 'there is a server, and no such API at this address', 'not found'],
  ])('status %d: %s', async (status, words, body) => {
    await model([{ fault: { kind: 'status', status, body } }])
    const { code, stderr } = query('hello')
    expect({ code, first: stderr.split('\n')[0] }).toEqual({
      code: 1,
      first: `cordon: recorded/x: ${words}: ${body}`,
    })
    expect(kinds()).toEqual(['turn', 'request'])
  })

  test('a file that the server does not take is named, and `attachment rm` takes it out', async () => {
    writeFileSync(join(here.cwd, 'a.png'), Buffer.from('89504e470d0a1a0a0000000d49484452ff', 'hex'))
    await model([
      { fault: { kind: 'status', status: 500, body: 'image input is not supported' } },
      { text: 'without it' },
    ])
    const { code, stderr } = query('--attach', 'a.png', 'what is it?')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'attached file:///a.png (image/png, 17 B)\ncordon: recorded/x: the model, or its server, does not take an attached file: image input is not supported\n' +
        '  fix: another model may take it; or without it: cordon attachment rm a.png\n',
    })
    expect(cordon(here, 'attachment', 'rm', 'a.png').code).toBe(0)
    expect(query('--resume')).toMatchObject({ code: 0, stdout: 'without it\n' })
  })

  test('broken off: what came is kept, and --resume goes on', async () => {
    const { requests } = await model([
      { text: 'one two three four five six', pace: 5, fault: { kind: 'cut' } },
      { text: 'seven' },
    ])
    const { code, stderr } = query('count')
    expect(code).toBe(1)
    expect(stderr).toContain('`cordon q --resume` asks again; what had arrived is kept')
    expect(events().at(-1)).toMatchObject({
      kind: 'response',
      stop: 'broken',
      text: expect.stringMatching(/^one/),
    })
    expect(query('--resume')).toMatchObject({ code: 0, stdout: 'seven\n' })
    expect(JSON.stringify(requests().at(-1)!.body)).toContain('Go on where you stopped.')
    expect(cordon(here, 'conversation', 'print').stdout).toMatch(
      /^## You\n\ncount\n\n## Assistant \(recorded\/x\)\n\none[a-z ]*\n\n> the answer broke off here\n\n> resumed; Cordon said to the model: Go on where you stopped\.\n\n## Assistant \(recorded\/x\)\n\nseven\n$/,
    )
    expect(query('--resume')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is nothing to resume'),
    })
  })

  test('a question that failed and is asked again in the same words is sent once, and print marks the first', async () => {
    const refused = { fault: { kind: 'status', status: 400, body: '{}' } } as const
    const { requests } = await model([refused, { text: 'fine' }, refused, { text: 'so' }])
    write('w/a.txt', 'attached')
    expect(query('--attach', 'a.txt', 'how are you?').code).toBe(1)
    expect(query('how are you?')).toMatchObject({ code: 0, stdout: 'fine\n' })
    const sent = JSON.stringify(requests().at(-1)!.body)
    expect(sent.match(/how are you\?/g)).toHaveLength(1)
    expect(sent).toContain('attached')
    expect(cordon(here, 'conversation', 'print').stdout).toContain(
      '- file:///a.txt (text/plain)\n\n> no answer came: the turn failed, or was interrupted\n\n## You\n\nhow are you?\n',
    )
    // Other words are another question, and one that was answered stays.
    expect(query('and you?').code).toBe(1)
    expect(query('how are you?').code).toBe(0)
    const last = JSON.stringify(requests().at(-1)!.body)
    expect(last.match(/how are you\?/g)).toHaveLength(2)
    expect(last).toContain('and you?')
  })

  test('kill -9 while a tool runs: the next one knows that nobody knows, and goes on', async () => {
    const tool =
      '[conversation.tools.slow]\nsource = "local"\ncommand = ["sh", "-c", "echo begun > begun; sleep 600"]\n'
    const { requests } = await model(
      [{ calls: [{ tool: 'slow', arguments: {} }] }, { text: 'fine' }],
      UNATTENDED + tool,
    )
    const child = spawn(process.execPath, [CORDON, 'q', 'go'], {
      cwd: here.cwd,
      env: { PATH: process.env['PATH'], HOME: here.home, XDG_CACHE_HOME: CACHE },
      stdio: 'ignore',
    })
    const begun = (): boolean => readdirSync(here.cwd).includes('begun')
    await until(begun)
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(query('--resume')).toMatchObject({ code: 0, stdout: 'fine\n' })
    expect(kinds()).toEqual(['turn', 'request', 'response', 'tool_call', 'tool_result', 'response'])
    expect(JSON.stringify(requests().at(-1)!.body)).toContain('the program ended before the result was known')
  })

  test('an answer that was cut short is not done, and says so', async () => {
    await model([{ text: 'forty-', stop: 'length' }, { text: 'two' }])
    expect(query('how many?')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the answer was cut short; `cordon q --resume` asks for the rest'),
    })
    expect(query('--resume')).toMatchObject({ code: 0, stdout: 'two\n' })
  })
})

test('a provider is added by commands: both keys it needs at once, the others one by one', () => {
  const set = (key: string, value: string): Ended => cordon(here, 'config', 'set', '--user', key, value)
  expect(set('providers.llm.work.base_url', 'http://127.0.0.1:9/v1')).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: error: \`providers.llm.work\`: it has no \`kind\`
  at user:3:1
  fix: write the protocol it speaks: { kind = "openai-compatible", base_url = "http://127.0.0.1:11434/v1" }
`,
  })
  expect(
    set('providers.llm.work', '{ kind = "openai-compatible", base_url = "http://127.0.0.1:9/v1" }').code,
  ).toBe(0)
  expect(set('providers.llm.work.api_key_env', 'WORK_KEY').code).toBe(0)
  expect(query('--model', 'work/x', 'hi').stderr).toContain('there is no key for work: WORK_KEY is not set')
})

test('cordon models: where each key is from, and never the key', async () => {
  await model([])
  const command = 'api_key_command = ["printf", "sk-secret"]'
  write(
    'home/.config/cordon/config.toml',
    `[providers.llm.work]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:9/v1"\n${command}\n`,
  )
  const { stdout } = await cordonMeanwhile(here, 'models')
  expect(stdout).toMatch(/^work +unreachable +http:\/\/127\.0\.0\.1:9\/v1 +key: the command printf +nobody/m)
  expect(stdout).toMatch(/^openai +no key +https:\/\/api\.openai\.com\/v1 +key: OPENAI_API_KEY +/m)
  expect(stdout).not.toContain('sk-secret')
})

test('cordon models: what is configured, and what answers', async () => {
  await model([])
  const { code, stdout } = await cordonMeanwhile(here, 'models', '--json')
  expect(code).toBe(0)
  const { model: chosen, providers } = JSON.parse(stdout) as {
    model: string
    providers: { name: string; state: string; models: string[] }[]
  }
  expect(chosen).toBe('recorded/x')
  const states = Object.fromEntries(providers.map(({ name, state }) => [name, state]))
  expect(states).toMatchObject({ recorded: 'ready', anthropic: 'no key', openai: 'no key', google: 'no key' })
  expect(providers.find(({ name }) => name === 'recorded')!.models).toEqual(['recorded'])
})

test('SPEC 6.5: a plain-text tool that succeeds has its standard error in the result, marked', async () => {
  const sh = (name: string, line: string): string =>
    `[conversation.tools.${name}]\nsource = "local"\ncommand = ["sh", "-c", ${JSON.stringify(line)}]\n`
  const tests = sh('tests', 'cat >/dev/null; echo "Ran 3 tests" >&2; echo OK >&2')
  const both = sh('both', 'cat >/dev/null; echo out; echo err >&2')
  const calls = ['tests', 'both'].map((tool) => ({ tool, arguments: {} }))
  const { requests } = await model([{ calls }, { text: 'fine' }], UNATTENDED + tests + both)
  const { stderr } = query('go')
  expect(
    events()
      .filter(({ kind }) => kind === 'tool_result')
      .map(({ text }) => text),
  ).toEqual(['standard error:\nRan 3 tests\nOK', 'out\n\nstandard error:\nerr'])
  expect(stderr).toContain('✓ standard error:\n    Ran 3 tests\n    OK\n')
  expect(JSON.stringify(requests()[1]!.body)).toContain('Ran 3 tests\\nOK')
  expect(cordon(here, 'tool', 'run', 'both')).toMatchObject({ code: 0, stdout: 'out\n', stderr: 'err\n' })
})
