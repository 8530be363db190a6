import type { Config } from '@cordon/config'
import { type AccessPolicy, below, FsIndex, type Root } from '@cordon/policy'
import { type CodePlaces, codePlaces } from '../mcp/identity.ts'
import { namesOf, writes } from './names.ts'
import { serverOf, type Subject } from './subject.ts'

/**
 * SPEC 4.10: what a server's next start runs, which the server itself does not change: the files that its command line names,
 * and their packages. A package that holds the workspace cannot be held without holding all of it (decision 0305).
 */
export function serverCode(subject: Subject, config: Config, root: Root): readonly string[] {
  const { files, packages } = codeOf(subject, config, root)
  return [...files, ...packages.filter((dir) => below(dir, root.path) === undefined)]
}

/**
 * SPEC 4.10: the programs of servers, which nobody else changes either: whoever did would have that server's access. That a
 * program is the accepted one is looked at before its interpreter opens it; between the two, this alone holds it (decision
 * 0336). A server without any rule has the workspace and nothing else: who has that already gains nothing.
 */
export const serverPrograms = (config: Config, root: Root, of: HeldPrograms): readonly string[] =>
  Object.entries(config.providers.mcp)
    .filter(([name]) => of === 'all' || isGranted(name, config))
    .flatMap(([, { command, arguments: words }]) => codePlaces([command, ...words], root.path).files)

/** Of the servers that rules grant anything, or of all. */
export type HeldPrograms = 'granted' | 'all'

/** Rules for files may keep a subject from a part of the workspace, which every server has. */
export const programsHeldFor = ({ access }: Pick<Subject, 'access'>): HeldPrograms =>
  (access?.fs ?? []).length > 0 ? 'all' : 'granted'

/** Whether rules give it anything that not every server has. */
export function isGranted(server: string, { providers, conversation }: Config): boolean {
  const { access, variables } = providers.mcp[server]!
  const ofTools = Object.values(conversation.tools).filter(
    ({ source }) => source.kind === 'mcp' && source.server === server,
  )
  return (
    variables.length > 0 ||
    [access, ...ofTools.map((tool) => tool.access)].some(
      (each) => each && each.fs.length + each.net.length + each.env.length > 0,
    )
  )
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

function codeOf(subject: Subject, config: Config, root: Root): CodePlaces {
  const server = serverOf(subject, config)
  return server ? codePlaces([server.command, ...server.arguments], root.path) : NO_CODE
}

const NO_CODE: CodePlaces = { files: [], packages: [] }
