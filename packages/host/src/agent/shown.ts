import { isUtf8 } from 'node:buffer'
import { CordonError } from '@cordon/policy'
import { findTool, replaceExactly } from '@cordon/tools'
import { differenceOf } from '../trust/difference.ts'
import type { TextNow } from './text-now.ts'

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
  /** SPEC 4.9: what of it may be secret. */
  readonly secret: string | undefined
  /** A file that is there is replaced: who says yes to the call says yes to that. */
  readonly replaces: boolean
  /** The arguments are a person's now. */
  readonly isEdited?: boolean
}

interface ShowOptions {
  readonly isOurs: boolean
  readonly textNow: TextNow
  readonly replaces?: boolean
}

/** `isOurs`: it is the tool that Cordon ships. Of what the arguments name, only the files are looked at that would be changed. */
export function showCall(
  tool: string,
  args: unknown,
  { isOurs, textNow, replaces = false }: ShowOptions,
): ShownCall {
  return {
    tool,
    arguments: args,
    summary: isOurs ? summaryOf(tool, args) : undefined,
    said: undefined,
    changes: isOurs ? changesOf(tool, args, textNow, replaces) : [],
    secret: undefined,
    replaces,
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

function changesOf(tool: string, args: unknown, textNow: TextNow, replaces: boolean): ShownChange[] {
  if (!isRecord(args)) return []
  if (tool === 'fs_create_file') return contentOf(args, textNow, replaces)
  if (tool === 'fs_move_file' && replaces && typeof args['to'] === 'string')
    return [{ path: args['to'], lines: [REPLACED] }]
  if (tool !== 'fs_modify_file') return []
  if (typeof args['diff'] === 'string') return [{ path: 'diff', lines: args['diff'].split('\n') }]
  const edits = Array.isArray(args['edits']) ? args['edits'].filter(isEdit) : []
  return [...Map.groupBy(edits, ({ path }) => path)].map(([path, some]) => ({
    path,
    lines: [
      ...(some.some(({ all }) => all === true) ? ['(every occurrence)'] : []),
      ...(inPlace(textNow(path), some) ??
        some.flatMap((edit, i) => [...(i === 0 ? [] : ['…']), ...diffLines(edit.old, edit.new)])),
    ],
  }))
}

/** Whole lines of the file, with what is around them. Undefined: the edits do not fit what is there, as the call will say. */
function inPlace(now: string | undefined, edits: readonly Edit[]): readonly string[] | undefined {
  try {
    const changed = now === undefined ? undefined : edited(now, edits)
    return now === undefined || changed === undefined || changed === now
      ? undefined
      : differenceOf(now, changed)
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** Throws as the tool does where an edit does not fit. Undefined: to try it is too much work. */
function edited(now: string, edits: readonly Edit[]): string | undefined {
  let changed = now
  let work = 0
  for (const edit of edits) {
    const all = edit.all === true
    work += workOf(changed, edit)
    if (work > MOST_WORK) return undefined
    changed = replaceExactly(edit.path, changed, { old: edit.old, new: edit.new, all })
  }
  return changed
}

/** Why edits cannot be made in the files as they are now, in the tool's own words; undefined: nothing is known. */
export function editProblem(args: unknown, textNow: TextNow): string | undefined {
  const edits = isRecord(args) && Array.isArray(args['edits']) ? args['edits'].filter(isEdit) : []
  try {
    for (const [path, some] of Map.groupBy(edits, (edit) => edit.path)) {
      const now = textNow(path)
      if (now !== undefined) edited(now, some)
    }
    return undefined
  } catch (error) {
    if (error instanceof CordonError) return error.message
    throw error
  }
}

/** The most that it could take to find the old text, and to write the new one everywhere: a model chooses both, and the host has to live. */
const workOf = (text: string, { old, new: next, all }: Edit): number =>
  text.length * Math.max(old.length, 1) +
  (all === true ? (text.length / Math.max(old.length, 1)) * next.length : 0)

const MOST_WORK = 100_000_000

/** Also what is written in another alphabet: nobody reads base64. Of a file that is there, what changes. */
function contentOf(
  { path, content = '', encoding, overwrite }: Readonly<Record<string, unknown>>,
  textNow: TextNow,
  replaces: boolean,
): ShownChange[] {
  if (typeof path !== 'string' || typeof content !== 'string') return []
  const bytes = Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8')
  const next = isUtf8(bytes) ? bytes.toString('utf8') : undefined
  const now = replaces ? textNow(path) : undefined
  const all = next === undefined ? [`+(${bytes.length} bytes that are no text)`] : linesOf('+', next)
  const lines = now !== undefined && next !== undefined ? differenceOf(now, next) : all
  return [{ path, lines: [...(replaces || overwrite === true ? [REPLACED] : []), ...lines] }]
}

const REPLACED = '(replaces all that is there)'

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
