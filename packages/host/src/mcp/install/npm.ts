import { readFileSync, writeFileSync } from 'node:fs'
import { join, normalize } from 'node:path'
import { show } from '@cordon/policy'
import { makePrivateDirectory, packagesDir } from '@cordon/workspace'
import { ALONE, nodeAlone } from './alone.ts'
import { InstallerFailed, runInstaller } from './command.ts'
import {
  fillDirectory,
  InstallError,
  type InstalledPackage,
  type InstallWorld,
  type PackagePin,
} from './packages.ts'
import type { Wanted } from './runner.ts'
import { runScripts } from './scripts.ts'

/** Which version the registry means, and its integrity. Nothing is installed. */
export async function resolveNpm({ name, version }: Wanted, world: InstallWorld): Promise<PackagePin> {
  const spec = version === undefined ? name : `${name}@${version}`
  const text = await npm(
    world,
    packagesDir(world.surroundings),
    'view',
    spec,
    'version',
    'dist.integrity',
    '--json',
  ).catch((error: unknown) => {
    throw isMissing(error) ? new InstallError(`the registry has no ${show(spec)}`) : error
  })
  const parsed: unknown = text.trim() === '' ? undefined : JSON.parse(text)
  const found = (Array.isArray(parsed) ? parsed.at(-1) : parsed) as
    | Readonly<Record<string, unknown>>
    | undefined
  const [exact, integrity] = [found?.['version'], found?.['dist.integrity']]
  if (typeof exact !== 'string') throw new InstallError(`the registry has no ${show(spec)}`)
  if (typeof integrity !== 'string' || !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity))
    throw new InstallError(
      `the registry states no integrity of ${show(`${name}@${exact}`)}, so it cannot be pinned`,
    )
  return { from: 'npm', name, version: exact, integrity }
}

/** With `--json` npm says so in JSON as well. */
function isMissing(error: unknown): boolean {
  if (!(error instanceof InstallerFailed)) return false
  try {
    const { error: said } = JSON.parse(error.stdout) as { readonly error?: { readonly code?: unknown } }
    return said?.code === 'E404' || said?.code === 'ETARGET'
  } catch {
    return false
  }
}

/** Files only: no script of any package runs, unless it is asked for, and then confined. */
export const installNpm = (pin: PackagePin, world: InstallWorld): Promise<InstalledPackage> =>
  fillDirectory(world, pin, async (dir) => {
    const { name, version } = pin
    writeFileSync(
      join(dir, 'package.json'),
      `${JSON.stringify({ private: true, dependencies: { [name]: version } })}\n`,
    )
    await npm(
      world,
      dir,
      'install',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--no-progress',
      '--omit=dev',
    ).catch((error: unknown) => {
      throw isElsewhere(error) ? fromElsewhere(name, 'git, a URL or a directory') : error
    })
    const lock = JSON.parse(readFileSync(join(dir, 'package-lock.json'), 'utf8')) as Lock
    const locked = lock.packages?.[`node_modules/${name}`]
    if (locked?.version !== version || locked.integrity !== pin.integrity)
      throw new InstallError(
        `what was installed as ${show(`${name}@${version}`)} is not what the registry stated before: it has ${show(String(locked?.integrity))}`,
      )
    refuseElsewhere(name, lock)
    if (world.scripts === 'confined') await runScripts(dir, await registryOf(name, dir, world), world)
    return programsOf(dir, name)
  })

interface Lock {
  readonly packages?: Readonly<Record<string, Locked>>
}

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
  readonly inBundle?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Decision 0239, for everything it needs as well. What a package brings along in its own tarball is part of it. */
function refuseElsewhere(name: string, { packages = {} }: Lock): void {
  for (const [path, locked] of Object.entries(packages)) {
    const needs = { ...locked.peerDependencies, ...locked.dependencies, ...locked.optionalDependencies }
    const elsewhere = Object.entries(needs).find(([, spec]) => !isRegistrySpec(spec))
    if (elsewhere) throw fromElsewhere(name, `${elsewhere[0]} (${elsewhere[1]})`)
    if (path === '' || locked.inBundle) continue
    const isFetched = /^https?:/.test(locked.resolved ?? 'https:') && locked.integrity !== undefined
    if (locked.link || !path.startsWith('node_modules/') || !isFetched)
      throw fromElsewhere(name, `${path} (${locked.resolved ?? 'from nowhere'})`)
  }
}

/** A version, range or tag; also of another name (`npm:`), which is the registry's as well. */
const isRegistrySpec = (spec: string): boolean => !/[/:]/.test(spec.replace(/^npm:(?:@[^/]+\/)?/, ''))

const fromElsewhere = (name: string, what: string): InstallError =>
  new InstallError(
    `${show(name)} needs something that is not from the registry, so it is not installed: ${show(what)}\n  fix: install it yourself, and name its program`,
  )

/** npm stopped because it was to run something, or, where it knows these options, to take it from elsewhere. */
const isElsewhere = (error: unknown): boolean =>
  error instanceof InstallerFailed &&
  (error.said.includes(ALONE) || /EALLOW(?:GIT|REMOTE|FILE|DIRECTORY)/.test(error.said))

/** The newer ones know these; to the others they are nothing. */
const REGISTRY_ONLY = {
  npm_config_allow_git: 'none',
  npm_config_allow_remote: 'none',
  npm_config_allow_file: 'none',
  npm_config_allow_directory: 'none',
}

function programsOf(dir: string, name: string): Record<string, string> {
  const { bin } = JSON.parse(readFileSync(join(dir, 'node_modules', name, 'package.json'), 'utf8')) as {
    readonly bin?: unknown
  }
  const named = typeof bin === 'string' ? { [name.split('/').at(-1)!]: bin } : bin
  if (typeof named !== 'object' || named === null) return {}
  return Object.fromEntries(
    Object.entries(named).flatMap(([program, path]) =>
      typeof path === 'string' ? [[program, join('node_modules', name, normalize(`/${path}`))]] : [],
    ),
  )
}

async function registryOf(name: string, dir: string, world: InstallWorld): Promise<string> {
  const scope = name.startsWith('@') ? name.split('/')[0]! : undefined
  const own = scope === undefined ? '' : (await npm(world, dir, 'config', 'get', `${scope}:registry`)).trim()
  return own !== '' && own !== 'undefined' ? own : (await npm(world, dir, 'config', 'get', 'registry')).trim()
}

const npm = (world: InstallWorld, cwd: string, ...args: string[]): Promise<string> => {
  makePrivateDirectory(cwd)
  const env = { ...world.surroundings.env, ...REGISTRY_ONLY, NODE_OPTIONS: nodeAlone(world.surroundings.env) }
  return runInstaller({ argv: ['npm', '--loglevel=error', ...args], cwd, env, signal: world.signal })
}
