import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CordonError } from '@cordon/policy'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { startConfined } from '../../src/confine/start.ts'
import { openAmbientProjectIn } from '../../src/conversation/open.ts'
import { compileProject } from '../../src/policies.ts'
import { Lab, mount } from '../mount/lab.ts'
import { anySequence, type Write } from './sequences.ts'
import { type Compiled, widened } from './widens.ts'

/** 5,000 in CI; `npm run soak:next` does 50,000. */
const RUNS = Number(process.env['CORDON_RUNS'] ?? 5000)

const CONFIG = `
[conversation.tools.narrow]
source = "local"
command = ["true"]

[[conversation.tools.narrow.access.fs]]
path = "."
read = true

[[conversation.tools.narrow.access.fs]]
path = "src"
read = true
write = true

[[conversation.tools.narrow.access.fs]]
path = "private"

[[conversation.tools.wide.access.fs]]
path = "."
read = true
write = true
execute = true

[conversation.tools.wide]
source = "local"
command = ["true"]

[[profiles.ci.access.fs]]
path = "."
read = true

[sandbox.limits]
memory_mb = 512
`

test('SPEC 2.1: whatever a confined command writes, the next command is granted nothing new', async () => {
  const lab = new Lab()
  const writer = join(lab.base, 'writer')
  execFileSync('cc', ['-O1', '-static', '-o', writer, join(import.meta.dirname, 'writer.c')])
  const conversation = await furnish(lab)
  const kept = join(lab.base, 'kept')
  cpSync(lab.root, kept, { recursive: true, verbatimSymlinks: true })
  const before = await compiled(lab, '.')
  let refused = 0
  await fc.assert(
    fc.asyncProperty(
      anySequence,
      fc.constantFrom('wide', 'narrow'),
      fc.constantFrom('.', 'src'),
      async (sequence, tool, cwd) => {
        await confined(lab, before, tool, writer, orders(sequence, conversation))
        try {
          expect(widened(before, await compiled(lab, cwd), PROBES)).toEqual([])
        } catch (error) {
          if (!(error instanceof CordonError)) throw error
          refused++ // the next command fails, and grants nothing
        } finally {
          restore(lab, kept)
        }
      },
    ),
    { numRuns: RUNS },
  )
  // Not by failing always: most of what a command writes is no business of ours.
  expect(refused).toBeLessThan(RUNS * 0.9)
}, 7_200_000)

const PROBES = ['.', 'private/key', 'src/a.txt', '.cordon/config.toml', 'fork/x', 'notes.md', '.git/hooks/x']

/** A workspace with a configuration that a person trusts, a mount, and a conversation that grants it. */
async function furnish(lab: Lab): Promise<string> {
  for (const dir of ['src', 'private', 'other', '.git/hooks'])
    mkdirSync(join(lab.root, dir), { recursive: true })
  for (const file of ['src/a.txt', 'private/key', 'notes.md', '.git/config'])
    writeFileSync(join(lab.root, file), 'x\n')
  writeFileSync(join(lab.root, '.cordon/id'), 'abcdefgh\n')
  lab.write(CONFIG)
  const done = await lab.change([mount(`narrow:fork=${lab.place('fork')}`)])
  if (done.kind !== 'done') throw new Error('the mount was not made')
  return done.conversation.id
}

async function compiled(lab: Lab, cwd: string): Promise<Compiled> {
  const trust = { needs: 'files', pid: process.pid, reviewer: () => undefined } as const
  const options = { ...lab.options(join(lab.root, cwd)), trust }
  const project = await openAmbientProjectIn(options, lab.user, 'last used')
  const policies = await compileProject(project, { ...lab.user, home: lab.home, person: undefined })
  return { project, policies }
}

/** Under the policy of the command before, as `cordon tool run` would. */
async function confined(
  lab: Lab,
  before: Compiled,
  tool: string,
  writer: string,
  input: string,
): Promise<void> {
  const [, policy] = [...before.policies.bySubject].find(([{ name }]) => name === tool)!
  const program = await startConfined({
    argv: [writer],
    cwd: lab.root,
    root: before.project.root,
    home: lab.home,
    env: { PATH: '/usr/bin:/bin' },
    policy,
    sandbox: before.project.loaded.config.sandbox,
    unfinished: before.project.workspace.unfinished,
    runtime: [writer],
    signal: new AbortController().signal,
  })
  program.stdout.resume()
  program.stderr.resume()
  program.stdin.end(input)
  expect((await program.ended).exit).toMatchObject({ code: 0 })
}

const orders = (sequence: readonly Write[], conversation: string): string =>
  sequence
    .map(({ verb, path, other }) => `${verb}\t${path}\t${other}\n`)
    .join('')
    .replaceAll('CONVERSATION', conversation)

/** The directory itself stays: it is what the user-local place belongs to. */
function restore({ root }: Lab, kept: string): void {
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true, force: true })
  cpSync(kept, root, { recursive: true, verbatimSymlinks: true })
}
