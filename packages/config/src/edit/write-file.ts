import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CordonError, show } from '@cordon/policy'
import { readAmbientText } from '../ambient/read-file.ts'
import { ConfigError } from '../errors.ts'
import { Document, readDocument } from '../toml/document.ts'

/** The file is not as it was when it was read, or is nothing that may be replaced. Nothing was written. */
export class ConfigWriteError extends CordonError {
  readonly code = 'CONFIG_WRITE'
  readonly file: string
  constructor(file: string, message: string, fix: string) {
    super(`cannot write ${show(file)}: ${message}\n  fix: ${fix}`)
    this.file = file
  }
}

/** What a new file starts with: editors complete the keys from the schema it names. */
export const newConfigText = (schema = './config.schema.json'): string => `#:schema ${schema}\n`

/**
 * The whole text or nothing: written beside the file, made durable, renamed over it; the mode stays. `was` is what
 * the file held when it was read (undefined: it did not exist), so that nobody else's edit is lost unseen.
 */
export function writeConfigFile(file: string, text: string, was: string | undefined): void {
  const document = readDocument({ layer: 'workspace', label: file, text })
  if (!(document instanceof Document)) throw new ConfigError([document])
  const before = lookAt(file)
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    writeDurably(temporary, text, before)
    checkUnchanged(file, was)
    renameSync(temporary, file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error instanceof CordonError ? error : failed(file, error)
  }
  syncDirectory(dirname(file))
}

function lookAt(file: string): Stats | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink())
    throw new ConfigWriteError(file, 'it is a symbolic link', 'edit the file that it points to')
  if (stat && !stat.isFile()) throw new ConfigWriteError(file, 'it is not a regular file', 'take it away')
  return stat
}

function writeDurably(temporary: string, text: string, before: Stats | undefined): void {
  const fd = openSync(temporary, 'wx', 0o666)
  try {
    const bytes = Buffer.from(text)
    for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done)
    if (before) fchmodSync(fd, before.mode & 0o7777)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

function checkUnchanged(file: string, was: string | undefined): void {
  const now = readAmbientText({ layer: 'workspace', label: file, file })
  if (now.kind === 'unreadable') throw new ConfigError([now.problem])
  const text = now.kind === 'text' ? now.text : undefined
  if (text !== was) throw new ConfigWriteError(file, 'somebody else changed it meanwhile', 'try again')
}

function failed(file: string, error: unknown): ConfigWriteError {
  const code = (error as NodeJS.ErrnoException).code ?? String(error)
  return new ConfigWriteError(
    file,
    FAILURES[code] ?? `the system says ${code}`,
    'make its directory writable, then try again',
  )
}

const FAILURES: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EROFS: 'the filesystem is read-only',
  ENOENT: 'its directory does not exist',
  ENOSPC: 'the disk is full',
}

function syncDirectory(directory: string): void {
  const fd = openSync(directory, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
