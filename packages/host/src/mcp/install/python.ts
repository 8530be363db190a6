import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { show } from '@cordon/policy'
import { makePrivateDirectory, packagesDir } from '@cordon/workspace'
import { ALONE, PIP_ALONE } from './alone.ts'
import { InstallerFailed, runInstaller } from './command.ts'
import {
  fillDirectory,
  InstallError,
  type InstalledPackage,
  type InstallWorld,
  type PackagePin,
} from './packages.ts'
import type { Wanted } from './runner.ts'

/** The package with everything that it needs, each by the hash that the index states. */
export interface PythonPin extends PackagePin {
  readonly requirements: readonly string[]
}

/** What pip would install. Wheels only: to build anything else is to run what was downloaded. */
export async function resolvePython({ name, version }: Wanted, world: InstallWorld): Promise<PythonPin> {
  const spec = version === undefined ? name : `${name}==${version}`
  const args = ['install', '--dry-run', '--ignore-installed', '--quiet', '--report', '-', ...WHEELS, spec]
  const answer = await python(world, packagesDir(world.surroundings), ...PIP_ALONE, ...args).catch(
    (error: unknown) => {
      const isBuilt = error instanceof InstallerFailed && error.said.includes(ALONE)
      throw isBuilt ? fromElsewhere(name, 'something that pip would have to build') : error
    },
  )
  const report = JSON.parse(answer) as Report
  const direct = report.install?.find(({ is_direct: isDirect }) => isDirect)
  if (direct) throw fromElsewhere(name, direct.metadata?.name ?? 'a package')
  const items = (report.install ?? []).map(readItem)
  const own = items.find((item) => plainName(item.name) === plainName(name.replace(/\[.*/, '')))
  if (!own) throw new InstallError(`the index has no ${show(spec)}`)
  return {
    from: 'pypi',
    name,
    version: own.version,
    integrity: `sha256:${own.sha256}`,
    requirements: items.map((item) => `${item.name}==${item.version} --hash=sha256:${item.sha256}`),
  }
}

/** A virtual environment is bound to its path, so it is made where it stays. */
export const installPython = (
  { requirements, ...pin }: PythonPin,
  world: InstallWorld,
): Promise<InstalledPackage> => {
  if (world.scripts === 'confined')
    throw new InstallError(
      'of Python packages only wheels are installed, which have no scripts; leave out --scripts',
    )
  return fillDirectory(world, pin, async (dir) => {
    await python(world, packagesDir(world.surroundings), '-m', 'venv', '--without-pip', dir)
    writeFileSync(join(dir, 'requirements.txt'), `${requirements.join('\n')}\n`)
    const target = ['--python', join(dir, 'bin', 'python')]
    await pip(
      world,
      dir,
      ...target,
      'install',
      '--quiet',
      '--no-deps',
      '--require-hashes',
      ...WHEELS,
      '-r',
      'requirements.txt',
    )
    return programsOf(dir, pin.name)
  })
}

const WHEELS = ['--only-binary', ':all:', '--disable-pip-version-check', '--no-input'] as const

/** Decision 0239, for everything it needs as well: a direct reference is a file or URL that the index does not vouch for. */
const fromElsewhere = (name: string, what: string): InstallError =>
  new InstallError(
    `${show(name)} needs something that is not from the index, so it is not installed: ${show(what)}\n  fix: install it yourself, and name its program`,
  )

interface Report {
  readonly install?: readonly {
    readonly is_direct?: boolean
    readonly metadata?: { readonly name?: string; readonly version?: string }
    readonly download_info?: { readonly archive_info?: { readonly hashes?: { readonly sha256?: string } } }
  }[]
}

function readItem({ metadata, download_info: info }: NonNullable<Report['install']>[number]): {
  readonly name: string
  readonly version: string
  readonly sha256: string
} {
  const { name, version } = metadata ?? {}
  const sha256 = info?.archive_info?.hashes?.sha256
  if (name === undefined || version === undefined || sha256 === undefined || !/^[0-9a-f]{64}$/.test(sha256))
    throw new InstallError(`the index states no hash of ${show(name ?? 'a package')}, so it cannot be pinned`)
  return { name, version, sha256 }
}

/** PEP 503. */
const plainName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-')

/** The console scripts that the wheel declares, as they stand in `bin`. */
function programsOf(dir: string, name: string): Record<string, string> {
  const lib = join(dir, 'lib')
  const version = readdirSync(lib).find((each) => each.startsWith('python')) ?? ''
  const packages = join(lib, version, 'site-packages')
  const wanted = plainName(name.replace(/\[.*/, ''))
  const info = readdirSync(packages).find(
    (each) => each.endsWith('.dist-info') && plainName(each.split('-')[0]!) === wanted,
  )
  const declared = info === undefined ? '' : readIfThere(join(packages, info, 'entry_points.txt'))
  const section = /\[console_scripts\]([^[]*)/.exec(declared)?.[1] ?? ''
  const names = section.split('\n').flatMap((line) => /^\s*([\w.-]+)\s*=/.exec(line)?.[1] ?? [])
  return Object.fromEntries(names.map((each) => [each, join('bin', each)]))
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const python = (world: InstallWorld, cwd: string, ...args: string[]): Promise<string> => {
  makePrivateDirectory(cwd)
  return runInstaller({ argv: ['python3', ...args], cwd, env: world.surroundings.env, signal: world.signal })
}

const pip = (world: InstallWorld, cwd: string, ...args: string[]): Promise<string> =>
  python(world, cwd, '-I', '-m', 'pip', ...args)
