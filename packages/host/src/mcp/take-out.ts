import { join } from 'node:path'
import { CordonError, lookAt, quote } from '@cordon/policy'
import { serverNameOf, subjectsOf } from '../compile/subject.ts'
import type { EditableLayer, ProjectOptions } from '../project.ts'
import { type Changed, changeLayer, loadAnywhere } from '../settings.ts'
import {
  isDefinition,
  serverTable,
  toolsFrom,
  toolsWithoutSource,
  withoutServer,
  withoutTools,
} from './define.ts'
import {
  type Held,
  heldTexts,
  leftOver,
  type LeftOver,
  leftOverLines,
  type Swept,
  sweepGrants,
} from './left-over.ts'

/** Entries of tools that name a server. Where there is none of that name, they are an error of the configuration. */
interface ToolEntries {
  /** What goes with the server, by the layer it stands in. */
  readonly own: readonly { readonly layer: EditableLayer; readonly tools: readonly string[] }[]
  /** What stands in files that speak here and are not edited by the way. */
  readonly others: readonly LeftOver[]
  /** What a person's own files of other workspaces have. */
  readonly elsewhere: readonly LeftOver[]
}

/**
 * With a server that this layer defines go the entries of its tools in that layer, and in the person's own of this workspace
 * (decision 0471). None where another layer defines a server of that name, too: they are that one's.
 */
async function toolEntries(
  server: string,
  layer: EditableLayer,
  options: ProjectOptions,
): Promise<ToolEntries> {
  const held = await heldTexts(options)
  const here = held.filter(({ root }) => root === undefined)
  if (here.some((each) => each.layer !== layer && isDefinition(serverTable(each.text, server))))
    return { own: [], others: [], elsewhere: [] }
  const names = [...new Set(here.flatMap(({ text }) => toolsFrom(text, server)))]
  const found = here
    .map((each) => ({
      each,
      tools: [...toolsFrom(each.text, server), ...toolsWithoutSource(each.text, names)],
    }))
    .filter(({ tools }) => tools.length > 0)
  const isOwn = (at: Held['layer']): at is EditableLayer => at === layer || at === 'user-workspace'
  const linesFor = (each: Held, tools: readonly string[]): readonly LeftOver[] =>
    tools.map((tool) => leftOver(['conversation', 'tools', tool], each, options))
  return {
    own: found.flatMap(({ each, tools }) => (isOwn(each.layer) ? [{ layer: each.layer, tools }] : [])),
    others: found.flatMap(({ each, tools }) => (isOwn(each.layer) ? [] : linesFor(each, tools))),
    elsewhere: held.flatMap((each) =>
      each.root === undefined || layer !== 'user' ? [] : linesFor(each, toolsFrom(each.text, server)),
    ),
  }
}

class NamedElsewhereError extends CordonError {
  readonly code = 'SERVER'
  constructor(server: string, others: readonly LeftOver[], home: string) {
    super(
      [
        `tools of ${quote(server)} have entries in other files, which are an error without it; nothing was changed`,
        ...leftOverLines(others, home),
        '  fix: take them out, and try again',
      ].join('\n'),
    )
  }
}

/** Throws where a server cannot be taken out, because files that are not edited by the way name it. */
export async function assertNotNamed(
  server: string,
  layer: EditableLayer,
  options: ProjectOptions,
): Promise<ToolEntries> {
  const entries = await toolEntries(server, layer, options)
  if (entries.others.length > 0)
    throw new NamedElsewhereError(server, entries.others, options.surroundings.home)
  return entries
}

export interface TakenOut extends Swept {
  /** The tools whose entries named it, and went with it. */
  readonly tools: readonly string[]
  /** Entries that stay in other workspaces, where they are an error now. */
  readonly named: readonly LeftOver[]
  /** Links of the workspace that only it was granted, and that stay. */
  readonly links: readonly string[]
}

/** SPEC 3.1: the links that rules of this server and of its tools lead through, and nobody else's. A person made them. */
export async function linksOnlyFor(server: string, options: ProjectOptions): Promise<readonly string[]> {
  const { loaded, project } = await loadAnywhere(options)
  if (!project) return []
  const through = (whose: 'its' | "others'"): readonly string[] =>
    subjectsOf(loaded.config)
      .filter((subject) => (serverNameOf(subject, loaded.config) === server) === (whose === 'its'))
      .flatMap(({ access }) => access?.fs ?? [])
      .flatMap(({ path, external }) => (external ? join(project.root.path, path) : []))
  const others = new Set(through("others'"))
  const isLeft = (path: string): boolean => !others.has(path) && lookAt(path)?.isSymbolicLink() === true
  return [...new Set(through('its'))].filter(isLeft)
}

/**
 * Takes a server out of the layer that defines it: the entries of its tools in other files first, because the configuration is
 * valid before and after each edit; then, in one, those of that layer and the server.
 */
export async function takeOut(
  server: string,
  layer: EditableLayer,
  options: ProjectOptions,
): Promise<Changed & TakenOut> {
  const { own, elsewhere } = await assertNotNamed(server, layer, options)
  const links = await linksOnlyFor(server, options)
  const others = own.filter((each) => each.layer !== layer)
  for (const each of others) await changeLayer(options, each.layer, (text) => withoutTools(text, each.tools))
  const tools = own.find((each) => each.layer === layer)?.tools ?? []
  const changed = await changeLayer(options, layer, (text) =>
    withoutServer(withoutTools(text, tools), server),
  )
  const grants = await sweepGrants(server, layer, options)
  const gone = [...new Set(own.flatMap((each) => each.tools))]
  return { ...changed, ...grants, tools: gone, named: elsewhere, links }
}
