import { join, resolve } from 'node:path'
import { below, quote, ROOT } from '@cordon/policy'
import { ConfigError, type ConfigProblem } from '../errors.ts'
import { labelFor, type LayerName, type Source } from '../layers.ts'
import { parseKeyPath } from '../toml/key-path.ts'
import { parseValue } from '../toml/value.ts'
import { readEnvironment, VALUE_FIX } from './environment.ts'
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
}

/** Reads everything that is not handed in, and is the only part of this package that reads. Throws ConfigError. */
export function readAmbientSources(places: AmbientPlaces): Source[] {
  const problems: ConfigProblem[] = []
  const sources = [
    ...configFiles(places).flatMap((file) => readLayer(file, 'may be missing', problems)),
    ...readEnvironment(places.env, problems),
    ...(places.conversation ?? []),
    ...places.cfg.flatMap((argument) => readArgument(argument, places, problems)),
    ...(places.flags ?? []),
  ]
  if (problems.length > 0) throw new ConfigError(problems)
  return sources
}

/** The files that may hold configuration, whether they exist or not, lowest layer first. */
export function configFiles(places: Omit<AmbientPlaces, 'cfg' | 'conversation' | 'flags'>): ConfigFile[] {
  const { root, userConfigFile, userWorkspaceDir } = places
  const at = (layer: LayerName, file: string): ConfigFile => ({ layer, file, label: labelOf(file, places) })
  return [
    at('user', userConfigFile),
    at('workspace', join(root, '.cordon', 'config.toml')),
    ...directoriesDownTo(places).map((directory) => at('directory', join(directory, '.cordon.toml'))),
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

function readLayer(file: ConfigFile, presence: Presence, problems: ConfigProblem[]): Source[] {
  const { layer, label } = file
  const read = readAmbientText(file)
  switch (read.kind) {
    case 'text':
      return [{ layer, label, text: read.text }]
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
    return readLayer({ layer, file, label: labelOf(file, places) }, 'must exist', problems)
  }
  const label = `--cfg ${labelFor(argument.length > 80 ? `${argument.slice(0, 80).toWellFormed()}…` : argument)}`
  const value = parseValue(assignment.text)
  if (value.kind === 'value') return [{ layer, label, key: assignment.key, value: value.value }]
  const message = `the value in --cfg ${quote(argument)} is not valid TOML: ${value.message}`
  problems.push({ origin: { layer, label }, key: '', message, fix: VALUE_FIX })
  return []
}

function splitAssignment(argument: string): { key: readonly string[]; text: string } | undefined {
  for (let i = argument.indexOf('='); i > 0; i = argument.indexOf('=', i + 1)) {
    const key = parseKeyPath(argument.slice(0, i))
    if (key) return { key, text: argument.slice(i + 1) }
  }
  return undefined
}
