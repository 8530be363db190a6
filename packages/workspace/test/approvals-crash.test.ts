import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Approvals, ApprovalStore } from '@cordon/workspace'
import { expect, test } from 'vitest'
import { freshWorkspace, HOLDER, kill, linesOf, startChild } from './fixture.ts'

const options = { holder: HOLDER, uid: process.getuid?.(), now: (): Date => new Date() }
const ROUNDS = Number(process.env['CORDON_ROUNDS'] ?? 2)

test('four processes approve and trust at once: no entry is lost, and no reader ever sees half a file', async () => {
  const { base, workspace } = await freshWorkspace()
  const approveAll = async (name: string): Promise<string[]> => {
    const lines: string[] = []
    for await (const line of linesOf(startChild('approve', [workspace.root, join(base, 'data'), name, '25'])))
      lines.push(line)
    return lines
  }
  const store = new ApprovalStore(workspace, options)
  const work = new AbortController()
  const watch = async (): Promise<void> => {
    while (!work.signal.aborted) {
      expect((await store.read()).warnings).toEqual([])
      await sleep(0) // reading does not wait for anything, so the others must be let in
    }
  }
  const watching = watch()
  const acknowledged = (await Promise.all(['a', 'b', 'c', 'd'].map(approveAll))).flat()
  work.abort()
  await watching
  expect(acknowledged).toHaveLength(200)
  const approvals = await store.read()
  expect(heldBy(approvals).sort()).toEqual(acknowledged.sort())
})

test('SPEC 2.1, 3.2 kill -9 at any point: the file parses and holds every entry that was acknowledged', async () => {
  const { base, workspace } = await freshWorkspace()
  const store = new ApprovalStore(workspace, options)
  const acknowledged = new Set<string>()
  for (let round = 0; round < ROUNDS; round++) {
    await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => {
        const child = startChild('approve', [workspace.root, join(base, 'data'), `${name}${round}`])
        // From its first word on, a random while; the last one also before it, at any point of its start.
        if (name === 'd') void sleep(Math.random() * 300).then(() => kill(child))
        for await (const line of linesOf(child)) {
          acknowledged.add(line)
          if (line.endsWith('-0')) void sleep(Math.random() * 150).then(() => kill(child))
        }
      }),
    )
    JSON.parse(readFileSync(store.file, 'utf8'))
    const held = new Set(heldBy(await store.read()))
    expect([...acknowledged].filter((entry) => !held.has(entry))).toEqual([])
    // The start that follows cleans up; also when, as here, a writer was killed with its temp file half written.
    writeFileSync(`${store.file}.tmp`, '{"mounts": [')
    await store.read()
    expect(readdirSync(workspace.local).sort()).toEqual([
      'approvals.json',
      'locks',
      'sessions',
      'workspace.json',
    ])
  }
  expect(acknowledged.size).toBeGreaterThan(0)
})

/** As the children report it: what is approved, and the texts that are trusted by exactly their own digest. */
const heldBy = (approvals: Approvals): string[] => [
  ...approvals.mounts.map(({ rule_path }) => rule_path),
  ...approvals.configs.flatMap(({ path }) => {
    const name = path.replace('/.cordon.toml', '')
    return approvals.trusts(path, `# ${name}\n`) ? [`trusted ${name}`] : []
  }),
]
