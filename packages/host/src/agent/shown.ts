import { isUtf8 } from 'node:buffer'
import { CordonError, isFields } from '@cordon/policy'
import { type FileEdit, findTool, parseEdits, type Seen, type ShownPath } from '@cordon/tools'
import { differenceOf } from '../trust/difference.ts'
import { type FileNow, type FilesNow, textOf } from '../execute/files-now.ts'
import { type Lead, leadsIn } from '../execute/shown-paths.ts'

/** One changed file, by the name where it really is, in the lines of a diff: ` `, `-`, `+` and the text. */
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
  /** Where its paths lead, if that is not what is written there (decision 0409). */
  readonly leads: readonly Lead[]
  /** SPEC 6.5: what it would change, for the tools of ours that change files. */
  readonly changes: readonly ShownChange[]
  /** SPEC 4.9: what the question says of it: what may be secret. */
  readonly secret: string | undefined
  /** It is edited each time, so that nobody can say `always` to it. */
  readonly mode?: 'edit'
  /** A file that is there is replaced: who says yes to the call says yes to that. */
  readonly replaces: boolean
  /** The arguments are a person's now. */
  readonly isEdited?: boolean
}

interface Surroundings {
  readonly files: FilesNow
  /** A file that is there is replaced. */
  readonly replaces: boolean
  /** What the person is shown it against; none where nobody is asked. */
  readonly paths: readonly ShownPath[]
}

interface ShowOptions extends Partial<Surroundings> {
  readonly isOurs: boolean
  readonly files: FilesNow
}

/** `isOurs`: it is the tool that Cordon ships. Of what the arguments name, only the files are looked at that would be changed. */
export function showCall(
  tool: string,
  args: unknown,
  { isOurs, files, replaces = false, paths = [] }: ShowOptions,
): ShownCall {
  return {
    tool,
    arguments: args,
    summary: isOurs ? summaryOf(tool, args) : undefined,
    said: undefined,
    ...(isOurs ? unsaidIn(tool, args) : {}),
    leads: leadsIn(paths),
    changes: isOurs ? changesOf(tool, args, { files, replaces, paths }) : [],
    secret: undefined,
    replaces,
  }
}

/** What a utility reads is as much of a call as its words: `sh`-like ones run it. */
const unsaidIn = (tool: string, args: unknown): Pick<ShownCall, 'unsaid'> =>
  tool === 'unix_utils' && isFields(args) && args['stdin'] !== undefined
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

function changesOf(tool: string, args: unknown, around: Surroundings): ShownChange[] {
  const { files, replaces } = around
  if (!isFields(args)) return []
  if (tool === 'fs_create_file') return contentOf(args, around)
  if (tool === 'fs_delete_file') return lossAt(args['path'], files)
  if (tool === 'fs_move_file' && replaces)
    return lossAt(args['to'], files).map(({ path, lines }) => ({ path, lines: [REPLACED, ...lines] }))
  if (tool !== 'fs_modify_file') return []
  return [...byFile(editsIn(args), files)].map(([file, edits]) => ({
    path: file?.path ?? edits[0]!.path,
    lines: linesOfChange(textOf(file), edits),
  }))
}

/** What is lost of an entry: its size, and its lines. A link itself goes, and not what is behind it. */
function lossAt(path: unknown, files: FilesNow): ShownChange[] {
  const file = typeof path === 'string' ? files(path, 'entry') : undefined
  const seen = file?.look()
  if (!file || !seen || seen.kind === 'missing') return []
  return [{ path: file.path, lines: linesLost(seen, textOf(file)) }]
}

function linesLost({ kind, size }: Seen, text: string | undefined): string[] {
  if (kind === 'link') return ['(a link, and not what it leads to)']
  if (kind !== 'file') return [`(${kind})`]
  const bytes = `${size.toLocaleString('en')} bytes`
  if (text === undefined) return [`(${bytes} that are no text, or too many to show)`]
  return [`(${bytes})`, ...(text === '' ? [] : linesOf('-', text))]
}

/** Two spellings of one file are one change of it, as the tool has it. */
function byFile(
  edits: readonly FileEdit[],
  files: FilesNow,
): (readonly [FileNow | undefined, readonly FileEdit[]])[] {
  const found = edits.map((edit) => ({ edit, file: files(edit.path) }))
  return [...Map.groupBy(found, ({ edit, file }) => file?.path ?? edit.path).values()].map(
    (some) => [some[0]?.file, some.map(({ edit }) => edit)] as const,
  )
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
  try {
    const changed = edited(now, edits)
    if (changed === undefined) return undefined
    return changed === now ? ['(nothing is changed)'] : differenceOf(now, changed)
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** Throws as the tool does where an edit does not fit. Undefined: to try it is too much work. */
function edited(now: string, edits: readonly FileEdit[]): string | undefined {
  let changed = now
  let work = 0
  for (const { apply, workOn } of edits) {
    work += workOn(changed)
    if (work > MOST_WORK) return undefined
    changed = apply(changed)
  }
  return changed
}

/** Why edits cannot be made in the files as they are now, in the tool's own words; undefined: nothing is known. */
export function editProblem(args: unknown, files: FilesNow): string | undefined {
  try {
    for (const [file, edits] of byFile(parseEdits(args), files)) {
      const now = textOf(file)
      if (now !== undefined) edited(now, edits)
    }
    return undefined
  } catch (error) {
    if (error instanceof CordonError) return error.message
    throw error
  }
}

/** A model chooses what is looked for and what it becomes, and the host has to live. */
const MOST_WORK = 100_000_000

/** Also what is written in another alphabet: nobody reads base64. Of a file that is there, what changes. */
function contentOf(
  { path, content = '', encoding, overwrite }: Readonly<Record<string, unknown>>,
  { files, replaces, paths }: Surroundings,
): ShownChange[] {
  if (typeof path !== 'string' || typeof content !== 'string') return []
  const bytes = Buffer.from(content, encoding === 'base64' ? 'base64' : 'utf8')
  const replaced = replaces ? textOf(files(path)) : undefined
  const isText = isUtf8(bytes)
  const lines =
    isText && replaced !== undefined
      ? differenceOf(replaced, bytes.toString('utf8'))
      : isText
        ? linesOf('+', bytes.toString('utf8'))
        : [
            `(not UTF-8: a byte that is no text is written as \\xff, a backslash as \\\\)`,
            ...linesOf('+', withBytes(bytes)),
          ]
  const place = paths.find((each) => each.path === path)?.place ?? path
  return [{ path: place, lines: [...(replaces || overwrite === true ? [REPLACED] : []), ...lines] }]
}

const REPLACED = '(replaces all that is there)'

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
