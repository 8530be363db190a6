import { createHash } from 'node:crypto'
import { closeSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { findProgram } from '@cordon/sandbox'

/** What a server's command line leads to on this machine: what a person said yes to when it was first used. */
export interface ServerIdentity {
  /** The program, with every link followed. */
  readonly program: string
  /** The file it is told to run, where the program is an interpreter. */
  readonly entry?: string
  /** `name@version` of the package that the entry, or else the program, belongs to. */
  readonly package?: string
  /** Of the entry, or else of the program; absent for a program too large to be read at every start. */
  readonly sha256?: string
}

const INTERPRETER =
  /^(?:node|nodejs|bun|deno|python[\d.]*|pypy[\d.]*|ruby|perl|php|java|sh|bash|dash|zsh|tsx)$/

/** Ambient: looks at the files. Throws `ProgramNotFoundError` or `NotExecutableError` when there is nothing to start. */
export function identify(
  argv: readonly [string, ...string[]],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): ServerIdentity {
  const found = findProgram(argv[0], cwd, env['PATH'] ?? '')
  const program = realpathSync.native(found)
  const entry = entryOf(found, argv, cwd)
  const code = entry ?? program
  const packaged = packageOf(code)
  const sha256 = digestOf(code)
  return {
    program,
    ...(entry === undefined ? {} : { entry }),
    ...(packaged === undefined ? {} : { package: packaged.name }),
    ...(sha256 === undefined ? {} : { sha256 }),
  }
}

function entryOf(program: string, argv: readonly string[], cwd: string): string | undefined {
  if (!INTERPRETER.test(basename(program))) return undefined
  const word = argv.slice(1).find((each) => !each.startsWith('-') && isFile(resolve(cwd, each)))
  return word === undefined ? undefined : realpathSync.native(resolve(cwd, word))
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false

/** Above it, and not far: a manifest at the top of the disk is nobody's package. */
const MOST_LEVELS = 6
const LARGEST_MANIFEST = 1024 * 1024

export function packageOf(file: string): { readonly name: string; readonly dir: string } | undefined {
  let dir = dirname(file)
  for (let level = 0; level < MOST_LEVELS && dir !== '/'; level++, dir = dirname(dir)) {
    const manifest = join(dir, 'package.json')
    if ((statSync(manifest, { throwIfNoEntry: false })?.size ?? Infinity) > LARGEST_MANIFEST) continue
    const name = nameIn(manifest)
    if (name !== undefined) return { name, dir }
  }
  return undefined
}

/** Many packages have a manifest without a name somewhere below, to set the type of their modules. */
function nameIn(manifest: string): string | undefined {
  try {
    const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>
    return typeof name === 'string' ? `${name}@${typeof version === 'string' ? version : '?'}` : undefined
  } catch {
    return undefined
  }
}

const LARGEST_READ = 16 * 1024 * 1024

function digestOf(file: string): string | undefined {
  if ((statSync(file, { throwIfNoEntry: false })?.size ?? Infinity) > LARGEST_READ) return undefined
  const hash = createHash('sha256')
  const fd = openSync(file, 'r')
  try {
    const bytes = Buffer.alloc(256 * 1024)
    for (let read; (read = readSync(fd, bytes)) > 0;) hash.update(bytes.subarray(0, read))
    return hash.digest('hex')
  } finally {
    closeSync(fd)
  }
}
