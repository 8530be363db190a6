import { basename } from 'node:path'
import { CordonError, quote } from '@cordon/policy'

/** A package that a runner would fetch and start: what to install instead, before anything is confined. */
export interface Wanted {
  readonly from: 'npm' | 'pypi'
  readonly name: string
  /** A version, a range or a tag, as it was typed; undefined: the newest. */
  readonly version: string | undefined
  /** Undefined: the only program of the package, or the one that has its name. */
  readonly program: string | undefined
  readonly args: readonly string[]
}

/** A runner was meant, and what it would run cannot be pinned. */
class RunnerError extends CordonError {
  readonly code = 'RUNNER'
}

/** Undefined: no runner of packages, a program like any other. Pure. */
export function readRunner(command: string, args: readonly string[]): Wanted | undefined {
  switch (basename(command)) {
    case 'npx':
      return readNpx(args)
    case 'npm':
      return args[0] === 'exec' || args[0] === 'x' ? readNpx(args.slice(1)) : undefined
    case 'uvx':
      return readUvx(args)
    case 'uv':
      return args[0] === 'tool' && args[1] === 'run' ? readUvx(args.slice(2)) : undefined
    case 'pipx':
      if (args[0] === 'run') return readPipx(args.slice(1))
      throw new RunnerError('of pipx only `pipx run PACKAGE` starts a server')
    case 'bunx':
    case 'pnpx':
      throw unpinned(basename(command))
    case 'bun':
    case 'pnpm':
    case 'yarn':
      if (args[0] === 'x' || args[0] === 'dlx') throw unpinned(`${basename(command)} ${args[0]}`)
      return undefined
    default:
      return undefined
  }
}

const unpinned = (runner: string): RunnerError =>
  new RunnerError(
    `${runner} fetches a package at every start\n  fix: write npx instead, and Cordon installs it once`,
  )

/** Takes options off the front of the words, as the runner would. */
function takeOptions(
  runner: string,
  args: readonly string[],
  { flags, values }: { readonly flags: readonly string[]; readonly values: Readonly<Record<string, string>> },
): { readonly taken: ReadonlyMap<string, readonly string[]>; readonly rest: readonly string[] } {
  const taken = new Map<string, string[]>()
  const words = [...args]
  while (words[0]?.startsWith('-')) {
    const word = words.shift()!
    if (word === '--') break
    const [option = '', inline] = /^(--[^=]+)=(.*)$/s.exec(word)?.slice(1) ?? [word]
    if (flags.includes(option) && inline === undefined) continue
    const name = values[option]
    if (name === undefined)
      throw new RunnerError(
        `${runner}: ${quote(word)} is not understood, so nobody can tell which package it would run`,
      )
    const value = inline ?? words.shift()
    if (value === undefined) throw new RunnerError(`${runner}: ${option} has no value`)
    taken.set(name, [...(taken.get(name) ?? []), value])
  }
  return { taken, rest: words }
}

function readNpx(args: readonly string[]): Wanted {
  const { taken, rest } = takeOptions('npx', args, {
    flags: [
      '-y',
      '--yes',
      '-q',
      '--quiet',
      '--prefer-online',
      '--prefer-offline',
      '--no-install',
      '--ignore-existing',
    ],
    values: { '-p': 'package', '--package': 'package' },
  })
  const packages = taken.get('package') ?? []
  if (packages.length > 1) throw new RunnerError('npx: more than one package is named; install them by hand')
  const [first, ...others] = rest
  const spec = packages[0] ?? first
  if (spec === undefined) throw new RunnerError('npx: no package is named')
  if (packages.length === 1 && first === undefined)
    throw new RunnerError('npx: no program of the package is named')
  return {
    ...parseNpmSpec(spec),
    program: packages.length === 1 ? first : undefined,
    args: packages.length === 1 ? others : rest.slice(1),
  }
}

function readUvx(args: readonly string[]): Wanted {
  const { taken, rest } = takeOptions('uvx', args, {
    flags: ['-q', '--quiet', '--isolated', '--no-cache', '--refresh', '-n', '--offline'],
    values: { '--from': 'package', '--python': 'python', '-p': 'python' },
  })
  return readPython('uvx', taken.get('package'), rest)
}

function readPipx(args: readonly string[]): Wanted {
  const { taken, rest } = takeOptions('pipx', args, {
    flags: ['-q', '--quiet', '--no-cache', '--verbose'],
    values: { '--spec': 'package', '--python': 'python' },
  })
  return readPython('pipx', taken.get('package'), rest)
}

function readPython(
  runner: string,
  packages: readonly string[] | undefined,
  rest: readonly string[],
): Wanted {
  const [first, ...others] = rest
  if (first === undefined) throw new RunnerError(`${runner}: no package is named`)
  const spec = packages?.at(-1)
  return { ...parsePythonSpec(spec ?? first), program: spec === undefined ? undefined : first, args: others }
}

/** `name`, `@scope/name`, either with `@version`. Nothing else: git, URLs, files and aliases are other sources (decision 0239). */
function parseNpmSpec(spec: string): Pick<Wanted, 'from' | 'name' | 'version'> {
  const match =
    /^(?<name>(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*)(?:@(?<version>[\w.^~<>=*+| -]+))?$/i.exec(
      spec,
    )
  if (!match?.groups || spec.length > 300 || spec.endsWith('.tgz'))
    throw new RunnerError(
      `${quote(spec)} is not a package of the registry: names and versions are installed, not git, URLs, files or aliases\n  fix: install it yourself, and name its program`,
    )
  return { from: 'npm', name: match.groups['name']!, version: match.groups['version'] }
}

/** `name`, `name==1.2`, `name@1.2` (uvx), with `[extras]`. */
function parsePythonSpec(spec: string): Pick<Wanted, 'from' | 'name' | 'version'> {
  const match =
    /^(?<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?(?:\[[\w.,-]+\])?)(?:(?:==|@)(?<version>[\w.!+]+))?$/.exec(
      spec,
    )
  if (!match?.groups || spec.length > 300 || /\.(?:whl|zip|gz)$/.test(spec))
    throw new RunnerError(
      `${quote(spec)} is not a package of the index: names and versions are installed, not git, URLs or files\n  fix: install it yourself, and name its program`,
    )
  const version = match.groups['version']
  return { from: 'pypi', name: match.groups['name']!, version: version === 'latest' ? undefined : version }
}
