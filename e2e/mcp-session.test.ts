import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { GatewayClient, serversOf, smallPlace } from './harness/gateway.ts'
import { Place } from './harness/place.ts'
import { until } from './harness/waiting.ts'

test('SPEC 5.1: many stateless calls at once all finish, and leave no process', async () => {
  const place = smallPlace('stateful = false\nspare = true')
  const calls = Number(process.env['CORDON_CALLS'] ?? 24)
  const gateway = await GatewayClient.open(place)
  await gateway.names()
  const asked = Promise.all(Array.from({ length: calls }, () => gateway.text('pid')))
  await until(() => serversOf(place).length > 1) // not one after the other
  const all = await asked
  expect(new Set(all).size).toBe(calls) // none was used twice
  // While the gateway goes on: nothing is left but the one that waits for the next call.
  await until(() => serversOf(place).length <= 1)
  expect(await gateway.close()).toBe(0)
  await until(() => serversOf(place).length === 0)
})

test('SPEC 5.5: a client that vanishes in the middle of a call leaves no process', async () => {
  for (const more of ['', 'stateful = false']) {
    const place = smallPlace(more)
    const gateway = await GatewayClient.open(place)
    void gateway.text('slow').catch(() => undefined)
    await until(() => serversOf(place).length > 0)
    expect(await gateway.close()).toBe(0)
    await until(() => serversOf(place).length === 0)
  }
})

test('SPEC 4.7: what a local tool was refused is said to the model, and to the person with what would allow it', async () => {
  const place = new Place()
  place.write('src/a', 'alpha\n')
  place.config(`
[conversation.tools.get]
source = "local"
run = "unattended"
command = ["sh", "-c", "curl -sS http://other.example/x; echo done"]
[[conversation.tools.get.access.net]]
host = "api.example"
allow = true

[conversation.tools.ed]
source = "local"
run = "unattended"
command = ["sed", "-i", "s/alpha/omega/", "src/a"]
[[conversation.tools.ed.access.fs]]
path = "src"
read = true
update = true
`)
  await using gateway = await GatewayClient.open(place)
  const url = 'http://other.example/x'
  const refused = `refused: ${url}: no rule allows other.example:80`
  expect(await gateway.call('get')).toEqual({
    content: [
      {
        type: 'text',
        text: `cordon: network access denied: ${url}\n  because: no rule allows other.example:80\ndone\n`,
      },
      { type: 'text', text: `cordon: ${refused}` },
    ],
  })
  const set = 'cordon config set conversation.tools'
  await gateway.told(
    `tool get: ${refused}\n  to allow it:\n    ${set}.get.access.net '+{ host = "other.example", scheme = "http", path_prefix = "/x", allow = true }'\n`,
  )
  const failed = await gateway.text('ed')
  expect(failed).toMatch(
    /\ncordon: hint: src\/sed\w+: create denied: the rule for src does not grant create [^\n]+$/,
  )
  const [hint = ''] = /hint: .*$/.exec(failed) ?? []
  await gateway.told(
    `tool ed: ${hint}\n  to allow it:\n    ${set}.ed.access.fs '+{ path = "src", read = true, create = true, update = true }'\n`,
  )
})

describe('SPEC 5.5: run modes', () => {
  const place = new Place()
  place.write('a.txt', 'hello\n')

  test('are asked through the client, and a no is a no', async () => {
    const asked: string[] = []
    const answers = ['accept', 'decline'] as const
    await using gateway = await GatewayClient.open(place, {
      options: { capabilities: { elicitation: { form: {} } } },
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', ({ params }) => {
          asked.push(params.message)
          return { action: answers[asked.length - 1]!, content: {} }
        }),
    })
    const utility = { util: 'cat', args: ['a.txt'] }
    expect(await gateway.text('unix_utils', utility)).toContain('hello\n')
    expect(await gateway.call('unix_utils', utility)).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'tool unix_utils: the call was declined' }],
    })
    expect(asked[0]).toBe('Run unix_utils?\n  util: "cat"\n  args[0]: "a.txt"\n')
  })

  test('decision 0365: a yes to what may be secret hands it over', async () => {
    const secret = new Place()
    secret.write('.env', 'KEY=hello\n')
    const asked: string[] = []
    await using gateway = await GatewayClient.open(secret, {
      options: { capabilities: { elicitation: { form: {} } } },
      prepare: (client) =>
        client.setRequestHandler('elicitation/create', ({ params }) => {
          asked.push(params.message)
          return { action: 'accept', content: {} }
        }),
    })
    expect(await gateway.text('fs_read_file', { path: '.env' })).toBe('.env:\nKEY=hello\n')
    expect(asked).toEqual(['Run fs_read_file? .env may be secret\n  path: ".env"\n'])
  })

  test('are a no where nobody can be asked, with how to allow it', async () => {
    await using gateway = await GatewayClient.open(place)
    expect(await gateway.call('fs_delete_file', { path: 'a.txt' })).toEqual({
      isError: true,
      content: [
        {
          type: 'text',
          text: `tool fs_delete_file: its run mode needs a person, and there is nobody to ask; run = "unattended" would allow it
to allow it, a person writes into a configuration file of theirs:
  [conversation.tools.fs_delete_file]
  run = "unattended"`,
        },
      ],
    })
  })

  test('decision 0365: the shipped tools that read run by themselves, except where secrets live', async () => {
    const secret = new Place()
    secret.write('a.txt', 'hello\n')
    secret.write('.env', 'KEY=hello\n')
    symlinkSync('.env', join(secret.root, 'plain.txt'))
    await using gateway = await GatewayClient.open(secret)
    expect(await gateway.text('fs_read_file', { path: 'a.txt' })).toBe('a.txt:\nhello\n')
    for (const path of ['.env', 'plain.txt', 'x/../.env'])
      expect(await gateway.call('fs_read_file', { path })).toEqual({
        isError: true,
        content: [
          {
            type: 'text',
            text: `tool fs_read_file: ${path} may be secret, and there is nobody to ask
to allow it, a person writes into a configuration file of theirs:
  [conversation.tools.fs_read_file]
  run = "unattended"`,
          },
        ],
      })
    const found = await gateway.text('fs_grep_files', { pattern: 'hello', hidden: true })
    expect(found).toContain('a.txt:1:hello')
    expect(found).not.toContain('KEY=')
    expect(found).toContain('Not searched, because it may be secret: .env (a person is asked')
  })
})
