import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatApproval } from '../../cli/src/format/provider.ts'
import { Admin } from '../src/admin.ts'
import { COMMANDS } from '../src/commands.ts'
import { ARGS } from '../src/operations/args.ts'
import { type Agent, content, send, TestPlace } from './place.ts'

const ALL = 'permit (principal, action, resource) when { context has cosigner && context.cosigner };'
let place: TestPlace
let admin: Admin
let agent: Agent
beforeAll(async () => {
  place = await TestPlace.start()
  admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test', clock: place.clock })
  agent = await place.agent('asks', ALL)
})
afterAll(async () => {
  await admin.close()
  await place.close()
})

test.each(COMMANDS)('SPEC 7.5 every argument of %s is shown to who signs for it', async (command) => {
  const dir = join(place.files, command.replaceAll('/', '-'))
  mkdirSync(dir)
  const isMade = command.endsWith('create')
  const isDir = command.startsWith('/filesystem/dir/')
  const path = isMade ? join(dir, 'made') : isDir ? dir : join(dir, 'file')
  if (!isMade && !isDir) writeFileSync(path, 'one\n')
  const { sha256, size } = content('two\n')
  /** An example of each, and what must be read where one signs for it. */
  const examples: Readonly<Record<string, readonly [unknown, ...string[]]>> = {
    path: [path, path],
    destination: [join(dir, 'there'), join(dir, 'there')],
    text: ['BEGIN PRIVATE KEY', 'text: BEGIN PRIVATE KEY'],
    ignore_case: [true, 'ignore_case: true'],
    start: [7, 'start: 7'],
    length: [1234, 'length: 1234'],
    if_match: [content('one\n').sha256, `if_match: ${content('one\n').sha256}`],
    overwrite: [true, 'overwrite: true'],
    edits: [[{ old: 'one', new: 'two' }], '-one', '+two'],
    sha256: [sha256, '+two'],
    size: [size, `${size} bytes`],
    dry_run: [true, 'dry_run: true'],
    hash: [true, 'hash: true'],
    depth: [3, 'depth: 3'],
    parents: [true, 'parents: true'],
  }
  const names = Object.keys(ARGS[command].shape)
  expect(names.filter((name) => examples[name] === undefined)).toEqual([]) // a new one needs an example here
  const args = Object.fromEntries(names.map((name) => [name, examples[name]![0]]))
  const { error } = await send(agent, command, args, { body: 'two\n' })
  const approval = await admin.approval(String(error['approval']))
  const shown = formatApproval(approval!)
  for (const name of names) for (const each of examples[name]!.slice(1)) expect(shown).toContain(each)
})
