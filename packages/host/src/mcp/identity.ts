import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { findProgram } from '@cordon/sandbox'
import { trailOf } from '@cordon/workspace'
import { codeFiles, realFile } from './code-files.ts'

/** What a server's command line leads to on this machine: what a person said yes to when it was first used. */
export interface ServerIdentity {
  /** The program, with every link followed. */
  readonly program: string
  /** The file it is told to run, where the program is an interpreter. */
  readonly entry?: string
  /** `name@version` of the package that the entry, or else the program, belongs to. */
  readonly package?: string
  /** Of the entry with the files that its interpreter is told of before; without one, or where that is started by another program, of the program. */
  readonly sha256: string
}

/** Ambient: looks at the files. Throws `ProgramNotFoundError` or `NotExecutableError` when there is nothing to start. */
export function identify(
  argv: readonly [string, ...string[]],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): ServerIdentity {
  const found = findProgram(argv[0], cwd, env['PATH'] ?? '')
  const inner = basename(found) === 'env' ? behindEnv(argv) : undefined
  if (inner) return identify(inner, cwd, env)
  const program = realpathSync.native(found)
  const { entry, files, isInterpreter } = codeFiles([found, ...argv.slice(1)], cwd)
  const packaged = packageOf(entry ?? program)
  const runs = isInterpreter && entry !== undefined ? files : [...files, program]
  const digests = runs.map(digestOf)
  return {
    program,
    ...(entry === undefined ? {} : { entry }),
    ...(packaged === undefined ? {} : { package: packaged.name }),
    sha256: digests.length === 1 ? digests[0]! : createHash('sha256').update(digests.join()).digest('hex'),
  }
}

/**
 * SPEC 4.10: where the code of a server is: the files that its command line names, with the links on the way to them, and the
 * package around each file, as it really is. A program that is only found by PATH is not looked for.
 */
export function codePlaces(argv: readonly [string, ...string[]], cwd: string): CodePlaces {
  const inner = basename(argv[0]) === 'env' ? behindEnv(argv) : undefined
  if (inner) return codePlaces(inner, cwd)
  const program = argv[0].includes('/') ? resolve(cwd, argv[0]) : undefined
  const { named } = codeFiles(argv, cwd)
  const names = [...named, ...(program === undefined || realFile(program) === undefined ? [] : [program])]
  const trails = names.map((name) => trailOf('/', name).map(({ path }) => path))
  const packages = trails.flatMap((trail) => packageOf(trail.at(-1)!)?.dir ?? [])
  return { files: [...new Set(trails.flat())], packages: [...new Set(packages)] }
}

/** The file that an interpreter is told to run. */
export function entryOf(argv: readonly [string, ...string[]], cwd: string): string | undefined {
  const inner = basename(argv[0]) === 'env' ? behindEnv(argv) : undefined
  if (inner) return entryOf(inner, cwd)
  return codeFiles(argv, cwd).entry
}

export interface CodePlaces {
  readonly files: readonly string[]
  readonly packages: readonly string[]
}

/** `env [options] [NAME=value…] program …` */
function behindEnv([, ...words]: readonly string[]): [string, ...string[]] | undefined {
  const at = words.findIndex((word) => !word.startsWith('-') && !/^\w+=/.test(word))
  return at < 0 ? undefined : [words[at]!, ...words.slice(at + 1)]
}

/** Above it, and not far: a manifest at the top of the disk is nobody's package. */
const MOST_LEVELS = 6
const LARGEST_MANIFEST = 1024 * 1024

export function packageOf(file: string): { readonly name: string; readonly dir: string } | undefined {
  let dir = dirname(file)
  for (let level = 0; level < MOST_LEVELS && dir !== '/'; level++, dir = dirname(dir)) {
    const manifest = join(dir, 'package.json')
    const stat = statSync(manifest, { throwIfNoEntry: false })
    if (!stat?.isFile() || stat.size > LARGEST_MANIFEST) continue // also a FIFO, which nobody would ever fill
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

/** By what a change of a file cannot leave as it is, whoever makes it; so that a large program is read once. */
const known = new Map<string, { readonly stamp: string; readonly sha256: string }>()
const MOST_KNOWN = 256
/** Two changes within a tick of the clock leave the same times, so what has just changed is read again (decision 0316). */
const SETTLED_NS = 2_000_000_000n

function digestOf(file: string): string {
  const fd = openSync(file, 'r')
  try {
    const lookedAt = BigInt(Date.now()) * 1_000_000n
    const { dev, ino, size, mtimeNs, ctimeNs } = fstatSync(fd, { bigint: true })
    const stamp = [dev, ino, size, mtimeNs, ctimeNs].join()
    const before = known.get(file)
    if (before?.stamp === stamp) return before.sha256
    const hash = createHash('sha256')
    const bytes = Buffer.alloc(256 * 1024)
    for (let read; (read = readSync(fd, bytes)) > 0;) hash.update(bytes.subarray(0, read))
    const sha256 = hash.digest('hex')
    if (known.size >= MOST_KNOWN) known.clear()
    if (lookedAt - ctimeNs > SETTLED_NS) known.set(file, { stamp, sha256 })
    return sha256
  } finally {
    closeSync(fd)
  }
}
