import { isDeepStrictEqual } from 'node:util'
import { removeToml, setToml, uncheckedValues } from '@cordon/config'
import { CordonError, show } from '@cordon/policy'
import { type JsonNode, memberOf, nodeAt, parseJsonc, plainOf } from './jsonc.ts'

/** How a client starts a server. */
export interface Launch {
  readonly command: string
  /** Undefined: the client's file has no `args`. */
  readonly args: readonly string[] | undefined
}

interface EntryChange extends Launch {
  readonly path: readonly string[]
}

/** A client's file, as far as we need to know it: plain values, and the one edit that we make. */
export interface ClientDocument {
  /** Objects have no prototype. */
  valueAt(path: readonly string[]): unknown
  /** The text with other `command` and `args` in these entries, and nothing else changed. */
  withEntries(changes: readonly EntryChange[]): string
}

/** The file cannot be read, or not be changed without changing more than was asked for. Nothing was written. */
export class ClientFileError extends CordonError {
  readonly code = 'CLIENT_FILE'
  readonly file: string
  readonly problem: string
  readonly fix: string | undefined
  constructor(file: string, problem: string, fix?: string) {
    super(`${show(file)}: ${problem}${fix === undefined ? '' : `\n  fix: ${fix}`}`)
    this.file = file
    this.problem = problem
    this.fix = fix
  }
}

export function openDocument(file: string, text: string): ClientDocument {
  return file.endsWith('.toml') ? tomlDocument(file, text) : jsonDocument(file, text)
}

function jsonDocument(file: string, text: string): ClientDocument {
  const root = readJson(file, text)
  return {
    valueAt: (path) => {
      const node = nodeAt(root, path)
      return node && plainOf(node)
    },
    withEntries: (changes) => {
      const splices = changes.flatMap((change) => entrySplices(file, text, root, change))
      let edited = text
      for (const { from, to, insert } of splices.toSorted((a, b) => b.from - a.from))
        edited = edited.slice(0, from) + insert + edited.slice(to)
      return checked(file, edited, changes, (path) => plainAt(readJson(file, edited), path))
    },
  }
}

const plainAt = (root: JsonNode, path: readonly string[]): unknown => {
  const node = nodeAt(root, path)
  return node && plainOf(node)
}

function readJson(file: string, text: string): JsonNode {
  try {
    return parseJsonc(text)
  } catch (error) {
    if (error instanceof CordonError) throw new ClientFileError(file, error.message)
    throw error
  }
}

interface Splice {
  readonly from: number
  readonly to: number
  readonly insert: string
}

function entrySplices(
  file: string,
  text: string,
  root: JsonNode,
  { path, command, args }: EntryChange,
): readonly Splice[] {
  const entry = nodeAt(root, path)
  const was = { command: memberOf(entry, 'command'), args: memberOf(entry, 'args') }
  if (!was.command) throw new ClientFileError(file, `there is no command at ${show(path.join('.'))} any more`)
  const { from, to } = was.command.value
  const program: Splice = { from, to, insert: JSON.stringify(command) }
  const list = args && `[${args.map((word) => JSON.stringify(word)).join(', ')}]`
  if (was.args && list !== undefined)
    return [program, { from: was.args.value.from, to: was.args.value.to, insert: list }]
  if (!was.args && list !== undefined) {
    // Like the line that it follows.
    const lead = /\s*$/.exec(text.slice(0, was.command.at))![0]
    return [program, { from: to, to, insert: `,${lead || ' '}"args": ${list}` }]
  }
  if (!was.args) return [program]
  // We put it there, right behind the command. Who moved it since gets an empty list, which means the same.
  const between = text.slice(to, was.args.at)
  const gone = /^,\s*$/.test(between)
    ? { from: to, to: was.args.value.to, insert: '' }
    : { from: was.args.value.from, to: was.args.value.to, insert: '[]' }
  return [program, gone]
}

function tomlDocument(file: string, text: string): ClientDocument {
  const values = readToml(file, text)
  return {
    valueAt: (path) => descend(values, path),
    withEntries: (changes) => {
      let edited: string | undefined = text
      for (const { path, command, args } of changes) {
        edited = edited === undefined ? undefined : setToml(edited, [...path, 'command'], command)
        if (edited === undefined) break
        edited = args ? setToml(edited, [...path, 'args'], [...args]) : removeToml(edited, [...path, 'args'])
      }
      if (edited === undefined)
        throw new ClientFileError(
          file,
          'cannot change it without rewriting other parts of it',
          'change it by hand',
        )
      const now = readToml(file, edited)
      return checked(file, edited, changes, (path) => descend(now, path))
    },
  }
}

function readToml(file: string, text: string): unknown {
  const read = uncheckedValues({ layer: 'user', label: file, text })
  if (read.kind === 'values') return read.values
  const { line, column } = read.problem.origin
  throw new ClientFileError(file, `${read.problem.message} at line ${line ?? 1}, column ${column ?? 1}`)
}

function descend(values: unknown, path: readonly string[]): unknown {
  let here = values
  for (const key of path)
    here =
      typeof here === 'object' && here !== null && Object.hasOwn(here, key) ? here[key as never] : undefined
  return here
}

/** An edit is a guess until the text says what it should. */
function checked(
  file: string,
  edited: string,
  changes: readonly EntryChange[],
  valueAt: (path: readonly string[]) => unknown,
): string {
  const isDone = changes.every(
    ({ path, command, args }) =>
      valueAt([...path, 'command']) === command &&
      isDeepStrictEqual(valueAt([...path, 'args']) ?? [], [...(args ?? [])]),
  )
  if (!isDone)
    throw new ClientFileError(file, 'an edit of it would not say what it should', 'change it by hand')
  return edited
}
