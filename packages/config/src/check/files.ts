import { isDeepStrictEqual } from 'node:util'
import { type ConfigProblem } from '../errors.ts'
import { authorOf, formatOrigin } from '../layers.ts'
import { findCell, type Found, isTable, type TableCell } from '../merge/cell.ts'
import { mergeDocuments } from '../merge/merge.ts'
import { Written } from '../merge/written.ts'
import { checkValue } from '../schema/check.ts'
import { schemaAt } from '../schema/lookup.ts'
import { LIST_MERGE } from '../schema/schema.ts'
import { type Document, type Table } from '../toml/document.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { formatValue } from '../toml/value.ts'

/**
 * SPEC 2.1: the sandbox holds what files grant, so files do not decide how. They can lower its limits and make its lists
 * longer; any other key of it is a person's alone. What has the wrong shape is reported elsewhere (decision 0131).
 */
export function checkFiles(documents: readonly Document[], problems: ConfigProblem[]): void {
  let persons: TableCell | undefined
  const saidByPersons = (key: readonly string[]): Found | undefined =>
    findCell((persons ??= mergePersons(documents)), key)
  for (const document of documents) {
    if (authorOf(document.source) === 'person') continue
    problems.push(...personalKeys(document), ...takenNames(document, documents))
    const sandbox = document.values['sandbox']
    if (!isTable(sandbox)) continue
    const written = Written.in(document).child('sandbox')
    for (const [name, value] of Object.entries(sandbox)) {
      const key = ['sandbox', name]
      if (name === 'limits') problems.push(...raisedLimits(value, written.child(name), saidByPersons))
      else if (schemaAt(key) && !isExtension(key, value))
        putInstead(problems, notForFiles(key, value, written.child(name)))
    }
  }
}

/** What is to go needs no advice on how to write it: of two problems of one value, this one is told. */
function putInstead(problems: ConfigProblem[], problem: ConfigProblem): void {
  const others = problems.filter(
    ({ key, origin }) => key !== problem.key || formatOrigin(origin) !== formatOrigin(problem.origin),
  )
  problems.splice(0, problems.length, ...others, problem)
}

/**
 * SPEC 4.8: files can define profiles, and not what these have outside the workspace or of the host. SPEC 6.5: nor where
 * the conversation is sent, and with whose key (decision 0291).
 */
function personalKeys(document: Document): ConfigProblem[] {
  const { profiles, providers } = document.values
  return [
    ...(isTable(profiles) ? personalInProfiles(document, profiles) : []),
    ...(isTable(providers) && Object.hasOwn(providers, 'llm')
      ? [
          notForFiles(
            ['providers', 'llm'],
            providers['llm'],
            Written.in(document).below(['providers', 'llm']),
          ),
        ]
      : []),
  ]
}

function personalInProfiles(document: Document, profiles: Table): ConfigProblem[] {
  return Object.entries(profiles).flatMap(([name, profile]) => {
    if (!isTable(profile)) return []
    return PERSONAL.filter((key) => Object.hasOwn(profile, key)).map((key) => {
      const path = ['profiles', name, key]
      return notForFiles(path, profile[key], Written.in(document).below(path))
    })
  })
}

const PERSONAL = ['outside', 'unix_sockets'] as const

/**
 * SPEC 2.1: a person gave a server or tool of this name variables, hosts and places; which program has them is not for files
 * to say. What a person grants in one workspace alone is about what this workspace defines.
 */
function takenNames(document: Document, documents: readonly Document[]): ConfigProblem[] {
  return NAMED.flatMap(({ above, keys }) =>
    Object.entries(tableAt(document, above)).flatMap(([name, entry]) => {
      if (name === '*' || !isTable(entry)) return []
      const path = [...above, name]
      const owner = documents.find((other) => isOwner(other, tableAt(other, path)))
      if (!owner) return []
      const theirs = tableAt(owner, path)
      const changed = keys.filter(
        (key) => Object.hasOwn(entry, key) && !isDeepStrictEqual(entry[key], theirs[key]),
      )
      return changed.map((key) => ({
        origin: Written.in(document).below([...path, key]).origin,
        key: formatKeyPath([...path, key]),
        message: `\`${formatKeyPath([...path, key])}\`: the files of a workspace cannot say what is started under this name, because your own configuration gives it something (${formatOrigin(Written.in(owner).below(path).origin)})`,
        fix: 'take it out, or give it a name of its own',
      }))
    }),
  )
}

/** What decides which program runs. */
const NAMED = [
  { above: ['providers', 'mcp'], keys: ['command', 'arguments'] },
  { above: ['conversation', 'tools'], keys: ['source', 'command'] },
] as const

function isOwner({ source }: Document, entry: Table): boolean {
  if (source.layer === 'built-in' || authorOf(source) !== 'person') return false
  const telling = source.layer === 'user' ? ['command', 'access', 'variables'] : ['command']
  return telling.some((key) => Object.hasOwn(entry, key))
}

function tableAt({ values }: Document, path: readonly string[]): Table {
  let at: unknown = values
  for (const key of path) at = isTable(at) && Object.hasOwn(at, key) ? at[key] : undefined
  return isTable(at) ? at : {}
}

/** What persons say of the sandbox, without what files say between them. The defaults are always among them. */
function mergePersons(documents: readonly Document[]): TableCell {
  const [first, ...others] = documents.filter(({ source }) => authorOf(source) === 'person')
  return mergeDocuments([first!, ...others], [], (document) => ({ sandbox: tableAt(document, ['sandbox']) }))
}

function raisedLimits(
  limits: unknown,
  written: Written,
  saidByPersons: (key: readonly string[]) => Found | undefined,
): ConfigProblem[] {
  if (!isTable(limits)) return []
  return Object.entries(limits).flatMap(([name, value]) => {
    const key = ['sandbox', 'limits', name]
    const most = saidByPersons(key)
    if (!Number.isSafeInteger(value) || typeof most?.value !== 'number') return []
    if ((value as number) <= most.value) return []
    const { origin } = most.written
    return [
      {
        origin: written.child(name).origin,
        key: formatKeyPath(key),
        message: `\`${formatKeyPath(key)}\`: the files of a workspace can only lower it, and ${formatValue(value)} is more than ${most.value} (${formatOrigin(origin)})`,
        fix: `write at most ${most.value}, or raise it yourself: ${personally(key, value)}`,
      },
    ]
  })
}

/** A list that can be replaced by persons can be appended to by files; of others the merge takes care. */
function isExtension(key: readonly string[], value: unknown): boolean {
  const merge = schemaAt(key)?.[LIST_MERGE]
  if (!merge) return false
  return !merge.reducible || (isTable(value) ? value['strategy'] !== 'replace' : merge.strategy === 'append')
}

const notForFiles = (key: readonly string[], value: unknown, written: Written): ConfigProblem => ({
  origin: written.origin,
  key: formatKeyPath(key),
  message: `\`${formatKeyPath(key)}\`: the files of a workspace cannot set it, only a person can`,
  fix: `take it out; if you want it: ${personally(key, value)}`,
  personal: true,
})

/** Works as pasted, where the value itself would. */
function personally(key: readonly string[], value: unknown): string {
  const text = typeof value === 'string' ? value : formatValue(value)
  const isPlain = /^[\w.-]+$/.test(text) && checkValue(schemaAt(key)!, value).length === 0
  return `cordon config set --user-workspace ${formatKeyPath(key)} ${isPlain ? text : 'VALUE'}`
}
