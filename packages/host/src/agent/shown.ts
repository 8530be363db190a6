import { isUtf8 } from 'node:buffer'
import { findTool } from '@cordon/tools'

/** One changed file, in the lines of a diff: ` `, `-`, `+` and the text. */
interface ShownChange {
  readonly path: string
  readonly lines: readonly string[]
}

/** A call as a person sees it before it runs. */
export interface ShownCall {
  readonly tool: string
  readonly arguments: unknown
  /** In our words, for the tools of ours. */
  readonly summary: string | undefined
  /** In the tool's own words: what it says of itself, so beside its arguments and never instead of them (decision 0293). */
  readonly said: string | undefined
  /** SPEC 6.5: what it would change, for the tools of ours that change files. */
  readonly changes: readonly ShownChange[]
}

/** Pure: looks at the arguments alone, and at nothing that they name. `isOurs`: it is the tool that Cordon ships. */
export function showCall(tool: string, args: unknown, isOurs: boolean): ShownCall {
  return {
    tool,
    arguments: args,
    summary: isOurs ? summaryOf(tool, args) : undefined,
    said: undefined,
    changes: isOurs ? changesOf(tool, args) : [],
  }
}

/** `format_arguments` of a shipped tool is a function of its arguments. Undefined: they do not fit. */
function summaryOf(tool: string, args: unknown): string | undefined {
  try {
    return findTool(tool)?.describe(args)
  } catch {
    return undefined // the call will say what is wrong with them
  }
}

interface Edit {
  readonly path: string
  readonly old: string
  readonly new: string
  readonly all?: unknown
}

function changesOf(tool: string, args: unknown): ShownChange[] {
  if (!isRecord(args)) return []
  if (tool === 'fs_create_file') return contentOf(args)
  if (tool !== 'fs_modify_file') return []
  if (typeof args['diff'] === 'string') return [{ path: 'diff', lines: args['diff'].split('\n') }]
  const edits = Array.isArray(args['edits']) ? args['edits'].filter(isEdit) : []
  return [...Map.groupBy(edits, ({ path }) => path)].map(([path, some]) => ({
    path,
    lines: some.flatMap((edit, i) => [
      ...(i === 0 ? [] : ['…']),
      ...(edit.all === true ? ['(every occurrence)'] : []),
      ...diffLines(edit.old, edit.new),
    ]),
  }))
}

/** Also what is written in another alphabet: nobody reads base64. */
function contentOf({
  path,
  content = '',
  encoding,
  overwrite,
}: Readonly<Record<string, unknown>>): ShownChange[] {
  if (typeof path !== 'string' || typeof content !== 'string') return []
  const bytes = Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8')
  const lines = isUtf8(bytes)
    ? linesOf('+', bytes.toString('utf8'))
    : [`+(${bytes.length} bytes that are no text)`]
  return [{ path, lines: [...(overwrite === true ? ['(replaces all that is there)'] : []), ...lines] }]
}

/** What both begin and end with is context; the rest goes out and comes in. */
function diffLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail))
    tail++
  const marked = (mark: string, lines: readonly string[]): string[] => lines.map((line) => mark + line)
  return [
    ...marked(' ', old.slice(0, head)),
    ...marked('-', old.slice(head, old.length - tail)),
    ...marked('+', now.slice(head, now.length - tail)),
    ...marked(' ', old.slice(old.length - tail)),
  ]
}

const linesOf = (mark: string, text: string): string[] =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => mark + line)

const isEdit = (value: unknown): value is Edit =>
  isRecord(value) && [value['path'], value['old'], value['new']].every((field) => typeof field === 'string')

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
