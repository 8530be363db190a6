import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  ConfigError,
  type ConfigProblem,
  type Explanation,
  formatKeyPath,
  formatValue,
  type LoadedConfig,
  mergeSources,
  parseKeyPath,
  parseValue,
  readAmbientSources,
  readAmbientText,
  removeToml,
  setValue,
  type Source,
} from '@cordon/config'
import { CordonError, quote, setCommand, show } from '@cordon/policy'
import { makePrivateDirectory, prepareLocal, userConfigFile, type Workspace } from '@cordon/workspace'
import { BUILT_IN_TOOLS } from './built-in-tools.ts'
import { refuseReserved } from './compile/reserved.ts'
import { newConfigText, textOf, withText, writeConfigFile, writeSchemaBeside } from './config-file.ts'
import {
  guardOf,
  type EditableLayer,
  layerFile,
  NoWorkspaceError,
  openAmbientProject,
  placesOf,
  type Project,
  type ProjectOptions,
  requireWorkspace,
} from './project.ts'
import { keepTrusted } from './trust/change.ts'
import { type Gate, incompleteNotices, isWhole, passGate } from './trust/gate.ts'
import { type WaitingValue, waitingValues } from './trust/waiting-values.ts'
import { QuestionError } from './why/question.ts'

/** Where the value of a key comes from, and what it overrode (SPEC 2). */
export function explainSetting({ loaded, waiting }: Project, key: string): ExplainedSetting {
  const path = parseKeyPath(key)
  const found = loaded.explain(path ?? [])
  const waits = path === undefined ? [] : waitingValues(waiting, path)
  if (!found && waits.length === 0)
    throw new QuestionError(`nothing is configured at ${quote(key)}, and it has no default`)
  return { found, waiting: waits }
}

export interface ExplainedSetting {
  /** Undefined: nothing is in effect, and something waits. */
  readonly found: Explanation | undefined
  /** SPEC 2.1: what files say of it that nobody has trusted. */
  readonly waiting: readonly WaitingValue[]
}

export interface Change {
  readonly layer: EditableLayer
  readonly key: string
  /** Undefined: the file says nothing of it any more. */
  readonly value: string | undefined
}

/**
 * Edits one key of one file, keeping comments and order. A file that came with the workspace stays trusted if it
 * was (SPEC 2.1), and must be: else the edit would be made in text that nobody has looked at. Returns the file.
 */
export async function changeSetting(options: ProjectOptions, change: Change): Promise<Changed> {
  const { layer, key, value } = change
  let was = ''
  try {
    return await changeLayer(options, layer, (text) => {
      was = text
      return value === undefined ? unset(text, key) : setValue(text, key, value)
    })
  } catch (error) {
    throw error instanceof ConfigError ? asWhole(asTyped(error, change), change, was) : error
  }
}

/**
 * A new tool needs its source and its command at once: neither can be set without the other.
 */
function asWhole(error: ConfigError, { layer, key, value }: Change, was: string): ConfigError {
  const path = parseKeyPath(key) ?? []
  const [tool, part] = [path.slice(0, 3), path[3] ?? '']
  const isPart = path.length === 4 && path[0] === 'conversation' && path[1] === 'tools'
  // A tool that is in the file already would lose the rest of what is said of it.
  if (!isPart || !/^(?:source|command)$/.test(part) || value === undefined || removeToml(was, tool) !== was)
    return error
  const read = parseValue(value)
  const command = part === 'command' && read.kind !== 'broken' ? read.value : ['program', 'word']
  const whole = `{ source = "local", command = ${formatValue(command)} }`
  return new ConfigError(
    error.problems.map((problem) =>
      problem.key === formatKeyPath(tool)
        ? {
            ...problem,
            origin: typedAs(key),
            fix: setCommand({
              key: formatKeyPath(tool),
              value: whole,
              ...(layer === 'workspace' ? {} : { layer }),
            }),
          }
        : problem,
    ),
  )
}

/** The line of the problem was not written, so there is none in the file. */
const typedAs = (key: string): ConfigProblem['origin'] => ({
  layer: 'command-line',
  label: `config set ${key}`,
})

/** What a file may not say was typed by a person now: the same command for their own file has it as well. */
function asTyped({ problems }: ConfigError, { key, value }: Change): ConfigError {
  return new ConfigError(
    problems.map((problem) =>
      problem.personal && value !== undefined && problem.key === formatKeyPath(parseKeyPath(key) ?? [])
        ? { ...problem, origin: typedAs(key), fix: setCommand({ key, value, layer: 'user-workspace' }) }
        : problem,
    ),
  )
}

function unset(text: string, key: string): string {
  const left = removeToml(text, parseKeyPath(key) ?? [])
  if (left === undefined)
    throw new QuestionError(
      `${quote(key)} cannot be taken out without rewriting other parts of the file\n  fix: open the file and take it out yourself`,
    )
  if (left === text)
    throw new QuestionError(`${quote(key)} is not set in this file; cordon config explain says where it is`)
  return left
}

export interface Changed {
  readonly file: string
  readonly notices: readonly string[]
}

/**
 * Rewrites one layer's file. The whole configuration is validated with the edit in it before anything is written, so bad
 * input changes nothing. A person's own file can be edited outside every workspace.
 */
export async function changeLayer(
  options: ProjectOptions,
  layer: EditableLayer,
  edit: (text: string) => string,
): Promise<Changed> {
  const workspace = layer === 'user' ? workspaceIfAny(options) : requireWorkspace(options)
  const file = workspace
    ? layerFile(workspace, options.surroundings)[layer]
    : userConfigFile(options.surroundings)
  const gate = workspace ? await gateOf(workspace, options) : personal(file)
  const sources = [BUILT_IN_TOOLS, ...gate.sources]
  const isNew = !existsSync(file)
  const was = textOf(sources, layer)
  const all = isWhole(gate)
  const text = edited(isNew ? newConfigText() : was, () => mergeSources(sources, { all }), edit)
  if (text === was) return { file, notices: gate.notices }
  const merged = mergeSources(withText(sources, layer, text), { all })
  refuseReserved(merged, profilesIn(sources, all))
  const notices = [...gate.notices, ...incompleteNotices(merged)]
  // Recorded, so that the file stays the workspace's whatever becomes of its id (docs/decisions/0145).
  if (workspace && layer === 'user-workspace')
    await prepareLocal(workspace, { pid: options.trust?.pid ?? 0, command: 'cordon' })
  makePrivateDirectory(dirname(file))
  writeConfigFile(file, text, isNew ? undefined : was)
  if (workspace && layer === 'workspace') await keepTrusted(workspace, options, text)
  if (isNew) writeSchemaBeside(file)
  return { file, notices }
}

/** Before the edit; of a configuration that was broken nothing is known. */
function profilesIn(sources: readonly Source[], all: boolean): readonly string[] {
  try {
    return Object.keys(mergeSources(sources, { all }).config.profiles)
  } catch (error) {
    if (error instanceof ConfigError) return []
    throw error
  }
}

/** Undefined where there is none, and where a home or what is above it would be one. */
export function workspaceIfAny(options: ProjectOptions): Workspace | undefined {
  try {
    return requireWorkspace(options)
  } catch (error) {
    if (error instanceof NoWorkspaceError) return undefined
    throw error
  }
}

const gateOf = (workspace: Workspace, options: ProjectOptions): Promise<Gate> =>
  passGate(
    workspace,
    options.surroundings,
    readAmbientSources(placesOf(workspace, options)),
    undefined,
    guardOf(workspace, options),
    options.trust,
  )

/** Where there is no workspace, a person's own file is all there is. */
function personal(file: string): Pick<Gate, 'sources' | 'notices' | 'waiting' | 'unreadable'> {
  const read = readAmbientText({ layer: 'user', label: show(file), file })
  if (read.kind === 'unreadable') throw new ConfigError([read.problem])
  return {
    sources: read.kind === 'text' ? [{ layer: 'user', label: show(file), text: read.text }] : [],
    notices: [],
    waiting: [],
    unreadable: [],
  }
}

/** An edit may repair a wrong value. But when it cannot be made, what is wrong with the files comes first. */
function edited(text: string, validate: () => unknown, edit: (text: string) => string): string {
  try {
    return edit(text)
  } catch (error) {
    if (error instanceof CordonError) validate()
    throw error
  }
}

/** The configuration that is in effect here; outside every workspace, what a person's own file says. */
export async function loadAnywhere(options: ProjectOptions): Promise<{
  readonly loaded: LoadedConfig
  readonly sources: readonly Source[]
  readonly project: Project | undefined
  readonly notices: readonly string[]
}> {
  if (workspaceIfAny(options)) {
    const project = await openAmbientProject(options)
    return { loaded: project.loaded, sources: project.sources, project, notices: project.notices }
  }
  const { sources } = personal(userConfigFile(options.surroundings))
  return { loaded: mergeSources([BUILT_IN_TOOLS, ...sources]), sources, project: undefined, notices: [] }
}
