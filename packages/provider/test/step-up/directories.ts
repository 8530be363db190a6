import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { Command } from '../../src/commands.ts'
import { type Agent, send, type Sent } from '../place.ts'
import type { StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: what a directory holds is told as a person signed for it. */
export function testDirectories(at: StepUpPlace): void {
  let reader: Agent
  beforeAll(async () => {
    reader = await at.place.agent('reader', POLICY)
  })
  const makeTree = (): string => {
    const dir = join(at.place.files, `t${at.next()}`)
    mkdirSync(join(dir, 'sub/sealed'), { recursive: true })
    writeFileSync(join(dir, 'a'), 'the key\n')
    writeFileSync(join(dir, 'sub/b'), 'no more than this\n')
    writeFileSync(join(dir, 'sub/sealed/c'), 'the key\n')
    return dir
  }
  const bodyOf = ({ body }: Sent): unknown => JSON.parse(body.toString())
  const KINDS: readonly [Command, object][] = [
    ['/filesystem/dir/list', {}],
    ['/filesystem/dir/tree', {}],
    ['/filesystem/file/search', { text: 'key' }],
  ]

  test('what a person approved is told whole, but for what no person may allow', async () => {
    const dir = makeTree()
    const answers: unknown[] = []
    for (const [command, args] of KINDS) {
      const ask = (): Promise<Sent> => send(reader, command, { path: dir, ...args })
      await at.admin.decide(String((await ask()).error['approval']), 'approve')
      answers.push(bodyOf(await ask()))
      expect((await ask()).code).toBe('step_up_required') // once
    }
    expect(answers).toEqual([
      {
        entries: [
          { name: 'a', kind: 'file' },
          { name: 'sub', kind: 'directory' },
        ],
        truncated: false,
        unnameable: 0,
      },
      {
        entries: expect.toSatisfy((all: { path: string }[]) =>
          ['a', 'sub', 'sub/b', 'sub/sealed'].every((name) =>
            all.some(({ path }) => path === join(dir, name)),
          ),
        ),
        truncated: false,
        withheld: 1,
        unreadable: 0,
      },
      {
        matches: [{ path: join(dir, 'a'), line: 1, text: 'the key' }],
        truncated: false,
        searched: 2,
        skipped: 0,
        withheld: 1,
      },
    ])
  })

  test.each(KINDS)('the attack: what came after the yes is not in what %s tells', async (command, args) => {
    const dir = makeTree()
    const ask = (): Promise<Sent> => send(reader, command, { path: dir, ...args })
    const first = String((await ask()).error['approval'])
    await at.admin.decide(first, 'approve')
    writeFileSync(join(dir, 'secret'), 'another key\n')
    const again = await ask()
    expect([again.code, again.error['approval'] === first]).toEqual(['step_up_required', false])
    rmSync(join(dir, 'secret'))
    expect((await ask()).status).toBe(200) // as it was, it is what was signed for
  })

  test('how much would be told is shown, and its names', async () => {
    const dir = makeTree()
    const shown = async (command: Command, args: object): Promise<unknown> => {
      const { error } = await send(reader, command, { path: dir, ...args })
      const { files, directories, bytes, onlyNames, paths, kinds } = (await at.admin.approval(
        String(error['approval']),
      ))!.request
      const below = paths.map((path) => path.slice(dir.length + 1)).sort()
      return [files, directories, bytes, onlyNames, below, (kinds ?? '').split('').sort().join('')]
    }
    expect(await shown('/filesystem/dir/list', {})).toEqual([1, 1, 0, true, ['a', 'sub'], 'df'])
    expect(await shown('/filesystem/dir/tree', { depth: 2 })).toEqual([
      2,
      2,
      0,
      true,
      ['a', 'sub', 'sub/b', 'sub/sealed'],
      'ddff',
    ])
    expect(await shown('/filesystem/file/search', { text: 'key' })).toEqual([
      3,
      3, // with the one that was named
      34,
      undefined,
      ['a', 'sub', 'sub/b', 'sub/sealed', 'sub/sealed/c'],
      'ddfff',
    ])
  })

  test('a no is for the directory, whatever comes or goes in it', async () => {
    const dir = makeTree()
    for (const [command, args] of KINDS) {
      const ask = (): Promise<Sent> => send(reader, command, { path: dir, ...args })
      await at.admin.decide(String((await ask()).error['approval']), 'deny')
      writeFileSync(join(dir, `by${at.next()}`), 'x')
      expect((await ask()).code).toBe('step_up_denied')
    }
  })
}

/** All of it with a person, and what is sealed not at all. */
const POLICY = `permit (principal, action, resource) when { context has cosigner && context.cosigner };
forbid (principal, action, resource) when { resource.path like "*/sealed" || resource.path like "*/sealed/*" };`
