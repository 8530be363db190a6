import { realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { below, quote, ROOT } from '@cordon/policy'
import { type ConfigProblem } from '../errors.ts'
import { labelFor, type LayerName, type Source } from '../layers.ts'
import { parseKeyPath } from '../toml/key-path.ts'
import { parseValue } from '../toml/value.ts'
import { readEnvironment, VALUE_FIX } from './environment.ts'
import { type StrangerIn } from './ownership.ts'
import { type ConfigFile, readAmbientText } from './read-file.ts'

/** Where the layers of SPEC 2 are found. Paths are absolute. */
export interface AmbientPlaces {
  readonly root: string
  readonly cwd: string
  readonly userConfigFile: string
  readonly userWorkspaceDir: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** The arguments of `--cfg`, in order: `key=value`, or a file. */
  readonly cfg: readonly string[]
  readonly conversation?: readonly Source[]
  readonly flags?: readonly Source[]
  /** SPEC 2.1: which users are not "another" one is for the caller to know. */
  readonly strangerIn: StrangerIn
}

/** What was found, and what is wrong with what could not be read. */
export interface AmbientSources {
  readonly sources: readonly Source[]
  readonly problems: readonly ConfigProblem[]
}

/** Reads everything that is not handed in, and is the only part of this package that reads. */
export function readAmbientSources(places: AmbientPlaces): AmbientSources {
  const problems: ConfigProblem[] = []
  const sources = [
    ...configFiles(places).flatMap((file) => readLayer(file, 'may be missing', problems, places.strangerIn)),
    ...readEnvironment(places.env, problems),
    ...(places.conversation ?? []),
    ...places.cfg.flatMap((argument) => readArgument(argument, places, problems)),
    ...(places.flags ?? []),
  ]
  return { sources, problems }
}

/** The files that may hold configuration, whether they exist or not, lowest layer first. */
function configFiles(
  places: Pick<AmbientPlaces, 'root' | 'cwd' | 'userConfigFile' | 'userWorkspaceDir' | 'env'>,
): ConfigFile[] {
  const { root, userConfigFile, userWorkspaceDir } = places
  const at = (layer: LayerName, file: string): ConfigFile => ({ layer, file, label: labelOf(file, places) })
  const inside = (layer: LayerName, file: string): ConfigFile => ({ ...at(layer, file), within: root })
  return [
    at('user', userConfigFile),
    inside('workspace', join(root, '.cordon', 'config.toml')),
    ...directoriesDownTo(places).map((directory) => inside('directory', join(directory, '.cordon.toml'))),
    at('user-workspace', join(userWorkspaceDir, 'config.toml')),
  ]
}

function directoriesDownTo({ root, cwd }: Pick<AmbientPlaces, 'root' | 'cwd'>): string[] {
  const inside = below(root, cwd)
  const directories = [root]
  if (inside === undefined || inside === ROOT) return directories
  for (const name of inside.split('/')) directories.push(join(directories.at(-1)!, name))
  return directories
}

/** As short as it stays clear: relative to the workspace, else with `~` for home. */
function labelOf(file: string, { root, env }: Pick<AmbientPlaces, 'root' | 'env'>): string {
  const home = env['HOME']
  return labelFor(
    below(root, file) ?? (home?.startsWith('/') && below(home, file) ? `~/${below(home, file)}` : file),
  )
}

type Presence = 'may be missing' | 'must exist'

function readLayer(
  file: ConfigFile,
  presence: Presence,
  problems: ConfigProblem[],
  strangerIn?: StrangerIn,
): Source[] {
  const { layer, label, within } = file
  const path = within === undefined ? undefined : below(within, file.file)
  const read = readAmbientText(file, strangerIn)
  switch (read.kind) {
    case 'text':
      return [{ layer, label, text: read.text, ...(path === undefined ? {} : { path }) }]
    case 'missing':
      if (presence === 'must exist')
        problems.push({
          origin: { layer, label },
          key: '',
          message: 'cannot read the config file: it does not exist',
          fix: 'correct the path, or write --cfg key=value to set one value',
        })
      return []
    case 'unreadable':
      problems.push(read.problem)
      return []
  }
}

/** `--cfg key=value`, or `--cfg file`. What stands before the first `=` decides: a key, or part of a file name. */
function readArgument(argument: string, places: AmbientPlaces, problems: ConfigProblem[]): Source[] {
  const layer = 'command-line'
  const assignment = splitAssignment(argument)
  if (!assignment) {
    const file = resolve(places.cwd, argument)
    const { root, strangerIn } = places
    const inside = [file, realOf(file)].find((path) => below(root, path) !== undefined)
    return inside === undefined
      ? readLayer({ layer, file, label: labelOf(file, places) }, 'must exist', problems)
      : readLayer(
          { layer, file: inside, label: labelOf(inside, places), within: root },
          'must exist',
          problems,
          strangerIn,
        )
  }
  const label = `--cfg ${labelFor(argument.length > 80 ? `${argument.slice(0, 80).toWellFormed()}…` : argument)}`
  const value = parseValue(assignment.text)
  if (value.kind === 'value') return [{ layer, label, key: assignment.key, value: value.value }]
  const message = `the value in --cfg ${quote(argument)} is not valid TOML: ${value.message}`
  problems.push({ origin: { layer, label }, key: '', message, fix: VALUE_FIX })
  return []
}

/** A link of the person's may lead into the workspace. What cannot be followed is found when it is read. */
function realOf(file: string): string {
  try {
    return realpathSync.native(file)
  } catch {
    return file
  }
}

function splitAssignment(argument: string): { key: readonly string[]; text: string } | undefined {
  for (let i = argument.indexOf('='); i > 0; i = argument.indexOf('=', i + 1)) {
    const key = parseKeyPath(argument.slice(0, i))
    if (key) return { key, text: argument.slice(i + 1) }
  }
  return undefined
}
