import { describe, expect, test } from 'vitest'
import { formatConversations } from '../src/format/conversations.ts'
import { formatModels } from '../src/format/models.ts'
import { formatMounts } from '../src/format/mounts.ts'
import { formatTurn } from '../src/format/query.ts'
import { formatTools } from '../src/format/tool.ts'
import { widthOf } from '../src/format/wrap.ts'

const at = (columns: number | undefined) => ({ style: (_: string, text: string): string => text, columns })

const TOOLS = [
  { name: 'fs_read_file', description: 'Read a file of the workspace: all of it, or a range of lines.' },
  { name: 'fs_list_files', description: 'List what is in a directory of the workspace and below it.' },
].map((tool) => ({ ...tool, source: 'local', run: 'ask', enabled: true }) as never)

const MODELS = [
  {
    name: 'anthropic',
    address: 'https://api.anthropic.com/v1',
    state: 'no key',
    why: 'there is no key for anthropic: ANTHROPIC_API_KEY is not set',
    models: [],
  },
  {
    name: 'ollama',
    address: 'http://127.0.0.1:11434/v1',
    state: 'ready',
    why: undefined,
    models: ['qwen3', 'gemma3'],
  },
].map((provider) => ({ ...provider, kind: 'openai-compatible' }) as never)

const CONVERSATIONS = [
  { id: '01m7jn0yzgdm26y7', usedAt: new Date(0), keeping: 'shared', title: 'fix the test that fails' },
] as never

describe('lists within the width', () => {
  test('of mounts: tools stand below each other', () => {
    const tools = ['fs_read_file', 'fs_list_files', 'fs_grep_files', 'unix_utils']
    const view = { name: 'fork', target: '~/code/forks/serde', tools, mode: 'read', state: 'mounted' }
    const shown = formatMounts([view] as never, at(80))
    expect(shown.split('\n').filter((row) => widthOf(row) > 80)).toEqual([])
    for (const tool of tools) expect(shown).toContain(tool)
  })

  test.each([100, 60, 40])(
    'of tools and models, at %i columns: no word is broken, and nothing is lost',
    (columns) => {
      for (const list of [
        (width?: number) => formatTools(TOOLS, at(width)),
        (width?: number) => formatModels(MODELS, 'a/b', at(width)),
        (width?: number) => formatConversations(CONVERSATIONS, undefined, at(width)),
      ]) {
        const rows = list(columns).split('\n')
        expect(rows.filter((row) => widthOf(row) > columns)).toEqual([])
        const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean)
        expect(words(list(columns))).toEqual(words(list()))
      }
    },
  )

  test('the last column goes on below itself, and its columns stay where there is room', () => {
    expect(formatTools(TOOLS, at(80))).toBe(
      'fs_read_file   local  ask  enabled  Read a file of the workspace: all of it, or\n' +
        '                                    a range of lines.\n' +
        'fs_list_files  local  ask  enabled  List what is in a directory of the workspace\n' +
        '                                    and below it.\n',
    )
    expect(formatTools(TOOLS.slice(0, 1), at(40))).toBe(
      'fs_read_file\n  local, ask, enabled\n  Read a file of the workspace: all of\n  it, or a range of lines.\n',
    )
  })
})

test('the last line of a turn breaks between its parts', () => {
  const end = {
    kind: 'done',
    text: '',
    usage: { input: 12_345, cached: 12_000, output: 678 },
    steps: 3,
  } as const
  const model = { id: 'anthropic/claude-sonnet-4-5', model: 'x', config: { models: {} } } as never
  expect(formatTurn(end, model, at(40))).toBe(
    'anthropic/claude-sonnet-4-5 ·\n  12,345 in (12,000 cached) · 678 out ·\n  3 requests\n',
  )
})
