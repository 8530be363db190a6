import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { below, guardedName, show } from '@cordon/policy'
import { trailOf } from '@cordon/workspace'
import { isGuardedOutside } from '../compile/guard.ts'
import { CORDONS_OWN } from '../compile/resolve.ts'
import { SENSITIVE, sensitivePattern } from '../compile/sensitive.ts'
import type { OutsidePlace } from '../confine/hint.ts'
import { relativeToRoot } from '../outside/place.ts'
import type { Project } from '../project.ts'
import { codePlaces, packageOf } from './identity.ts'
import { installationOf } from './runtime.ts'

/** Whose words led to the place, and where. */
export interface Asking {
  /** The server that is confined, by its name in the configuration. Undefined: a local tool. */
  readonly server: string | undefined
  readonly project: Pick<Project, 'root' | 'guard' | 'loaded'>
  readonly home: string
  /** Where the person's shell looks for programs. */
  readonly path: string | undefined
}

export interface NotAdvised {
  /** In words for a person. */
  readonly reason: string
  /** Whether it is said beside the guess, or in its place. */
  readonly said: 'beside' | 'alone'
}

/**
 * SPEC 5.4: why what a server says leads to no command for a place outside, undefined: it may. Such a
 * command is pasted by somebody who trusts us, so it is about nothing that this somebody would have to think about first
 * (decision 0470).
 */
export function whyNotAdvised({ path, wanted }: OutsidePlace, asking: Asking): NotAdvised | undefined {
  const { guard, loaded } = asking.project
  const real = trailOf('/', path).at(-1)?.path ?? path
  const own = ownInstallation(real, asking)
  const alone = (reason: string): NotAdvised => ({ reason, said: 'alone' })
  if (own !== undefined) return alone(own)
  if (guard.own().some((place) => below(place, real) !== undefined))
    return alone(`${show(path)} ${CORDONS_OWN}`)
  const writes = wanted === 'write'
  if (cordonsProgram(asking.home).some((place) => (writes ? overlap : isBelow)(place, real)))
    return alone(`${show(path)} is where Cordon itself is installed, which runs without a sandbox`)
  if (SHARED.has(real))
    return alone(`${show(path)} is shared by all programs; inside, each has one of its own`)
  if (writes && isGuardedOutside(real, guard)) return alone(guardedName(path))
  if (writes && runPlaces(asking).some((place) => overlap(place, real)))
    return alone(`${show(path)} has programs in it, or what programs load, that you run without Cordon`)
  const patterns = { patterns: [...SENSITIVE, ...loaded.config.sandbox.sensitive], home: asking.home }
  const secret = [path, real]
    .map((each) => sensitivePattern({ path: relativeToRoot(each) }, { ...patterns, root: '/' }))
    .find((pattern) => pattern !== undefined)
  return secret === undefined ? undefined : { reason: `secrets live there (${secret})`, said: 'beside' }
}

const isBelow = (place: string, path: string): boolean => below(place, path) !== undefined

/** One is in the other: who writes around a place writes it. */
const overlap = (a: string, b: string): boolean => isBelow(a, b) || isBelow(b, a)

/**
 * The program that is running, with its Node and its launcher: the outermost package around it, which is a clone's, and the
 * packages that it was installed with. A home that has a manifest is no package.
 */
function cordonsProgram(home: string): readonly string[] {
  const file = import.meta.filename
  let around = packageOf(file)?.dir ?? dirname(dirname(file))
  for (let next = packageOf(around); next && !isBelow(next.dir, home); next = packageOf(next.dir))
    around = next.dir
  const modules = file.indexOf('/node_modules/')
  return modules < 0 ? [around] : [around, file.slice(0, modules + '/node_modules'.length)]
}

/** Programs that are found by their name, and what version managers, package runners, shells and editors load by themselves. */
function runPlaces({ path, home }: Asking): readonly string[] {
  const found = (path ?? '').split(':').filter((dir) => dir.startsWith('/'))
  const real = found.map((dir) => trailOf('/', dir).at(-1)?.path ?? dir)
  return [...found, ...real, ...LOADED_AT_HOME.map((name) => join(home, name))]
}

/** Not what is guarded (SPEC 4.10), because a person may well let something write it; but nobody because a server asks for it. */
const LOADED_AT_HOME: readonly string[] = `
  .nvm .npm .volta .asdf .pyenv .rbenv .sdkman .local/share/pnpm .local/share/mise .cargo
  .rustup .bun .deno .gem .gradle .m2 go .local/lib .local/pipx .local/share/pipx
  .local/share/uv .cache/uv .cache/pre-commit .cache/pip .cache/node .oh-my-zsh .zsh
  .bash_completion .config/fish .vim .vimrc .config/nvim .emacs.d .local/share/nvim .emacs
  .config/emacs .tmux .tmux.conf .config/tmux .ipython .jupyter .config/matplotlib
  .vscode-server .vscode .cursor-server .cursor/extensions
`
  .trim()
  .split(/\s+/)

const SHARED: ReadonlySet<string> = new Set(['/tmp', '/var/tmp', '/dev/shm'])

/**
 * Decision 0305: a server does not change its own program. A mount of what it is installed in, or of what is around that, would
 * also take away that it may be executed.
 */
function ownInstallation(place: string, { server, project, home }: Asking): string | undefined {
  const config = server === undefined ? undefined : project.loaded.config.providers.mcp[server]
  if (!config) return undefined
  const root = project.root.path
  const { files: all } = codePlaces([config.command, ...config.arguments], root)
  const files = all.filter((file) => below(root, file) === undefined)
  const isOwn = files
    .map((file) => pythonOf(file) ?? installationOf(file, { root, home }))
    .some((dir) => below(dir, place) !== undefined || below(place, dir) !== undefined)
  if (!isOwn) return undefined
  const names = files.flatMap((file) => packageOf(file)?.name ?? [])
  const variable = names.map((name) => PLACE_VARIABLES[name.replace(/@[^@]*$/, '')]).find(Boolean)
  const where =
    variable === undefined
      ? 'its documentation may say which argument or variable names another place'
      : `the variable ${variable} names another place, which may be in the workspace`
  return `${show(place)} is where the server itself is installed, and nothing confined writes there; ${where}`
}

/** The virtual environment that a program of Python was installed in. */
function pythonOf(program: string): string | undefined {
  const dir = dirname(dirname(program))
  return existsSync(join(dir, 'pyvenv.cfg')) ? dir : undefined
}

/** Packages that keep their files in their own directory, and the variable that says where else. */
const PLACE_VARIABLES: Readonly<Record<string, string>> = {
  '@modelcontextprotocol/server-memory': 'MEMORY_FILE_PATH',
}
