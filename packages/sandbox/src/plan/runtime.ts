import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { MOST_HOPS } from '@cordon/policy'
import { directoryOf, encloses, enclosesStrictly, sortByPath } from './paths.ts'
import { type ResolvedProgram } from './program.ts'
import { type RuntimeEntry } from './survey.ts'

export interface RuntimeRequest {
  readonly program: ResolvedProgram
  readonly path: string
  readonly home: string
  readonly root: string
  /** Where else something confined may write, or could before. Asked for only where a link or a `#!` line is outside the root. */
  readonly writable: () => readonly string[]
  readonly more: readonly string[]
  /** What the program is made of where it is Cordon's: there also where it lies in the workspace, or in a mount. */
  readonly own: readonly string[]
  /** Whether a path is among the system's, which are there anyway and not looked into. */
  readonly isShown: (path: string) => boolean
}

/** What a person chose is shown whole. What files of the workspace lead to shows nothing that is not for everybody. */
type Shown = 'whole' | 'public'

/**
 * SPEC 4.3, "the resolved interpreter's installation": where the program, its interpreters and the version managers
 * on PATH keep what they need, when that is outside the system directories. Never a home or a workspace as
 * a whole: when in doubt, the one file.
 */
export function installationsOf(request: RuntimeRequest): readonly RuntimeEntry[] {
  const { home, root, isShown } = request
  const files = filesOf(request).filter(({ real }) => !isShown(real))
  const entries = new Map<string, RuntimeEntry>()
  const add = (path: string, shown: Shown): void => {
    const is = kindOf(path)
    if (is === undefined || encloses(root, path) || isShown(path)) return
    if (shown === 'whole') entries.set(path, { kind: 'bind', path, is })
    else if (!isInside(path, entries)) entries.set(path, { kind: 'bind', path, is, publicOnly: true })
  }
  for (const dir of request.path.split(':')) for (const path of managedBy(dir, request)) add(path, 'whole')
  for (const path of request.more) add(path, 'whole')
  for (const { real, shown } of files) if (shown === 'whole') add(installationOf(real, request), shown)
  // Last, because what a person chose inside such a place is shown by its own right, and then the one file must do.
  for (const { real, shown } of files)
    if (shown === 'public') {
      const installation = installationOf(real, request)
      const holdsChosen = [...entries.keys()].some((path) => enclosesStrictly(installation, path))
      add(holdsChosen ? real : installation, shown)
    }
  for (const path of request.own) {
    const is = kindOf(path)
    if (is !== undefined && !isShown(path)) entries.set(path, { kind: 'bind', path, is, own: true })
  }
  // The name under which a program was found must exist too, or `#!/usr/bin/env` finds nothing.
  for (const { found, real } of files)
    if (found !== real && !isInside(found, entries) && !encloses(root, found) && encloses(home, found))
      entries.set(found, { kind: 'link', path: found, target: real })
  return sortByPath([...entries.values()])
}

/**
 * The files whose installation is shown. A link or a `#!` line in the workspace was written by whoever wrote the
 * workspace, and must not choose what becomes visible: then it is only followed to what PATH names, and to what every
 * user of the machine may read (decision 0141). So is one wherever else a command can write, or could (decision 0662).
 */
function filesOf(request: RuntimeRequest): readonly Found[] {
  const { program, path, home, root } = request
  const onPath = new Set(path.split(':'))
  let isNamedByFiles = (): boolean => false
  return program.files.flatMap((file): readonly Found[] => {
    const { found, real } = file
    const chosen =
      (onPath.has(dirname(found)) || !isNamedByFiles()) && !leadsThrough(request, { from: found, to: real })
    isNamedByFiles = () => !chosen || encloses(root, real) || isWritable(real, request)
    if (chosen) return [{ ...file, shown: 'whole' }]
    return isForAll(real, home) ? [{ ...file, shown: 'public' }] : []
  })
}

type Found = ResolvedProgram['files'][number] & { readonly shown: Shown }

/** In a home only where version managers keep interpreters; that the home itself is closed to others says nothing of those. */
function isForAll(real: string, home: string): boolean {
  if (!encloses(home, real)) return isPublic(real, '/')
  return KEPT_INTERPRETERS.some((dir) => encloses(`${home}/${dir}`, real)) && isPublic(real, home)
}

const KEPT_INTERPRETERS = [
  '.pyenv/versions',
  '.local/share/uv/python',
  '.local/share/mise/installs',
  '.nvm/versions',
  '.local/share/fnm',
  '.asdf/installs',
  '.rbenv/versions',
  '.volta/tools',
  '.rustup/toolchains',
]

const READ_AND_ENTER_BY_ALL = 0o005

/** It, and every directory on the way to it from `top` on, `top` left out. */
const isPublic = (path: string, top: string): boolean =>
  path === top ||
  (((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & READ_AND_ENTER_BY_ALL) ===
    READ_AND_ENTER_BY_ALL &&
    isPublic(dirname(path), top))

function installationOf(file: string, { home, root }: RuntimeRequest): string {
  // A package may need any of its siblings.
  const modules = file.indexOf('/node_modules/')
  if (modules > 0) return file.slice(0, modules + '/node_modules'.length)
  const prefix = dirname(dirname(file))
  return isBin(dirname(file)) && isInstallation(prefix, home, root) ? prefix : file
}

const isBin = (dir: string): boolean => basename(dir) === 'bin' || basename(dir) === 'sbin'

/** What lies in the top directory of a language's installation; a project has other things there. */
const INSTALLED = new Set(
  'bin sbin lib lib32 lib64 libexec include share etc man doc docs jmods legal conf compat'.split(' '),
)

/**
 * A directory with `lib` or the like beside `bin`, and with nothing else in it: a project that has a `bin` and a `lib` also has
 * its sources, its `.git` and its `.env`, and `~/bin` and `~/.local/bin` are only that.
 */
function isInstallation(prefix: string, home: string, root: string): boolean {
  if (encloses(prefix, home) || encloses(prefix, root) || prefix === `${home}/.local`) return false
  const dirs = directoriesIn(prefix)
  if (dirs.includes('pkg') && existsSync(`${prefix}/pkg/tool`) && existsSync(`${prefix}/VERSION`)) return true // Go
  return (
    dirs.some((name) => name.startsWith('lib') || name === 'include') &&
    dirs.every((name) => INSTALLED.has(name))
  )
}

function directoriesIn(path: string): readonly string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    )
  } catch {
    return [] // not there, or not for us
  }
}

/** Shims start another program of the manager's; granting the shim alone would be granting nothing. */
const MANAGERS: readonly { readonly bin: string; readonly needs: readonly string[] }[] = [
  { bin: '.pyenv/shims', needs: ['.pyenv'] },
  { bin: '.rbenv/shims', needs: ['.rbenv'] },
  { bin: '.asdf/shims', needs: ['.asdf'] },
  { bin: '.volta/bin', needs: ['.volta'] },
  { bin: '.cargo/bin', needs: ['.cargo/bin', '.rustup'] },
]

function managedBy(dir: string, request: RuntimeRequest): readonly string[] {
  const { home, root, isShown } = request
  if (!dir.startsWith('/')) return []
  const manager = MANAGERS.find(({ bin }) => dir === `${home}/${bin}`)
  if (manager) return manager.needs.map((need) => `${home}/${need}`)
  let real
  try {
    real = realpathSync.native(dir)
  } catch {
    return [] // PATH names many directories that do not exist
  }
  if (isShown(dirname(real))) return []
  // A directory on PATH that a command can write may have become a link; behind it nothing was chosen by the person.
  if (!isBin(real) || leadsThrough(request, { from: dir, to: real })) return []
  return isInstallation(dirname(real), home, root) ? [dirname(real)] : []
}

/**
 * Whether files that a command can write decide where a path leads: it lies in the workspace, or one of the links on the way does;
 * or such a link lies wherever else it can write, and leads out of the installation that the path itself names.
 */
function leadsThrough(
  request: RuntimeRequest,
  { from, to }: { readonly from: string; readonly to: string },
): boolean {
  const { root } = request
  if (from === to || encloses(root, from)) return encloses(root, from)
  const rest = from.split('/').toReversed()
  let at = ''
  for (let links = 0; rest.length > 0 && links <= MOST_HOPS;) {
    const name = rest.pop()!
    if (name === '' || name === '.') continue
    at = name === '..' ? dirname(at) : `${at === '/' ? '' : at}/${name}`
    if (encloses(root, at)) return true
    if (!lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) continue
    if (isWritable(at, request) && !encloses(installationOf(from, request), to)) return true
    const target = readlinkSync(at)
    links++
    rest.push(...target.split('/').toReversed())
    at = target.startsWith('/') ? '' : dirname(at)
  }
  return rest.length > 0 // the kernel follows no more either
}

/** Of what lies in no system directory, and not in `/` itself: no command is given these. */
const isWritable = (path: string, { isShown, writable }: RuntimeRequest): boolean =>
  directoryOf(path) !== '/' && !isShown(path) && writable().some((place) => encloses(place, path))

function kindOf(path: string): 'dir' | 'file' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() ? 'dir' : stats?.isFile() ? 'file' : undefined
}

const isInside = (path: string, entries: ReadonlyMap<string, RuntimeEntry>): boolean =>
  [...entries.keys()].some((base) => encloses(base, path))
