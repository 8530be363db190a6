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
  if ([...guard.own(), ...CORDON].some((place) => below(place, real) !== undefined))
    return alone(`${show(path)} ${CORDONS_OWN}`)
  if (SHARED.has(real))
    return alone(`${show(path)} is shared by all programs; inside, each has one of its own`)
  if (wanted === 'write' && isGuardedOutside(real, guard)) return alone(guardedName(path))
  const patterns = { patterns: [...SENSITIVE, ...loaded.config.sandbox.sensitive], home: asking.home }
  const secret = [path, real]
    .map((each) => sensitivePattern({ path: relativeToRoot(each) }, { ...patterns, root: '/' }))
    .find((pattern) => pattern !== undefined)
  return secret === undefined ? undefined : { reason: `secrets live there (${secret})`, said: 'beside' }
}

/** The program that is running. */
const CORDON = [packageOf(import.meta.filename)?.dir ?? dirname(import.meta.filename)]

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
