import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { encloses, sortByPath } from './paths.ts'
import { type Program } from './program.ts'
import { type RuntimeEntry } from './survey.ts'

export interface RuntimeRequest {
  readonly program: Program
  readonly path: string
  readonly home: string
  readonly root: string
  readonly more: readonly string[]
}

/**
 * SPEC 4.3, "the resolved interpreter's installation": where the program, its interpreters and the version managers
 * on PATH keep what they need, when that is outside the system directories. Never a home or a workspace as
 * a whole: when in doubt, the one file.
 */
export function installationsOf(request: RuntimeRequest): readonly RuntimeEntry[] {
  const { home, root } = request
  const entries = new Map<string, RuntimeEntry>()
  const add = (path: string): void => {
    const is = kindOf(path)
    if (is !== undefined && !encloses(root, path)) entries.set(path, { kind: 'bind', path, is })
  }
  for (const { real } of chosenFiles(request)) add(installationOf(real, request))
  for (const dir of request.path.split(':')) for (const path of managedBy(dir, request)) add(path)
  for (const path of request.more) add(path)
  // The name under which a program was found must exist too, or `#!/usr/bin/env` finds nothing.
  for (const { found, real } of chosenFiles(request))
    if (found !== real && !isInside(found, entries) && !encloses(root, found) && encloses(home, found))
      entries.set(found, { kind: 'link', path: found, target: real })
  return sortByPath([...entries.values()])
}

/**
 * The files whose installation is shown. A link or a `#!` line in the workspace was written by whoever wrote the
 * workspace, and must not open a place that is the person's own: then it is only followed to what PATH names, to
 * where version managers keep interpreters, and to what every user of the machine may read.
 */
function chosenFiles({ program, path, home, root }: RuntimeRequest): Program['files'] {
  const onPath = new Set(path.split(':'))
  const isHarmless = (real: string): boolean =>
    KEPT_INTERPRETERS.some((dir) => encloses(`${home}/${dir}`, real)) ||
    (!encloses(home, real) && isPublic(real))
  let namedByWorkspace = false
  return program.files.filter(({ found, real }) => {
    const chosen = !encloses(root, found) && (!namedByWorkspace || onPath.has(dirname(found)))
    namedByWorkspace = !chosen || encloses(root, real)
    return chosen || isHarmless(real)
  })
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

const isPublic = (path: string): boolean =>
  ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & READ_AND_ENTER_BY_ALL) ===
    READ_AND_ENTER_BY_ALL &&
  (path === '/' || isPublic(dirname(path)))

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

function managedBy(dir: string, { home, root }: RuntimeRequest): readonly string[] {
  if (!dir.startsWith('/')) return []
  const manager = MANAGERS.find(({ bin }) => dir === `${home}/${bin}`)
  if (manager) return manager.needs.map((need) => `${home}/${need}`)
  let real
  try {
    real = realpathSync.native(dir)
  } catch {
    return [] // PATH names many directories that do not exist
  }
  return isBin(real) && isInstallation(dirname(real), home, root) ? [dirname(real)] : []
}

function kindOf(path: string): 'dir' | 'file' | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats?.isDirectory() ? 'dir' : stats?.isFile() ? 'file' : undefined
}

const isInside = (path: string, entries: ReadonlyMap<string, RuntimeEntry>): boolean =>
  [...entries.keys()].some((base) => encloses(base, path))
