import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from '@modelcontextprotocol/client'
import { beforeAll, afterAll, describe, expect, test } from 'vitest'
import { GatewayClient, UNATTENDED } from './harness/gateway.ts'
import { Place } from './harness/place.ts'
import { until } from './harness/waiting.ts'

/** Real servers of the registry, installed beside us, as an ordinary user has them: in a node_modules that only root writes. */
const MODULES = join(import.meta.dirname, '../node_modules')
const bin = (name: string): string => JSON.stringify(join(MODULES, '.bin', name))

describe('SPEC 5.5: real servers through the gateway', () => {
  let place: Place
  let gateway: GatewayClient
  const heard: string[] = []

  beforeAll(async () => {
    place = new Place()
    place.write('a.txt', 'hello\n')
    place.config(`${UNATTENDED}
[conversation.tools.read_there]
source = "mcp.files.read_text_file"
[[conversation.tools.read_there.access.fs]]
path = "public"
read = true

[providers.mcp.everything]
command = ${bin('mcp-server-everything')}

[providers.mcp.memory]
command = ${bin('mcp-server-memory')}
[[providers.mcp.memory.access.env]]
name = "MEMORY_FILE_PATH"
read = true

[providers.mcp.files]
command = ${bin('mcp-server-filesystem')}
arguments = ["."]
stateful = false

[providers.mcp.thinking]
command = ${bin('mcp-server-sequential-thinking')}

[providers.mcp.commands]
command = ${bin('mcp-server-commands')}

[providers.mcp.chart]
command = ${bin('mcp-server-chart')}
`)
    place.write('public/b.txt', 'there\n')
    gateway = await GatewayClient.open(place, {
      env: { MEMORY_FILE_PATH: join(place.root, 'memory.jsonl'), API_TOKEN: 'hunter2' },
      prepare: (client: Client) => {
        client.setNotificationHandler(
          'notifications/message',
          ({ params }) => void heard.push(`log ${params.logger}`),
        )
        client.setNotificationHandler(
          'notifications/resources/updated',
          ({ params }) => void heard.push(params.uri),
        )
      },
    })
    await gateway.names()
  })

  afterAll(() => gateway.close())

  test('their tools are there beside the workspace’s own', async () => {
    const names = await gateway.names()
    for (const name of [
      'fs_read_file',
      'echo',
      'create_entities',
      'sequentialthinking',
      'run_command',
      'read_there',
    ])
      expect(names).toContain(name)
    // It is configured under another name, and has only that one.
    expect(names).not.toContain('read_text_file')
  })

  test('a text result names the file it is about', async () => {
    expect(await gateway.call('fs_read_file', { path: 'a.txt' })).toEqual({
      content: [{ type: 'text', text: 'a.txt:\nhello\n' }],
    })
  })

  test('each does its work', async () => {
    expect(await gateway.text('echo', { message: 'hi' })).toBe('Echo: hi')
    await gateway.call('create_entities', {
      entities: [{ name: 'Ada', entityType: 'person', observations: ['writes programs'] }],
    })
    expect(await gateway.text('read_graph')).toContain('Ada')
    expect(existsSync(join(place.root, 'memory.jsonl'))).toBe(true)
    expect(
      await gateway.text('sequentialthinking', {
        thought: 'one',
        nextThoughtNeeded: false,
        thoughtNumber: 1,
        totalThoughts: 1,
      }),
    ).toContain('"thoughtNumber": 1')
    expect(await gateway.text('run_command', { command: 'cat a.txt; env' })).toMatch(/^hello\n/)
    expect(await gateway.text('run_command', { command: 'env' })).not.toContain('hunter2')
  })

  test('SPEC 5.4: what the proxy refused is said exactly, and what the kernel refused as a guess', async () => {
    const chart = gateway.call('generate_bar_chart', { data: [{ category: 'a', value: 1 }] })
    const grant =
      'cordon config set --user-workspace providers.mcp.chart.access.net \'+{ host = "\\1", scheme = "https", allow = true }\''
    await expect(chart).rejects.toThrow(
      new RegExp(
        `\\ncordon: refused: ([\\w.-]+):443: no rule allows \\1:443\\n  to allow it:\\n    ${grant.replaceAll(/[.+{}]/g, '\\$&')}$`,
      ),
    )
    // Its package is read-only, and the file it wants to keep there is nobody's to grant; in the workspace there is a rule.
    expect(await gateway.text('run_command', { command: 'touch .cordon/x' })).toContain(
      'hint: .cordon is guarded',
    )
  })

  test('SPEC 5.3: a server is told the policy and its roots', async () => {
    expect(await gateway.text('get-roots-list')).toContain(`file://${place.root}`)
  })

  test('SPEC 5.1: a stateless tool has its own policy, and a process of its own', async () => {
    expect(await gateway.text('read_there', { path: 'public/b.txt' })).toBe('there\n')
    expect((await gateway.call('read_there', { path: 'a.txt' })).isError).toBe(true)
    // What nobody configured has the default: the workspace.
    expect(await gateway.text('list_directory', { path: '.' })).toContain('a.txt')
  })

  test('progress, resources, prompts, completion and logging pass through', async () => {
    const { client } = gateway
    const progress: number[] = []
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 0.2, steps: 2 } },
      { onprogress: (made) => void progress.push(made.progress) },
    )
    expect(progress.length).toBeGreaterThan(0)
    const { resources } = await client.listResources()
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resources.length).toBeGreaterThan(0)
    expect(resourceTemplates.length).toBeGreaterThan(0)
    const { contents } = await client.readResource({ uri: resources[0]!.uri })
    expect(contents[0]!.uri).toBe(resources[0]!.uri)
    const expanded = await client.readResource({ uri: 'demo://resource/dynamic/text/1' })
    expect(expanded.contents).toHaveLength(1)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('args-prompt')
    const { messages } = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Bern' } })
    expect(JSON.stringify(messages)).toContain('Bern')
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'completable-prompt' },
      argument: { name: 'department', value: 'E' },
    })
    expect(completion.values).toContain('Engineering')
    await client.setLoggingLevel('debug')
    await client.callTool({ name: 'toggle-simulated-logging', arguments: {} })
    await until(() => heard.some((each) => each.startsWith('log everything')))
    await client.subscribeResource({ uri: resources[0]!.uri })
    await client.unsubscribeResource({ uri: resources[0]!.uri })
  })

  test('a cancelled call is cancelled at the server', async () => {
    const stop = new AbortController()
    const call = gateway.client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 60, steps: 600 } },
      { signal: stop.signal, onprogress: () => stop.abort() },
    )
    await expect(call).rejects.toThrow()
    expect(await gateway.text('echo', { message: 'still here' })).toBe('Echo: still here')
  })
})
