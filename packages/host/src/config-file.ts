import { randomBytes } from 'node:crypto'
import { lstatSync, rmSync, type Stats, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import {
  ConfigError,
  configSchema,
  LAYERS,
  readAmbientText,
  type Source,
  uncheckedValues,
} from '@cordon/config'
import { replaceDurably } from '@cordon/files'
import { CordonError, show } from '@cordon/policy'
import { type EditableLayer } from './project.ts'

/** The file is not as it was when it was read, or is nothing that may be replaced. Nothing was written. */
class ConfigWriteError extends CordonError {
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
 * The whole text or nothing, and the mode stays. `was` is what the file held when it was read (undefined: it did not
 * exist), so that nobody else's edit is lost unseen (decision 0035).
 */
export function writeConfigFile(file: string, text: string, was: string | undefined): void {
  const read = uncheckedValues({ layer: 'workspace', label: file, text })
  if (read.kind === 'broken') throw new ConfigError([read.problem])
  const before = lookAt(file)
  try {
    replaceDurably(file, text, {
      mode: 0o666,
      keptMode: before && before.mode & 0o7777,
      temp: join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}.tmp`),
      beforeRename: () => checkUnchanged(file, was),
    })
  } catch (error) {
    throw error instanceof CordonError ? error : failed(file, error)
  }
}

/**
 * The schema that a new config file's `#:schema` line names, beside it, so that editors complete and check it.
 * Nothing of ours reads it back. A link of that name may have come with the directory, and is not written through.
 */
export function writeSchemaBeside(configFile: string): void {
  const file = join(dirname(configFile), 'config.schema.json')
  rmSync(file, { force: true })
  writeFileSync(file, `${JSON.stringify(configSchema(), undefined, 2)}\n`, { flag: 'wx' })
}

function lookAt(file: string): Stats | undefined {
  const stat = lstatSync(file, { throwIfNoEntry: false })
  if (stat?.isSymbolicLink())
    throw new ConfigWriteError(file, 'it is a symbolic link', 'edit the file that it points to')
  if (stat && !stat.isFile()) throw new ConfigWriteError(file, 'it is not a regular file', 'take it away')
  return stat
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

/** The text of a layer's file; empty when there is no such file yet. */
export function textOf(sources: readonly Source[], layer: EditableLayer): string {
  const source = sources.find((other) => other.layer === layer)
  return source && 'text' in source ? source.text : ''
}

/** The sources as they would be with another text in the layer's file. */
export function withText(sources: readonly Source[], layer: EditableLayer, text: string): readonly Source[] {
  const at = sources.findIndex((source) => source.layer === layer)
  const source = sources[at]
  if (source && 'text' in source) return sources.with(at, { ...source, text })
  const before = sources.filter((other) => LAYERS.indexOf(other.layer) < LAYERS.indexOf(layer))
  return [...before, { layer, label: layer, text }, ...sources.slice(before.length)]
}
