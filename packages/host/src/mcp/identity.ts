import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readFileSync, readSync, realpathSync, statSync } from 'node:fs'
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
  /** Of the entry with what is loaded before it, or else of the program. */
  readonly sha256: string
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
  const inner = basename(found) === 'env' ? behindEnv(argv) : undefined
  if (inner) return identify(inner, cwd, env)
  const program = realpathSync.native(found)
  const { entry, before } = INTERPRETER.test(basename(found)) ? filesOf(argv.slice(1), cwd) : NO_FILES
  const code = entry ?? program
  const packaged = packageOf(code)
  const digests = [...before, code].map(digestOf)
  return {
    program,
    ...(entry === undefined ? {} : { entry }),
    ...(packaged === undefined ? {} : { package: packaged.name }),
    sha256: digests.length === 1 ? digests[0]! : createHash('sha256').update(digests.join()).digest('hex'),
  }
}

/**
 * SPEC 4.10: where the code of a server is: the files that its command line names, and the package around each, as they really
 * are. A program that is only found by PATH is not looked for.
 */
export function codePlaces(argv: readonly [string, ...string[]], cwd: string): CodePlaces {
  const inner = basename(argv[0]) === 'env' ? behindEnv(argv) : undefined
  if (inner) return codePlaces(inner, cwd)
  const { entry, before } = INTERPRETER.test(basename(argv[0])) ? filesOf(argv.slice(1), cwd) : NO_FILES
  const program = argv[0].includes('/') ? realFile(resolve(cwd, argv[0])) : undefined
  const files = [...before, ...[entry, program].flatMap((file) => file ?? [])]
  const packages = files.flatMap((file) => packageOf(file)?.dir ?? [])
  return { files, packages: [...new Set(packages)] }
}

/** The file that an interpreter is told to run. */
export function entryOf(argv: readonly [string, ...string[]], cwd: string): string | undefined {
  const inner = basename(argv[0]) === 'env' ? behindEnv(argv) : undefined
  if (inner) return entryOf(inner, cwd)
  return INTERPRETER.test(basename(argv[0])) ? filesOf(argv.slice(1), cwd).entry : undefined
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

interface CodeFiles {
  /** The file that an interpreter is told to run. */
  readonly entry: string | undefined
  /** What it loads before that, by its options. */
  readonly before: readonly string[]
}

const NO_FILES: CodeFiles = { entry: undefined, before: [] }

/** Options of interpreters whose value is code that runs first. */
const LOADS = /^(?:-r|--require|--import|--loader|--experimental-loader|--preload|-javaagent)$/

function filesOf(words: readonly string[], cwd: string): CodeFiles {
  const before: string[] = []
  const file = (word: string | undefined): string | undefined =>
    word === undefined ? undefined : realFile(resolve(cwd, word.replace(/^file:\/\//, '')))
  for (let i = 0; i < words.length; i++) {
    const [, option = words[i]!, value] = /^(--?[\w-]+)[=:](.*)$/s.exec(words[i]!) ?? []
    if (LOADS.test(option)) {
      const loaded = file(value ?? words[++i])
      if (loaded !== undefined) before.push(loaded)
    } else if (!words[i]!.startsWith('-')) {
      const entry = file(words[i])
      if (entry !== undefined) return { entry, before }
    }
  }
  return { entry: undefined, before }
}

/** Any word may be meant: one that is too long for a name, or may not be looked at, is no file. */
function realFile(path: string): string | undefined {
  try {
    return statSync(path).isFile() ? realpathSync.native(path) : undefined
  } catch {
    return undefined
  }
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
