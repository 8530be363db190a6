import { closeSync, constants, fstatSync, openSync } from 'node:fs'
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
import { IS_DIRECTORY, IS_NO_FILE, textIn } from './text-in.ts'

/** Far more than a person writes; a larger file is a mistake or an attack on memory. */
const LIMIT = { bytes: 8 * 1024 * 1024, fix: 'split it, or take out what is not configuration' }

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
    const known = code === 'ELOOP' && within !== undefined ? IS_LINK : OPEN_ERRORS[code]
    return known
      ? wrong(known.message, known.fix)
      : wrong(`the system says ${code}`, 'make it a readable file, or take it away')
  }
  try {
    const stat = fstatSync(fd)
    const handed = onTheWay ?? handedOver(file, stat, strangerIn)
    if (handed) return wrong(...describeStranger(handed, file))
    const found = textIn(fd, stat, LIMIT)
    return found.kind === 'text' ? found : wrong(found.message, found.fix, found.line)
  } finally {
    closeSync(fd)
  }
}

const openAnywhere = (file: string): Opened => ({
  fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK),
  onTheWay: undefined,
})

const IS_LINK = {
  message: 'it is a symbolic link, or reached through one',
  fix: 'put the file itself there: what a link leads to may be in the hands of others',
}

const OPEN_ERRORS: Readonly<Record<string, { readonly message: string; readonly fix: string }>> = {
  EACCES: {
    message: 'no permission',
    fix: 'give yourself read permission on it and on the directories above it',
  },
  EISDIR: IS_DIRECTORY,
  ELOOP: {
    message: 'its symbolic links go round in a circle',
    fix: 'point the link at a real file, or take it away',
  },
  ENOTDIR: {
    message: 'something above it is a file or a link, not a directory',
    fix: 'put a directory there, or take it away',
  },
  ENAMETOOLONG: { message: 'its name is too long', fix: 'shorten the path' },
  ENXIO: IS_NO_FILE,
}
