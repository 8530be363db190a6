import { type OpenFile } from '@cordon/files'
import { type Location, show, showWhole, workspaceUri } from '@cordon/policy'
import { count, mimeTypeOf, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { type ContentBlock, type Tool, type ToolResult } from '../protocol.ts'
import { ToolError } from '../report.ts'
import { decode, type Encoding, SAMPLE, sniffEncoding, wholeCharacters } from '../text/encoding.ts'
import { countLines, readLines, readTail } from '../text/line-range.ts'
import { type Infer } from '../schema.ts'

const FAR: number = Number.MAX_SAFE_INTEGER

const parameters = {
  type: 'object',
  properties: {
    path: { type: 'string', description: 'The file, relative to the workspace.' },
    start_line: { type: 'integer', minimum: 1, maximum: FAR, description: 'The first line, from 1.' },
    end_line: { type: 'integer', minimum: 1, maximum: FAR, description: 'The last line, included.' },
    head: { type: 'integer', minimum: 1, maximum: FAR, description: 'Only the first lines.' },
    tail: { type: 'integer', minimum: 1, maximum: FAR, description: 'Only the last lines.' },
    start_byte: { type: 'integer', minimum: 0, maximum: FAR, description: 'The first byte, from 0.' },
    length: { type: 'integer', minimum: 1, maximum: FAR, description: 'How many bytes from start_byte.' },
    line_numbers: { type: 'boolean', description: 'Put its number before each line.' },
    max_bytes: {
      type: 'integer',
      minimum: 1,
      maximum: 8 * 1024 * 1024,
      description: 'The most to return; default 262144. What is cut is said.',
    },
  },
  required: ['path'],
  additionalProperties: false,
} as const

type Args = Infer<typeof parameters>

/** A part of a file as it will be shown, and how it is to be named. */
interface Part {
  readonly bytes: Uint8Array
  /** For the URI: empty when it is the whole file. */
  readonly fragment: string
  readonly notes: readonly string[]
  readonly firstLine?: number
}

export const fsReadFile: Tool = defineTool({
  name: 'fs_read_file',
  description: DESCRIPTIONS.fs_read_file,
  parameters,
  describe: (args) => `read ${showWhole(args.path)}${describeSelection(args)}`,
  run(args, context, { anchors, shown }) {
    checkSelection(args)
    const location = context.locate(args.path, 'read')
    shown.requirePlace(args.path, location)
    using file = anchors.of(location).open(location.inside)
    const head = file.readRange({ start: 0, length: SAMPLE })
    const encoding = sniffEncoding(head)
    const result =
      encoding === 'binary'
        ? readBinary(args, location, file)
        : readText(args, location, { file, head, encoding })
    if (result.type !== 'success' || file.statNow().version === file.stat.version) return result
    return success(...result.content, text('The file changed while it was read.'))
  },
})

function checkSelection(args: Args): void {
  const families = [
    args.start_line !== undefined || args.end_line !== undefined,
    args.head !== undefined,
    args.tail !== undefined,
    args.start_byte !== undefined || args.length !== undefined,
  ].filter(Boolean)
  if (families.length > 1)
    throw new ToolError('choose one of: start_line and end_line, head, tail, start_byte and length')
  if ((args.end_line ?? FAR) < (args.start_line ?? 1)) throw new ToolError('end_line is before start_line')
  if (args.line_numbers && (args.tail !== undefined || isByteRange(args)))
    throw new ToolError(
      'line_numbers needs lines counted from the beginning: use start_line and end_line, or head',
    )
}

const isByteRange = (args: Args): boolean => args.start_byte !== undefined || args.length !== undefined
const isLineRange = (args: Args): boolean =>
  args.start_line !== undefined ||
  args.end_line !== undefined ||
  args.head !== undefined ||
  args.tail !== undefined

const limitOf = (args: Args): number => args.max_bytes ?? 256 * 1024

interface TextFile {
  readonly file: OpenFile
  /** What was looked at to see that it is text. */
  readonly head: Buffer
  readonly encoding: Exclude<Encoding, 'binary'>
}

function readText(args: Args, location: Location, { file, head, encoding }: TextFile): ToolResult {
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return readUtf16(args, location, file, encoding)
  const part = isByteRange(args) ? selectBytes(args, file) : selectLines(args, file, head)
  const atStart = part.firstLine === 1 || (part.firstLine === undefined && (args.start_byte ?? 0) === 0)
  const decoded = decode(part.bytes, encoding === 'utf-8-bom' && atStart ? encoding : 'utf-8')
  if (decoded === undefined) return readBinary(args, location, file)
  return showText(args, location, part, decoded)
}

function selectLines(args: Args, file: OpenFile, head: Buffer): Part {
  const limit = limitOf(args)
  if (args.tail !== undefined) {
    const { bytes, cut } = readTail(file, args.tail, limit)
    const whole = bytes.length === file.stat.size
    const notes = cut
      ? [
          `Cut at the front to ${count(limit, 'byte')}: ${count(countLines(bytes), 'line')} shown, from start_byte = ${file.stat.size - bytes.length} on.`,
        ]
      : []
    return { bytes, fragment: whole ? '' : `#tail=${countLines(bytes)}`, notes }
  }
  const from = args.start_line ?? 1
  const { bytes, last, next, nextByte, atEnd } = readLines(file, {
    from,
    to: args.end_line ?? args.head ?? FAR,
    limit,
    head,
  })
  if (bytes.length === 0 && from > 1) throw new ToolError(`the file has fewer than ${from} lines`)
  const notes: string[] = []
  if (next !== undefined)
    notes.push(`Cut after line ${last} (${count(limit, 'byte')}); go on with start_line = ${next}.`)
  if (nextByte !== undefined)
    notes.push(
      `Cut in line ${last}, which is longer than ${count(limit, 'byte')}; go on with start_byte = ${nextByte}.`,
    )
  return {
    bytes,
    fragment: from === 1 && atEnd ? '' : `#line=${from},${last}`,
    notes,
    firstLine: from,
  }
}

/** Whole characters only: a range may begin and end in the middle of one. */
function selectBytes(args: Args, file: OpenFile): Part {
  const bytes = rawBytes(args, file)
  let from = 0
  while (from < 3 && (args.start_byte ?? 0) > 0 && ((bytes[from] ?? 0) & 0xc0) === 0x80) from++
  const shown = wholeCharacters(bytes, from)
  // What was cut at the end is the beginning of the next part.
  return describeBytes(args, file, shown, shown.length > 0 ? from + shown.length : bytes.length)
}

function rawBytes(args: Args, file: OpenFile): Buffer {
  const start = args.start_byte ?? 0
  if (start > file.stat.size) throw new ToolError(`the file has only ${count(file.stat.size, 'byte')}`)
  return file.readRange({ start, length: Math.min(args.length ?? FAR, limitOf(args)) })
}

function describeBytes(args: Args, file: OpenFile, bytes: Uint8Array, read: number): Part {
  const start = args.start_byte ?? 0
  const wanted = Math.min(args.length ?? FAR, file.stat.size - start)
  const notes = [`Bytes ${start} to ${start + read - 1} of ${file.stat.size}.`]
  if (read < wanted) notes.push(`Cut to ${count(read, 'byte')}; go on with start_byte = ${start + read}.`)
  const whole = start === 0 && read === file.stat.size
  return whole
    ? { bytes, fragment: '', notes: [] }
    : { bytes, fragment: `#byte=${start},${start + read}`, notes }
}

const UTF16_LIMIT = 16 * 1024 * 1024

/** Lines cannot be found without decoding, so it is decoded whole. */
function readUtf16(
  args: Args,
  location: Location,
  file: OpenFile,
  encoding: 'utf-16le' | 'utf-16be',
): ToolResult {
  if (isByteRange(args)) return readUtf16Bytes(args, location, file, encoding)
  const decoded = decode(file.readAll(UTF16_LIMIT), encoding)
  if (decoded === undefined) return readBinary(args, location, file)
  const all = decoded.split(/(?<=\n)/)
  const from = args.tail === undefined ? (args.start_line ?? 1) : Math.max(1, all.length - args.tail + 1)
  const to = Math.min(args.end_line ?? args.head ?? FAR, all.length)
  const shown = all.slice(from - 1, to).join('')
  const bytes = wholeCharacters(Buffer.from(shown).subarray(0, limitOf(args)))
  const notes = [`Decoded from ${encoding.toUpperCase()}.`]
  if (bytes.length < Buffer.byteLength(shown)) {
    // Two bytes a unit, after the two of the byte order mark.
    const units = all.slice(0, from - 1).join('').length + Buffer.from(bytes).toString('utf8').length
    notes.push(`Cut to ${count(bytes.length, 'byte')}; go on with start_byte = ${2 + 2 * units}.`)
  }
  const whole = from === 1 && to === all.length && notes.length === 1
  const part: Part = { bytes, fragment: whole ? '' : `#line=${from},${to}`, notes, firstLine: from }
  return showText(args, location, part, Buffer.from(bytes).toString('utf8'))
}

/** A part of it, from a whole unit to a whole unit; binary if it is no text after all. */
function readUtf16Bytes(
  args: Args,
  location: Location,
  file: OpenFile,
  encoding: 'utf-16le' | 'utf-16be',
): ToolResult {
  const asked = args.start_byte ?? 0
  const start = asked - (asked % 2)
  const even = { ...args, start_byte: start }
  const raw = rawBytes(even, file)
  const units = raw.subarray(0, raw.length - (raw.length % 2))
  const text16 = new TextDecoder(encoding).decode(units)
  // The first half of a pair at the end is the beginning of the next part.
  const whole = /[\uFFFD]$/.test(text16) && units.length > 2 ? units.subarray(0, -2) : units
  const decoded = decode(whole, encoding)
  if (decoded === undefined || whole.length === 0) return readBinary(args, location, file)
  const part = describeBytes(even, file, whole, whole.length)
  return showText(args, location, part, decoded)
}

/** SPEC 1.8's contract for everything that is no text: base64, whole or a stated part. */
function readBinary(args: Args, location: Location, file: OpenFile): ToolResult {
  if (isLineRange(args) || args.line_numbers)
    throw new ToolError(`${show(location.relative)} is not text: use start_byte and length`)
  const bytes = rawBytes(args, file)
  const part = describeBytes(args, file, bytes, bytes.length)
  const uri = workspaceUri(location.relative, part.fragment)
  const mimeType = mimeTypeOf(location.relative, 'binary')
  return success(
    { type: 'resource', resource: { uri, mimeType, blob: bytes.toString('base64') } },
    ...noteBlock(part.notes),
  )
}

function showText(args: Args, location: Location, part: Part, decoded: string): ToolResult {
  const shown = args.line_numbers ? numberLines(decoded, part.firstLine ?? 1) : decoded
  const uri = workspaceUri(location.relative, part.fragment)
  const mimeType = args.line_numbers ? 'text/plain' : mimeTypeOf(location.relative, 'text')
  return success({ type: 'resource', resource: { uri, mimeType, text: shown } }, ...noteBlock(part.notes))
}

function numberLines(decoded: string, first: number): string {
  const lines = decoded.split('\n')
  const ended = lines.at(-1) === ''
  if (ended) lines.pop()
  const width = String(first + lines.length - 1).length
  const numbered = lines.map((line, i) => `${String(first + i).padStart(width)}\t${line}`)
  return numbered.join('\n') + (ended && lines.length > 0 ? '\n' : '')
}

const noteBlock = (notes: readonly string[]): ContentBlock[] =>
  notes.length > 0 ? [text(notes.join(' '))] : []

function describeSelection(args: Args): string {
  if (args.head !== undefined) return `, first ${count(args.head, 'line')}`
  if (args.tail !== undefined) return `, last ${count(args.tail, 'line')}`
  if (args.start_line !== undefined || args.end_line !== undefined)
    return `, lines ${args.start_line ?? 1} to ${args.end_line ?? 'the end'}`
  if (!isByteRange(args)) return ''
  return `, ${args.length === undefined ? 'bytes' : count(args.length, 'byte')} from ${args.start_byte ?? 0}`
}
