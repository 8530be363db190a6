import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { formatKeyPath, readAmbientText, type Source } from '@cordon/config'
import { CordonError, shellWord, show } from '@cordon/policy'
import { recordedPlaces, userConfigFile } from '@cordon/workspace'
import { shownInHome, typedPath } from '../outside/place.ts'
import type { EditableLayer, ProjectOptions } from '../project.ts'
import { changeLayer, loadAnywhere, workspaceIfAny } from '../settings.ts'
import { isDefinition, serverNames, serverTable, withoutServer } from './define.ts'

/** What the configuration grants a name that no server has, in one file. It would go to the next server of that name. */
export interface LeftOver {
  readonly file: string
  /** The layer of this workspace that the file is; undefined: of another workspace, or nothing that is edited here. */
  readonly layer: EditableLayer | undefined
  /** How it is taken out, as a command to paste or in words. */
  readonly remove: string
}

export interface Held extends Omit<LeftOver, 'remove'> {
  readonly text: string
  /** The other workspace whose it is. */
  readonly root?: string
}

/** Every file that speaks here, and a person's own files of other workspaces, which speak there. */
export async function heldTexts(options: ProjectOptions): Promise<readonly Held[]> {
  const { surroundings } = options
  const { sources } = await loadAnywhere(options)
  const here = workspaceIfAny(options)
  const files = {
    user: userConfigFile(surroundings),
    'user-workspace': here && join(here.local, 'config.toml'),
    workspace: here && join(here.shared, 'config.toml'),
  }
  const speaking = sources.flatMap((source): Held[] => {
    if (!('text' in source)) return []
    const layer = isEditable(source) ? source.layer : undefined
    const file = (layer === undefined ? undefined : files[layer]) ?? source.label
    return [{ file, layer, text: source.text }]
  })
  const elsewhere = recordedPlaces(surroundings).flatMap(({ root, local }): Held[] => {
    if (local === here?.local || !existsSync(root)) return []
    const file = join(local, 'config.toml')
    const read = readAmbientText({ layer: 'user-workspace', label: show(file), file })
    return read.kind === 'text' ? [{ file, layer: undefined, text: read.text, root }] : []
  })
  return [...speaking, ...elsewhere]
}

const isEditable = (source: Source): source is Source & { readonly layer: EditableLayer } =>
  ['user', 'workspace', 'user-workspace'].includes(source.layer)

/** A file that says what is started defines a server; that is not left over from another. */
const isGrant = (table: unknown): boolean => table !== undefined && !isDefinition(table)

/** What a server of this name, defined in this layer, would be granted by other files. */
export async function leftOvers(
  name: string,
  layer: EditableLayer,
  options: ProjectOptions,
): Promise<readonly LeftOver[]> {
  const held = await heldTexts(options)
  return held
    .filter((each) => each.layer !== layer && (each.root === undefined || layer === 'user'))
    .filter(({ text }) => isGrant(serverTable(text, name)))
    .map((each) => leftOver(['providers', 'mcp', name], each, options))
}

/** Every name to which some file grants something without saying what it is. */
export async function grantedNames(options: ProjectOptions): Promise<ReadonlySet<string>> {
  const held = await heldTexts(options)
  const names = held.flatMap(({ text }) =>
    serverNames(text).filter((name) => isGrant(serverTable(text, name))),
  )
  return new Set(names)
}

export const leftOver = (path: readonly string[], held: Held, options: ProjectOptions): LeftOver => ({
  file: held.file,
  layer: held.layer,
  remove: removal(path, held, options),
})

function removal(
  path: readonly string[],
  { layer, root, file }: Held,
  { surroundings: { home } }: ProjectOptions,
): string {
  const key = shellWord(formatKeyPath(path))
  if (root !== undefined) return `cd ${typedPath(root, home)} && cordon config unset --user-workspace ${key}`
  if (layer === undefined) return `take ${key} out of ${show(file)}`
  return `cordon config unset ${layer === 'workspace' ? '' : `--${layer} `}${key}`
}

export interface Swept {
  /** Files that no longer speak of it. */
  readonly swept: readonly string[]
  readonly stays: readonly LeftOver[]
}

/**
 * After a server was taken out of a layer: what a person's own file of this workspace granted it goes too, because it is of
 * no use to anything else. What holds in more places than the server did, or belongs to others, stays, and is said.
 */
export async function sweepGrants(
  name: string,
  layer: EditableLayer,
  options: ProjectOptions,
): Promise<Swept> {
  const { loaded } = await loadAnywhere(options)
  // A layer below defines one, too: it is that one's.
  if (loaded.origin(['providers', 'mcp', name, 'command'])) return { swept: [], stays: [] }
  const swept: string[] = []
  const stays: LeftOver[] = []
  for (const each of await leftOvers(name, layer, options)) {
    if (each.layer !== 'user-workspace') {
      stays.push(each)
      continue
    }
    try {
      await changeLayer(options, each.layer, (text) => withoutServer(text, name))
      swept.push(each.file)
    } catch (error) {
      if (!(error instanceof CordonError)) throw error
      stays.push(each)
    }
  }
  return { swept, stays }
}

export const leftOverLines = (left: readonly LeftOver[], home: string): readonly string[] =>
  left.flatMap(({ file, remove }) => [`  ${shownInHome(file, home)}`, `    to take it out: ${remove}`])
