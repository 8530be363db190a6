import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { atTerminal, events, here, model, query, write } from './harness/query.ts'

const GUARDED = 'def may(user):\n    return check(user)\n    # end\nvalidate(user)\nlast\n'
const diffOf = (...lines: readonly string[]): string =>
  ['--- a/f.txt', '+++ b/f.txt', ...lines, ''].join('\n')
const contentOf = (name: string): string => readFileSync(join(here.cwd, name), 'utf8')

describe('SPEC 6.5: what a person says yes to is what is done (decision 0380)', () => {
  test.each([
    [
      'a line after one with ---',
      diffOf(
        '@@ -2,1 +2,1 @@',
        '-    return check(user)',
        '+    return (True',
        '--- check(user) moves to the end of the line',
        '+            and check(user))',
      ),
      'would not be applied: no line with +++ follows it',
    ],
    [
      'an end of the file that is none',
      diffOf('@@ -3,1 +3,1 @@', '-    # end', '+    # end of may', '\\ No newline at end of file'),
      'is marked as the end of the file, and the file goes on',
    ],
  ])('a diff with %s is refused, and nothing is changed', async (_, diff, why) => {
    write('w/f.txt', GUARDED)
    await model([{ calls: [{ tool: 'fs_modify_file', arguments: { diff } }] }, { text: 'so' }])
    expect(query('go').code).toBe(0)
    expect(contentOf('f.txt')).toBe(GUARDED)
    expect(events().find(({ kind }) => kind === 'tool_result')).toMatchObject({
      outcome: 'error',
      text: expect.stringContaining(why),
    })
  })

  test('a diff is shown as the lines it changes, and not in its own words', async () => {
    write('w/f.txt', 'one\nallow = check(user)\nend\n')
    const diff = diffOf('@@ -2,1 +2,1 @@ +allow = check(user)', '-allow = check(user)', '+allow = true')
    await model([{ calls: [{ tool: 'fs_modify_file', arguments: { diff } }] }, { text: 'so' }], '')
    const { screen, missed } = atTerminal(['go'], [['Run fs_modify_file?', 'y\r']])
    expect(missed).toEqual([])
    expect(screen).toContain(
      '    f.txt\n    @@ -1,3 +1,3 @@\n     one\n    -allow = check(user)\n    +allow = true\n     end\n',
    )
    expect(contentOf('f.txt')).toBe('one\nallow = true\nend\n')
  })

  test('two spellings of one file are one change of it', async () => {
    write('w/f.txt', 'KEY\nlow\n')
    const edits = [
      { path: 'f.txt', old: 'KEY\nlow', new: 'low\nKEY' },
      { path: './f.txt', old: 'KEY', new: 'EVIL' },
    ]
    await model([{ calls: [{ tool: 'fs_modify_file', arguments: { edits } }] }, { text: 'so' }], '')
    const { screen, missed } = atTerminal(['go'], [['Run fs_modify_file?', 'y\r']])
    expect(missed).toEqual([])
    expect(screen).toContain('    f.txt\n    @@ -1,2 +1,2 @@\n    -KEY\n     low\n    +EVIL\n')
    expect(contentOf('f.txt')).toBe('low\nEVIL\n')
  })
})
