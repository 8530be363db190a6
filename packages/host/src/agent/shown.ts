import { isUtf8 } from 'node:buffer'
import { CordonError } from '@cordon/policy'
import { type FileEdit, findTool, parseEdits } from '@cordon/tools'
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
  /** The MCP server whose it is: who says yes says it to this one. */
  readonly server?: string | undefined
  readonly arguments: unknown
  /** In our words, for the tools of ours. */
  readonly summary: string | undefined
  /** Arguments of a tool of ours that its summary does not say. */
  readonly unsaid?: Readonly<Record<string, unknown>>
  /** In the tool's own words: what it says of itself, so beside its arguments and never instead of them (decision 0293). */
  readonly said: string | undefined
  /** SPEC 6.5: what it would change, for the tools of ours that change files. */
  readonly changes: readonly ShownChange[]
}

/** `isOurs`: it is the tool that Cordon ships. Of what the arguments name, only the files are looked at that would be changed. */
export function showCall(
  tool: string,
  args: unknown,
  { isOurs, textNow }: { readonly isOurs: boolean; readonly textNow: TextNow },
): ShownCall {
  return {
    tool,
    arguments: args,
    summary: isOurs ? summaryOf(tool, args) : undefined,
    said: undefined,
    ...(isOurs ? unsaidIn(tool, args) : {}),
    changes: isOurs ? changesOf(tool, args, textNow) : [],
  }
}

/** What a utility reads is as much of a call as its words: `sh`-like ones run it. */
const unsaidIn = (tool: string, args: unknown): Pick<ShownCall, 'unsaid'> =>
  tool === 'unix_utils' && isRecord(args) && args['stdin'] !== undefined
    ? { unsaid: { stdin: args['stdin'] } }
    : {}

/** `format_arguments` of a shipped tool is a function of its arguments. Undefined: they do not fit. */
function summaryOf(tool: string, args: unknown): string | undefined {
  try {
    return findTool(tool)?.describe(args)
  } catch {
    return undefined // the call will say what is wrong with them
  }
}

function changesOf(tool: string, args: unknown, textNow: TextNow): ShownChange[] {
  if (!isRecord(args)) return []
  if (tool === 'fs_create_file') return contentOf(args)
  if (tool !== 'fs_modify_file') return []
  const edits = editsIn(args).map((edit) => ({ edit, file: textNow(edit.path) }))
  // Two spellings of one file are one change of it, as the tool has it.
  return [...Map.groupBy(edits, ({ edit, file }) => file?.path ?? edit.path)].map(([path, some]) => ({
    path,
    lines: linesOfChange(
      some[0]?.file?.read(),
      some.map(({ edit }) => edit),
    ),
  }))
}

/** None where the arguments do not fit: the call will say so, and they are shown as they are. */
function editsIn(args: unknown): FileEdit[] {
  try {
    return parseEdits(args)
  } catch (error) {
    if (error instanceof CordonError) return []
    throw error
  }
}

function linesOfChange(now: string | undefined, edits: readonly FileEdit[]): readonly string[] {
  const asked = edits.flatMap(({ lines }, i) => [...(i === 0 ? [] : ['…']), ...lines])
  return [
    ...(edits.some(({ isEverywhere }) => isEverywhere) ? ['(every occurrence)'] : []),
    ...(inPlace(now, edits) ?? asked),
  ]
}

/** Whole lines of the file, with what is around them. Undefined: the edits do not fit what is there, as the call will say. */
function inPlace(now: string | undefined, edits: readonly FileEdit[]): readonly string[] | undefined {
  if (now === undefined) return undefined
  let changed = now
  let work = 0
  try {
    for (const { apply, workOn } of edits) {
      work += workOn(changed)
      if (work > MOST_WORK) return undefined
      changed = apply(changed)
    }
    return changed === now ? ['(nothing is changed)'] : differenceOf(now, changed)
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** A model chooses what is looked for and what it becomes, and the host has to live. */
const MOST_WORK = 100_000_000

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
    : [
        `(not UTF-8: a byte that is no text is written as \\xff, a backslash as \\\\)`,
        ...linesOf('+', withBytes(bytes)),
      ]
  return [{ path, lines: [...(overwrite === true ? ['(replaces all that is there)'] : []), ...lines] }]
}

/** One byte that is no text must not hide the text around it. */
const withBytes = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replaceAll(UTF8_OR_BYTE, (found: string, text: string | undefined) =>
      text === undefined
        ? `\\x${found.charCodeAt(0).toString(16)}`
        : Buffer.from(text, 'latin1').toString('utf8').replaceAll('\\', '\\\\'),
    )

/** RFC 3629 §4, over bytes as characters. */
const UTF8_OR_BYTE =
  // oxlint-disable-next-line no-control-regex
  /((?:[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}){1,1024})|[\x80-\xff]/g

const linesOf = (mark: string, text: string): string[] =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => mark + line)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
