import { isUtf8 } from 'node:buffer'
import { extname } from 'node:path'

export interface ContentType {
  readonly mimeType: string
  /** Whether it goes to the reader as text or as bytes. */
  readonly form: 'text' | 'blob'
}

/** As much of a file as decides what it is. */
export const HEAD = 64 * 1024

/**
 * By content first: a name proves nothing, and a picture called `notes.txt` is a picture. The name only chooses among
 * kinds of text, and among formats that share a container.
 */
export function contentType(head: Uint8Array, name: string): ContentType {
  const extension = extname(name).toLowerCase()
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length)
  const magic = MAGIC.find(({ at, is }) => bytes.subarray(at, at + is.length).equals(is))
  if (magic) return { mimeType: magic.byName?.[extension] ?? magic.mimeType, form: 'blob' }
  if (!isText(bytes)) return { mimeType: 'application/octet-stream', form: 'blob' }
  if (/^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<svg[\s>]/s.test(bytes.toString('utf8', 0, 1024)))
    return { mimeType: 'image/svg+xml', form: 'text' }
  return { mimeType: TEXT[extension] ?? 'text/plain', form: 'text' }
}

/** UTF-8 without NUL. The head may end inside a character, so up to three last bytes are not held against it. */
function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false
  if (bytes.length < HEAD) return isUtf8(bytes)
  return [0, 1, 2, 3].some((cut) => isUtf8(bytes.subarray(0, bytes.length - cut)))
}

interface Magic {
  readonly at: number
  readonly is: Buffer
  readonly mimeType: string
  readonly byName?: Readonly<Record<string, string>>
}

const OFFICE = 'application/vnd.openxmlformats-officedocument.'
const ZIPPED = {
  '.docx': `${OFFICE}wordprocessingml.document`,
  '.xlsx': `${OFFICE}spreadsheetml.sheet`,
  '.pptx': `${OFFICE}presentationml.presentation`,
  '.epub': 'application/epub+zip',
  '.jar': 'application/java-archive',
}

const magic = (is: string, mimeType: string, at = 0): Magic => ({
  at,
  is: Buffer.from(is, 'latin1'),
  mimeType,
})

const MAGIC: readonly Magic[] = [
  magic('%PDF-', 'application/pdf'),
  magic('\x89PNG\r\n\x1a\n', 'image/png'),
  magic('\xff\xd8\xff', 'image/jpeg'),
  magic('GIF87a', 'image/gif'),
  magic('GIF89a', 'image/gif'),
  magic('WEBP', 'image/webp', 8),
  magic('WAVE', 'audio/wav', 8),
  magic('ftypavif', 'image/avif', 4),
  magic('ftypheic', 'image/heic', 4),
  magic('ftyp', 'video/mp4', 4),
  magic('ID3', 'audio/mpeg'),
  magic('OggS', 'audio/ogg'),
  magic('fLaC', 'audio/flac'),
  magic('\x1a\x45\xdf\xa3', 'video/webm'),
  magic('BZh', 'application/x-bzip2'),
  magic('\x1f\x8b', 'application/gzip'),
  magic('\x28\xb5\x2f\xfd', 'application/zstd'),
  magic('7z\xbc\xaf\x27\x1c', 'application/x-7z-compressed'),
  { ...magic('PK\x03\x04', 'application/zip'), byName: ZIPPED },
  magic('SQLite format 3\0', 'application/vnd.sqlite3'),
  magic('\0asm', 'application/wasm'),
  magic('\x7fELF', 'application/x-elf'),
]

const TEXT: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.csv': 'text/csv',
  '.htm': 'text/html',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
  '.md': 'text/markdown',
  '.mjs': 'text/javascript',
  '.py': 'text/x-python',
  '.rs': 'text/x-rust',
  '.toml': 'application/toml',
  '.ts': 'text/x-typescript',
  '.tsv': 'text/tab-separated-values',
  '.xml': 'application/xml',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
}
