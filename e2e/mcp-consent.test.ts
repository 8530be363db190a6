import { spawn } from 'node:child_process'
import { lstatSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { GatewayClient } from './harness/gateway.ts'
import { Place } from './harness/place.ts'

/** A workspace, and a person behind its client who says yes; `meanwhile` is done while they read. */
async function openAsked(meanwhile: (place: Place) => void = () => undefined, config = '') {
  const place = new Place()
  place.write('docs/x.md', 'title\n')
  place.write('src/main.sh', 'title\n')
  place.write('.env', 'KEY=hello\n')
  place.config(config)
  const asked: string[] = []
  const gateway = await GatewayClient.open(place, {
    options: { capabilities: { elicitation: { form: {} } } },
    prepare: (client) =>
      client.setRequestHandler('elicitation/create', ({ params }) => {
        asked.push(params.message)
        meanwhile(place)
        return { action: 'accept', content: { arguments: JSON.stringify(WRITE) } }
      }),
  })
  const content = (name: string): string => readFileSync(join(place.root, name), 'utf8')
  return { place, gateway, asked, content }
}

const WRITE = { path: 'docs/x.md', content: 'new\n', overwrite: true }

const leadTo =
  (target: string) =>
  ({ root }: Place): void => {
    rmSync(join(root, 'docs/x.md'))
    symlinkSync(target, join(root, 'docs/x.md'))
  }

const AGAIN = 'call it again, and it is asked about as it is now'

test.for([['ask'], ['edit']])(
  'decision 0408: a yes through a client (%s) is to the file that was named, and not to where a link leads by then',
  async ([mode]) => {
    const { gateway, content } = await openAsked(
      leadTo('../src/main.sh'),
      `conversation.tools.fs_create_file.run = "${mode}"\n`,
    )
    await using _ = gateway
    expect(await gateway.call('fs_create_file', WRITE)).toEqual({
      isError: true,
      content: [
        {
          type: 'text',
          text: `tool fs_create_file: not run, because of what happened while the question stood:\ndocs/x.md leads to src/main.sh now\n${AGAIN}`,
        },
      ],
    })
    expect(content('src/main.sh')).toBe('title\n')
  },
)

test('decision 0408: what somebody else wrote meanwhile is not replaced', async () => {
  const { gateway, content } = await openAsked((place) => place.write('docs/x.md', 'theirs\n'))
  await using _ = gateway
  expect(await gateway.call('fs_create_file', WRITE)).toMatchObject({ isError: true })
  expect(content('docs/x.md')).toBe('theirs\n')
})

test('decision 0408: a program does not get a secret in the place of what was named', async () => {
  const { gateway } = await openAsked(leadTo('../.env'))
  await using _ = gateway
  const result = await gateway.call('unix_utils', { util: 'cat', args: ['docs/x.md'] })
  expect(result).toMatchObject({ isError: true })
  expect(JSON.stringify(result)).not.toContain('hello')
})

test('decision 0409: a client is told where a link leads, and a yes to that holds', async () => {
  const { place, gateway, asked, content } = await openAsked()
  await using _ = gateway
  leadTo('../src/main.sh')(place)
  expect(await gateway.call('fs_create_file', WRITE)).not.toMatchObject({ isError: true })
  expect(asked).toEqual([
    'Run fs_create_file?\n  path: "docs/x.md"\n  content: "new\\n"\n  overwrite: true\n  (docs/x.md leads to src/main.sh)\n',
  ])
  expect(content('src/main.sh')).toBe('new\n')
  expect(lstatSync(join(place.root, 'docs/x.md')).isSymbolicLink()).toBe(true)
})

test('decision 0408: a rule about a path is one about where it leads', async () => {
  const rule = '{ path = "docs", mode = "unattended" }'
  const { place, gateway, asked } = await openAsked(
    () => undefined,
    `[conversation.tools.fs_create_file]\nrun = [${rule}]\n`,
  )
  await using _ = gateway
  await gateway.call('fs_create_file', WRITE)
  expect(asked).toEqual([])
  leadTo('../src/main.sh')(place)
  await gateway.call('fs_create_file', WRITE)
  expect(asked).toHaveLength(1)
})

test('decision 0408: a rule about a path holds for what is read as well, when a link is flipped all the time', async () => {
  const rules = '{ path = ".env", mode = "skip" }, { path = ".", mode = "unattended" }'
  const { place, gateway } = await openAsked(
    () => undefined,
    `[conversation.tools.fs_read_file]\nrun = [${rules}]\n`,
  )
  await using _ = gateway
  place.write('docs/plain', 'plain\n')
  const [plain, x] = ['docs/plain', 'docs/x.md'].map((name) => join(place.root, name))
  const flipping = spawn('sh', [
    '-c',
    `while :; do ln -sfn ../.env "${x}.t"; mv -T "${x}.t" "${x}"; cp "${plain}" "${x}.t"; mv -T "${x}.t" "${x}"; done`,
  ])
  try {
    for (let i = 0; i < 150; i++)
      expect(JSON.stringify(await gateway.call('fs_read_file', { path: 'docs/x.md' }))).not.toContain('hello')
  } finally {
    flipping.kill('SIGKILL')
  }
})
