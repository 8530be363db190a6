import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { type ConfigProblem } from '../errors.ts'
import { type LayerName } from '../layers.ts'
import {
  describeStranger,
  type Handed,
  handedOver,
  openBelow,
  type Opened,
  type StrangerIn,
} from './ownership.ts'

/** Far more than a person writes; a larger file is a mistake or an attack on memory. */
const LARGEST_FILE = 8 * 1024 * 1024

export type ReadText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly problem: ConfigProblem }

export interface ConfigFile {
  readonly layer: LayerName
  readonly label: string
  readonly file: string
  /**
   * Of one of the workspace's own files: the root. From there down to the file nothing may be in the hands of others,
   * or be a link (SPEC 2.1).
   */
  readonly within?: string
}

/**
 * Never blocks (on a FIFO), never reads more than the limit, and says what is wrong with the file by its label. With
 * `strangerIn`, what others could have written is refused; what is asked about is what is read.
 */
export function readAmbientText(
  { layer, label, file, within }: ConfigFile,
  strangerIn: StrangerIn = () => undefined,
): ReadText {
  const wrong = (message: string, fix: string, line?: number): ReadText => ({
    kind: 'unreadable',
    problem: {
      origin: { layer, label, ...(line === undefined ? {} : { line, column: 1 }) },
      key: '',
      message: `cannot read the config file: ${message}`,
      fix,
    },
  })
  let fd: number
  let onTheWay: Handed | undefined
  try {
    ;({ fd, onTheWay } = within === undefined ? openAnywhere(file) : openBelow(within, file, strangerIn))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    if (code === 'ENOENT') return { kind: 'missing' }
    if (code === 'ELOOP' && within !== undefined) return wrong(...IS_LINK)
    return wrong(
      ...(OPEN_ERRORS[code] ?? [`the system says ${code}`, 'make it a readable file, or take it away']),
    )
  }
  try {
    const stat = fstatSync(fd)
    const handed = onTheWay ?? handedOver(file, stat, strangerIn)
    if (handed) return wrong(...describeStranger(handed, file))
    if (stat.isDirectory()) return wrong(...IS_DIRECTORY)
    if (!stat.isFile())
      return wrong('it is not a regular file', 'put a regular file in its place, or take it away')
    const bytes = readUpTo(fd, LARGEST_FILE + 1, stat.size)
    if (bytes.length > LARGEST_FILE)
      return wrong(
        'it is larger than 8 MiB, which is the limit',
        'split it, or take out what is not configuration',
      )
    if (!isUtf8(bytes)) return wrong('it is not UTF-8 text', 'save it as UTF-8', lineOfBadByte(bytes))
    return { kind: 'text', text: bytes.toString('utf8') }
  } finally {
    closeSync(fd)
  }
}

const openAnywhere = (file: string): Opened => ({
  fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK),
  onTheWay: undefined,
})

const IS_LINK = [
  'it is a symbolic link, or reached through one',
  'put the file itself there: what a link leads to may be in the hands of others',
] as const

const IS_DIRECTORY = ['it is a directory', 'put a file in its place, or take it away'] as const

const OPEN_ERRORS: Readonly<Record<string, readonly [string, string]>> = {
  EACCES: ['no permission', 'give yourself read permission on it and on the directories above it'],
  EISDIR: IS_DIRECTORY,
  ELOOP: ['its symbolic links go round in a circle', 'point the link at a real file, or take it away'],
  ENOTDIR: [
    'something above it is a file or a link, not a directory',
    'put a directory there, or take it away',
  ],
  ENAMETOOLONG: ['its name is too long', 'shorten the path'],
  ENXIO: ['it is not a regular file', 'put a regular file in its place, or take it away'],
}

/** The size a file claims is only a guess: it is read until it ends or the limit is passed. */
function readUpTo(fd: number, limit: number, guess: number): Buffer {
  let bytes = Buffer.allocUnsafe(Math.min(guess + 1, limit)) // one more, so that its end is seen without another
  let total = 0
  for (;;) {
    const count = readSync(fd, bytes, total, bytes.length - total, null)
    total += count
    if (count === 0 || total === limit) return bytes.subarray(0, total)
    if (total === bytes.length)
      bytes = Buffer.concat([bytes, Buffer.allocUnsafe(Math.min(64 * 1024, limit - total))])
  }
}

function lineOfBadByte(bytes: Buffer): number {
  let line = 1
  for (let start = 0; start < bytes.length; line++) {
    const newline = bytes.indexOf(0x0a, start)
    const end = newline < 0 ? bytes.length : newline
    if (!isUtf8(bytes.subarray(start, end))) return line
    start = end + 1
  }
  return line
}
