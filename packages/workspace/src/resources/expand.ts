import { realpath } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { IGNORE_FILES, IgnoreFiles, type OpenFile } from '@cordon/files'
import { below, show } from '@cordon/policy'
import { errorCode, reason } from '../small-files.ts'
import { MARKER } from '../place/find-root.ts'
import { AnchoredPlace } from './anchored-place.ts'
import { AttachError } from './errors.ts'
import { parsePattern, type PathPattern } from './pattern.ts'

export interface ExpandContext {
  readonly root: string
  readonly home: string
  /** The user's own place for this workspace. Reading a lock file there would drop the lock (decision 0060). */
  readonly local: string
  /** What a relative path is relative to. */
  readonly cwd: string
  /**
   * Whether a file that a directory or a pattern finds is to be left out (SPEC 4.9). `below` is its path in that directory, `name`
   * how it would be named from where the person is.
   */
  readonly leaveOut?: (path: string, below: string, name: string) => boolean
  /** Asked once of what was named: absolute and as it was typed, and where its links lead (SPEC 4.9). Throws to refuse it. */
  readonly admit?: (found: { readonly named: string; readonly path: string }) => Promise<void>
}

/** A file by its canonical path. What `open` opens has that path, whatever was put in its way since it was found; until the next is asked for. */
export interface FoundFile {
  readonly path: string
  open(): OpenFile
}

/**
 * The files that `input` names. A path that exists is that path, whatever characters it has;
 * otherwise `*`, `?`, `[` and `{` make it a pattern. A file that is named is taken; what a directory or a pattern finds leaves out
 * links, `.git`, `.cordon`, whatever the ignore files name, and what the caller wants left out.
 */
export async function* expandPath(input: string, context: ExpandContext): AsyncGenerator<FoundFile> {
  if (input === '') throw new AttachError(input, 'the path is empty')
  if (input.includes('\0')) throw new AttachError(input, 'the path contains a NUL byte')
  const path = await canonical(input, input, context)
  if (path !== undefined) {
    if (below(dirname(context.local), path) !== undefined)
      throw new AttachError(input, 'Cordon keeps its own files there')
    using place = new AnchoredPlace(path, input, context.root)
    if (place.kind() === 'file') yield { path, open: () => place.open(path) }
    else yield* find(place, input, { ...EVERYTHING, base: input }, context)
    return
  }
  const pattern = parsePattern(input)
  const start = pattern && (await canonical(pattern.base, input, context))
  if (!pattern || start === undefined)
    throw new AttachError(input, pattern ? 'nothing matches it' : 'it does not exist')
  using place = new AnchoredPlace(start, input, context.root)
  if (place.kind() !== 'directory') throw new AttachError(input, 'nothing matches it')
  yield* find(place, input, pattern, context)
}

const EVERYTHING: Pick<PathPattern, 'depth' | 'matches'> = { depth: Infinity, matches: () => true }

function* find(
  place: AnchoredPlace,
  input: string,
  { base, depth, matches }: Pick<PathPattern, 'base' | 'depth' | 'matches'>,
  context: ExpandContext,
): Generator<FoundFile> {
  const start = place.path
  const top = start === '/' ? 1 : start.length + 1
  let [found, leftOut] = [0, 0]
  const isWanted = (path: string): boolean => {
    const inside = path.slice(top)
    if (!matches(inside)) return false
    if (!context.leaveOut?.(path, inside, join(base, inside))) return ++found > 0
    return ++leftOut === 0
  }
  const own = dirname(context.local)
  yield* walk(start, { place, input, depth, own, isWanted, ignores: ignoredAbove(place, context) })
  if (found > 0) return
  if (leftOut > 0) throw new AttachError(input, 'all that it finds may be secret; name the files one by one')
  throw new AttachError(
    input,
    matches === EVERYTHING.matches ? 'there is no file in it that is not ignored' : 'nothing matches it',
  )
}

/** `~` expanded, every link resolved, so that also a mount leads outside. Undefined when it does not exist. */
async function canonical(
  path: string,
  input: string,
  { cwd, home, admit }: ExpandContext,
): Promise<string | undefined> {
  const named = resolve(cwd, path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path)
  const found = await realpath(named, 'buffer').catch((error: unknown) => {
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    throw new AttachError(input, code === 'ELOOP' ? 'its links loop' : reason(error))
  })
  if (found === undefined) return undefined
  const real = utf8(found, input)
  await admit?.({ named, path: real })
  return real
}

/** SPEC 6.3: names that are not UTF-8 are refused. Decoding would turn two names into one. `dir` is where the name stands, if another place. */
function utf8(bytes: Buffer, input: string, dir?: string): string {
  const text = bytes.toString('utf8')
  if (Buffer.from(text).equals(bytes)) return text
  const where = dir === undefined ? '' : ` in ${show(dir)}`
  throw new AttachError(input, `the name ${quoteBytes(bytes)}${where} is not valid UTF-8`)
}

/** As a shell would take it: `$'caf\\xe9'`. Its letters are kept, so that a person finds the file. */
const quoteBytes = (bytes: Buffer): string =>
  `$'${Array.from(bytes, (byte) => (byte > 0x1f && byte < 0x7f && byte !== 0x27 && byte !== 0x5c ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`)).join('')}'`

/** In the workspace the ignore files above count, too, as they do for git. */
function ignoredAbove(place: AnchoredPlace, { root }: ExpandContext): IgnoreFiles {
  const ignores = new IgnoreFiles()
  const inside = below(root, place.path)
  if (inside === undefined || inside === '.') return ignores
  let here = root
  for (const part of inside.split('/')) {
    readIgnored(here, place, ignores)
    here = join(here, part)
  }
  return ignores
}

interface Search {
  readonly place: AnchoredPlace
  readonly input: string
  /** How many levels there are to look at. */
  readonly depth: number
  /** A directory that is not entered: where Cordon keeps its own files. */
  readonly own: string
  /** Asked only of a file that no ignore file names. */
  readonly isWanted: (path: string) => boolean
  readonly ignores: IgnoreFiles
}

function* walk(dir: string, search: Search): Generator<FoundFile> {
  const { place, input, depth, own, isWanted, ignores } = search
  const entries = place.list(dir)
  readIgnored(dir, place, ignores)
  const named = entries.map((entry) => ({
    ...entry,
    path: join(dir, entry.name ?? entry.bytes.toString('utf8')),
  }))
  for (const { kind, bytes, path } of named.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const wanted =
      kind === 'file'
        ? !ignores.ignores(path, 'other') && isWanted(path)
        : kind === 'directory' &&
          depth > 1 &&
          path !== own &&
          !NEVER.test(path) &&
          !ignores.ignores(path, 'directory')
    if (!wanted) continue
    if (bytes) utf8(bytes, input, dir)
    if (kind === 'file') yield { path, open: () => place.open(path) }
    else yield* walk(path, { ...search, depth: depth - 1 })
  }
}

const LARGEST_IGNORE = 1024 * 1024

/** An ignore file that cannot be read is an error: what it would have left out must not be attached. */
function readIgnored(dir: string, place: AnchoredPlace, ignores: IgnoreFiles): void {
  const about = `an ignore file in ${show(dir)}`
  const files = IGNORE_FILES.map((name) => place.readIfThere(join(dir, name), LARGEST_IGNORE, about))
  ignores.add(
    dir,
    files.flatMap((file) => (file ? [file.toString('utf8')] : [])),
  )
}

const NEVER = new RegExp(`/(?:\\.git|\\${MARKER})$`)
