import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GatewayClient, UNATTENDED } from '../harness/gateway.ts'
import { Place } from '../harness/place.ts'

/** Nothing but `src` can be written by one tool, nothing but `src` is there for another, and one has a rule for what is guarded. */
const CONFIG = `${UNATTENDED}
[conversation.tools.fs_modify_file.access]
fs = [{ path = ".", read = true }, { path = "src", read = true, write = true }]
[conversation.tools.fs_move_file.access]
fs = [{ path = "src", read = true, write = true }]
[conversation.tools.fs_delete_file.access]
fs = [{ path = ".", read = true, write = true }, { path = ".envrc", read = true }]
`

const CALLS = [
  {
    by: 'the guard',
    tool: 'fs_create_file',
    args: { path: '.npmrc', content: 'x' },
    wanted: 'create .npmrc',
    granted: '. (read, create, update, delete, execute)',
  },
  {
    by: 'a rule that grants no writing',
    tool: 'fs_modify_file',
    args: { edits: [{ path: '.envrc', old: 'mine', new: 'x' }] },
    wanted: 'update .envrc',
    granted: '. (read), src (read, create, update, delete)',
  },
  {
    by: 'no rule',
    tool: 'fs_move_file',
    args: { from: 'src/a', to: '.vscode/tasks.json' },
    wanted: 'create .vscode/tasks.json',
    granted: 'src (read, create, update, delete)',
  },
  {
    by: 'a rule that names it',
    tool: 'fs_delete_file',
    args: { path: '.envrc' },
    wanted: 'delete .envrc',
    granted: '. (read, create, update, delete), .envrc (read)',
  },
].map(({ wanted, granted, ...call }) => {
  const [capability, target] = wanted.split(' ')
  return {
    ...call,
    target: target!,
    message: [
      `access denied: ${capability} on ${target}`,
      `  because: ${target} is guarded: the host obeys it, or runs it by itself later`,
      `  granted: ${granted}`,
    ].join('\n'),
    forPerson: `what would allow it: cordon why ${call.tool} ${wanted}\n`,
  }
})

function openPlace(): Place {
  const place = new Place()
  place.write('src/a', 'a')
  place.write('.envrc', 'mine')
  place.config(CONFIG)
  return place
}

test.each(CALLS)(
  'SPEC 4.10 through the gateway a model is not told what lifts the guard (refused by $by)',
  async ({ tool, args, message, forPerson }) => {
    await using gateway = await GatewayClient.open(openPlace())
    const result = await gateway.call(tool, args)
    expect(result).toEqual({ isError: true, content: [{ type: 'text', text: message }] })
    await gateway.told(`tool ${tool}: ${forPerson}`)
  },
)

test.each(CALLS)(
  'SPEC 4.10 nor by `tool run`, and `why` tells the person (refused by $by)',
  ({ tool, args, message, forPerson, target }) => {
    const place = openPlace()
    const ended = place.cordon(['tool', 'run', tool, '--json', '--args', JSON.stringify(args)])
    expect(JSON.parse(ended.stdout)).toMatchObject({
      type: 'error',
      message,
      hints: [{ about: target, text: forPerson.trim(), audience: 'person' }],
    })
    expect(`${ended.stdout}${ended.stderr}`).not.toMatch(/config set|path = /)
    expect(ended.stderr).toContain(`  ${forPerson}`)
    const why = place.cordon(['why', ...forPerson.trim().split(' ').slice(6)])
    expect(why.code).toBe(1)
    expect(why.stdout).toMatch(/ {2}to allow it:\n {4}cordon config set /)
    expect(existsSync(join(place.root, target))).toBe(target === '.envrc')
  },
)

test('what is not guarded has its command as before', async () => {
  await using gateway = await GatewayClient.open(openPlace())
  const edits = [{ path: 'a', old: 'x', new: 'y' }]
  expect(JSON.stringify(await gateway.call('fs_modify_file', { edits }))).toContain(
    'cordon config set conversation.tools.fs_modify_file.access.fs',
  )
})
