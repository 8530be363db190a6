import type { Config } from '@cordon/config'
import { type AccessPolicy, below, FsIndex, type Root } from '@cordon/policy'
import { type CodePlaces, codePlaces } from '../mcp/identity.ts'
import { namesOf, writes } from './names.ts'
import type { Subject } from './subject.ts'

/**
 * SPEC 4.10: what a server's next start runs, which the server itself does not change: the files that its command line names,
 * and their packages. A package that holds the workspace cannot be held without holding all of it (decision 0305).
 */
export function serverCode(subject: Subject, config: Config, root: Root): readonly string[] {
  const { files, packages } = codeOf(subject, config, root)
  return [...files, ...packages.filter((dir) => below(dir, root.path) === undefined)]
}

/** The packages of a server's code that it may write all the same. */
export function writableCode(
  subject: Subject,
  policy: AccessPolicy,
  config: Config,
  root: Root,
): readonly string[] {
  if (policy.fs.length === 0) return [] // unrestricted: it may write everything, and that was said
  const index = new FsIndex(policy.fs, root.foldCase)
  return codeOf(subject, config, root).packages.filter((dir) =>
    namesOf(below(dir, root.path) === undefined ? dir : root.path, index, root).some((name) => {
      const rule = index.governing(name)
      return rule !== undefined && writes(rule)
    }),
  )
}

function codeOf({ kind, name }: Subject, { providers, conversation }: Config, root: Root): CodePlaces {
  const source = kind === 'tool' ? conversation.tools[name]?.source : undefined
  const server = kind === 'server' ? name : source?.kind === 'mcp' ? source.server : undefined
  const config = server === undefined ? undefined : providers.mcp[server]
  return config ? codePlaces([config.command, ...config.arguments], root.path) : NO_CODE
}

const NO_CODE: CodePlaces = { files: [], packages: [] }
