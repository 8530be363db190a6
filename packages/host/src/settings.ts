import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  type Explanation,
  mergeSources,
  newConfigText,
  parseKeyPath,
  readAmbientSources,
  setValue,
  type Source,
  writeConfigFile,
} from '@cordon/config'
import { CordonError, quote } from '@cordon/policy'
import { BUILT_IN_TOOLS } from './built-in-tools.ts'
import {
  type EditableLayer,
  layerFile,
  type ProjectOptions,
  placesOf,
  type Project,
  requireWorkspace,
} from './project.ts'
import { writeSchemaBeside } from './schema-file.ts'
import { textOf, withText } from './sources.ts'
import { QuestionError } from './why/question.ts'

/** Where the value of a key comes from, and what it overrode (SPEC 2). */
export function explainSetting(project: Project, key: string): Explanation {
  const found = project.loaded.explain(parseKeyPath(key) ?? [])
  if (!found) throw new QuestionError(`nothing is configured at ${quote(key)}, and it has no default`)
  return found
}

export interface Change {
  readonly layer: EditableLayer
  readonly key: string
  readonly value: string
}

/**
 * Edits one key of one file, keeping comments and order. The whole configuration is validated with the edit
 * in it before anything is written, so bad input changes nothing. Returns the file.
 */
export function changeSetting(options: ProjectOptions, { layer, key, value }: Change): string {
  const workspace = requireWorkspace(options)
  const file = layerFile(workspace, options.surroundings)[layer]
  const sources = [BUILT_IN_TOOLS, ...readAmbientSources(placesOf(workspace, options))]
  const isNew = !existsSync(file)
  const was = textOf(sources, layer)
  const text = edited(isNew ? newConfigText() : was, sources, key, value)
  mergeSources(withText(sources, layer, text))
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeConfigFile(file, text, isNew ? undefined : was)
  if (isNew) writeSchemaBeside(file)
  return file
}

/** An edit may repair a wrong value. But when it cannot be made, what is wrong with the files comes first. */
function edited(text: string, sources: readonly Source[], key: string, value: string): string {
  try {
    return setValue(text, key, value)
  } catch (error) {
    if (error instanceof CordonError) mergeSources(sources)
    throw error
  }
}
