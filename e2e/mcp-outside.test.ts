import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { GatewayClient } from './harness/gateway.ts'
import { type Ended, Place, PROGRAM } from './harness/place.ts'
import { play, type Played } from './harness/terminal.ts'

/** Places outside, with the real servers that need them, in a git repository that nobody has marked. */
const bin = (name: string): string => join(import.meta.dirname, '../node_modules/.bin', name)
const ASKED_BY_THE_CLIENT = ['--cfg', 'conversation.tools.*.run=unattended']

let place: Place
beforeEach(() => {
  place = new Place()
  rmSync(join(place.root, '.cordon'), { recursive: true })
  place.mkdir(join(place.root, '.git'))
})

/** The commands that a text prints, as they stand there. */
const commandsIn = (text: string): readonly string[] =>
  text
    .split('to allow it, in the workspace:\n')[1]!
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^(?:cordon|ln|mkdir|touch) /.test(line))

function paste(commands: readonly string[]): Played {
  const script = commands.map((line) => line.replace(/^cordon /, '"$1" "$2" ')).join(' && ')
  const { uid, gid } = place.person
  return play(
    {
      argv: ['/bin/sh', '-c', script, 'sh', PROGRAM.node, PROGRAM.cordon],
      cwd: place.root,
      env: place.env({ TERM: 'xterm' }),
      steps: [['Approve? [y/N] ', 'y\r']],
    },
    uid === undefined ? {} : { uid, gid: gid! },
  )
}

const mcp = (...args: string[]): Ended => place.cordon(['mcp', ...args])

test('what is printed works as pasted, without `cordon init`; the server finds the place under its own name', async () => {
  const documents = place.mkdir(join(place.home, 'Documents'))
  place.write(join(documents, 'letter.txt'), 'dear\n')
  const added = mcp('add', 'files', '--', bin('mcp-server-filesystem'), documents)
  const pasted = paste(commandsIn(added.stdout))
  expect([pasted.missed, pasted.code]).toEqual([[], 0])
  await using gateway = await GatewayClient.open(place, { args: ASKED_BY_THE_CLIENT })
  expect(await gateway.text('list_directory', { path: documents })).toContain('letter.txt')
  expect(await gateway.text('list_allowed_directories')).toContain(documents)
  expect(await gateway.text('list_directory', { path: place.root })).toContain('.git')
  expect(place.cordon(['policy', 'explain', 'files']).code).toBe(0)
  expect(place.cordon(['why', 'files', 'read', 'Documents/letter.txt']).code).toBe(0)
})
