import { createHash } from 'node:crypto'
import { existsSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { replaceDurably } from '@cordon/files'
import { below, CordonError, show } from '@cordon/policy'
import { makePrivateDirectory, packagesDir, readSmall, type Surroundings, withLock } from '@cordon/workspace'

/** Exactly one package: what a person was shown, and what a changed program is compared with. */
export interface PackagePin {
  readonly from: 'npm' | 'pypi'
  readonly name: string
  readonly version: string
  /** Of the package itself, as its registry states it: `sha512-…` (npm), `sha256:…` (PyPI). */
  readonly integrity: string
}

export interface InstalledPackage extends PackagePin {
  readonly dir: string
  /** Programs by name, relative to the directory. */
  readonly programs: Readonly<Record<string, string>>
  /** Whether install scripts ran, confined. By default none does. */
  readonly scripts: 'not run' | 'confined'
}

/** For whom, and how. */
export interface InstallWorld {
  readonly surroundings: Surroundings
  readonly pid: number
  readonly signal: AbortSignal
  /** `confined`: install scripts run, in the sandbox, with the registry as their only host. */
  readonly scripts: InstalledPackage['scripts']
}

export class InstallError extends CordonError {
  readonly code = 'INSTALL'
}

export const directoryOf = (
  around: Surroundings,
  { from, name, version, integrity }: PackagePin,
  scripts: InstalledPackage['scripts'],
): string => {
  const digest = createHash('sha256').update(integrity).digest('hex').slice(0, 12)
  const ran = scripts === 'confined' ? '-scripts' : ''
  return join(packagesDir(around), from, `${name.replaceAll('/', '+')}@${version}-${digest}${ran}`)
}

/** Written last, so that a directory without it is one that nobody finished. */
const MANIFEST = 'cordon-package.json'

export function readInstalled(dir: string): InstalledPackage | undefined {
  try {
    const found = readSmall(join(dir, MANIFEST), 1024 * 1024)
    return found && parseManifest(JSON.parse(found.bytes.toString('utf8')), dir)
  } catch {
    return undefined // damaged: as good as not installed, and installed anew
  }
}

function parseManifest(value: unknown, dir: string): InstalledPackage | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { from, name, version, integrity, programs, scripts } = value as Record<string, unknown>
  const texts = [name, version, integrity].every((text) => typeof text === 'string' && text !== '')
  if (!texts || (from !== 'npm' && from !== 'pypi') || typeof programs !== 'object' || programs === null)
    return undefined
  const known = Object.entries(programs).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return {
    from,
    name: name as string,
    version: version as string,
    integrity: integrity as string,
    dir,
    programs: Object.fromEntries(known),
    scripts: scripts === 'confined' ? 'confined' : 'not run',
  }
}

/** The package that a configured command is a program of; undefined: it is none that we installed. */
export function installedPackageOf(command: string, around: Surroundings): InstalledPackage | undefined {
  const inside = below(packagesDir(around), command)
  const [from, name] = inside?.split('/') ?? []
  return from === undefined || name === undefined
    ? undefined
    : readInstalled(join(packagesDir(around), from, name))
}

export const programPath = (
  { dir, name, programs }: InstalledPackage,
  wanted: string | undefined,
): string => {
  const names = Object.keys(programs)
  const plain = name.split('/').at(-1)!.replace(/\[.*/, '')
  const chosen = wanted ?? (names.length === 1 ? names[0] : names.find((each) => each === plain))
  if (chosen === undefined || !Object.hasOwn(programs, chosen))
    throw new InstallError(
      names.length === 0
        ? `${show(name)} has no programs`
        : `${show(name)} has no program ${show(chosen ?? plain)}; it has: ${names.map(show).join(', ')}`,
    )
  return join(dir, programs[chosen]!)
}

/**
 * Fills the directory of one package, once: `fill` gets it empty. One installer at a time; what an earlier one that was
 * killed left behind is removed first.
 */
export async function fillDirectory(
  { surroundings: around, pid, scripts }: InstallWorld,
  pin: PackagePin,
  fill: (dir: string) => Promise<InstalledPackage['programs']>,
): Promise<InstalledPackage> {
  const dir = directoryOf(around, pin, scripts)
  makePrivateDirectory(join(packagesDir(around), pin.from))
  const lock = {
    what: 'the directory of installed servers',
    wait: 600_000,
    holder: { pid, command: 'cordon' },
  }
  return withLock(join(packagesDir(around), 'lock'), lock, async () => {
    sweep(join(packagesDir(around), pin.from))
    const there = readInstalled(dir)
    if (there) return there
    makePrivateDirectory(dir)
    try {
      const made = { ...pin, programs: await fill(dir), scripts }
      for (const path of Object.values(made.programs)) refuseOutside(dir, path)
      const text = `${JSON.stringify({ ...made, installed_at: new Date().toISOString() }, undefined, 2)}\n`
      replaceDurably(join(dir, MANIFEST), text, { mode: 0o600 })
      return { ...made, dir }
    } catch (error) {
      rmSync(dir, { recursive: true, force: true })
      throw error
    }
  })
}

function sweep(dir: string): void {
  for (const name of readdirSync(dir))
    if (!existsSync(join(dir, name, MANIFEST))) rmSync(join(dir, name), { recursive: true, force: true })
}

/** A package says where its programs are; outside of it there is nothing that it could mean. */
function refuseOutside(dir: string, path: string): void {
  const real = existsSync(join(dir, path)) ? realpathSync.native(join(dir, path)) : undefined
  if (real === undefined || below(realpathSync.native(dir), real) === undefined)
    throw new InstallError(`the package names ${show(path)} as its program, and has no such file`)
}
