import { afterAll, describe, expect, test } from 'vitest'
import { attempts, IDENTITIES, makeWorld, removeWorlds, run } from './confine.ts'

afterAll(removeWorlds)

/** SPEC 4.7 without namespaces: what the kernel does there, and that the table says it. Found by `soak:agreement`. */
describe.each(IDENTITIES)('the table of holders without namespaces, as $name', (who) => {
  const plan = { simulate: { userns: false } } as const
  const limits = (outcome: Awaited<ReturnType<typeof run>>, path: string, capability: string) =>
    outcome.plan.holders
      .filter((each) => each.axis === 'fs' && each.rule.path === path && each.capability === capability)
      .flatMap((each) => each.limits)

  test('permissions in a read-only workspace can be changed through an open file, and not by name', async () => {
    const world = makeWorld(who, { a: 'a', 'fchmod.py': "import os; os.fchmod(os.open('a', 0), 0o700)" })
    const outcome = await run({
      who,
      world,
      plan,
      access: { fs: [{ path: '.', read: true }] },
      script: attempts('chmod 700 a', 'python3 fchmod.py'),
    })
    expect(outcome.stdout).toBe('no chmod 700 a\nok python3 fchmod.py\n')
    expect(limits(outcome, '.', 'update')).toEqual([
      'permissions, times and attributes can still be changed through a file that may be opened: Landlock guards the content',
    ])
  })

  test('what is moved takes its rule along, and no path is held in its place', async () => {
    const world = makeWorld(who, { 'a/f': 'text', 'b/': '' })
    const outcome = await run({
      who,
      world,
      plan,
      access: {
        fs: [
          { path: '.', create: true, delete: true, update: true },
          { path: 'a/f', read: true, create: true, delete: true, update: true },
        ],
      },
      script: attempts('mv a/f a/g', 'cat a/g', 'touch a/f', 'cat a/f'),
    })
    expect(outcome.stdout).toBe('ok mv a/f a/g\nok cat a/g\nok touch a/f\nno cat a/f\n')
    expect(limits(outcome, 'a/f', 'read')).toEqual([
      'the kernel grants it to what lies there, not to the name: moved elsewhere it is still granted, and what is put there later is not',
    ])
    expect(limits(outcome, 'a/f', 'delete')).not.toContain(
      'the path itself, and the directories above it, cannot be removed or renamed while the process runs',
    )
  })
})
