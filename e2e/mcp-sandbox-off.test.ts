import { expect, test } from 'vitest'
import { GatewayClient, smallPlace } from './harness/gateway.ts'
import { PROGRAM } from './harness/place.ts'
import { model, query } from './harness/query.ts'

const OFF = ['--cfg', 'sandbox.mode="off"']
const WARNING =
  'warning: the sandbox is off (sandbox.mode = "off" at --cfg sandbox.mode="off"): tools and servers run with all your rights\n'

test('SPEC 4.11: the gateway says that the sandbox is off, and does not tell the model otherwise', async () => {
  await using gateway = await GatewayClient.open(smallPlace(), { args: [...OFF, '--server', 'small'] })
  await gateway.told('the sandbox is off')
  expect(gateway.stderr).toBe(WARNING)
  expect(gateway.client.getInstructions()).toBe(
    'The sandbox is off: servers run with all rights of the person. An error that says "access denied" or "refused" names the rule; do not look for a way around it, but tell the person what it says would allow it.',
  )
  await using confined = await GatewayClient.open(smallPlace())
  expect([confined.stderr, confined.client.getInstructions()]).toEqual([
    '',
    'Every tool runs confined to what a person granted. An error that says "access denied" or "refused" names the rule; do not look for a way around it, but tell the person what it says would allow it.',
  ])
})

test('SPEC 4.11: so do mcp doctor, ls and show, and nothing is put down to it', () => {
  const place = smallPlace()
  const examined = place.cordon(['mcp', 'doctor', ...OFF])
  expect([examined.code, examined.stderr]).toEqual([0, WARNING])
  const listed = place.cordon(['mcp', 'ls', ...OFF])
  expect(listed.stderr).toBe(WARNING)
  expect(listed.stdout).toContain('everything (the sandbox is off)')
  expect(listed.stdout).not.toContain('no network')
  const shown = place.cordon(['mcp', 'show', 'small', ...OFF])
  expect(shown.stderr).toBe(WARNING)
  expect(shown.stdout).toContain('  access:    everything (the sandbox is off)\n')
  expect(JSON.parse(place.cordon(['mcp', 'ls', '--json', ...OFF]).stdout)).toMatchObject([
    { name: 'small', confined: false },
  ])
  place.config(
    `[providers.mcp.dies]\ncommand = ${JSON.stringify(PROGRAM.node)}\narguments = ["-e", "process.exit(3)"]\n`,
  )
  expect(place.cordon(['mcp', 'doctor', ...OFF])).toMatchObject({
    code: 1,
    stderr: WARNING,
    stdout:
      'MCP server dies\n  failed  start and initialize: ended with exit code 3 before it was initialised\n',
  })
})

test('SPEC 4.11: so do tool run, and q, whose tools are those of servers as well', async () => {
  const run = ['tool', 'run', 'fs_list_files', '--args', '{}']
  const place = smallPlace()
  expect(place.cordon([...run, ...OFF])).toMatchObject({ code: 0, stderr: WARNING })
  expect(place.cordon(run)).toMatchObject({ code: 0, stderr: '' })
  await model([{ text: 'Hello.\n' }])
  const asked = query('hello', ...OFF)
  expect([asked.code, asked.stdout]).toEqual([0, 'Hello.\n'])
  expect(asked.stderr).toContain(WARNING)
})
