import { constants, type Dirent } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import picomatch from 'picomatch'
import { below, quote, show } from '@cordon/policy'
import { errorCode, reason } from '../durable.ts'
import { MARKER } from '../place/find-root.ts'
import { AttachError } from './errors.ts'
import { IgnoreRules } from './ignore-rules.ts'

export interface ExpandContext {
  readonly root: string
  readonly home: string
  /** What a relative path is relative to. */
  readonly cwd: string
}

/**
 * The canonical paths of the files that `input` names. A path that exists is that path, whatever characters it has;
 * otherwise `*`, `?`, `[` and `{` make it a pattern. A file that is named is taken; what a directory or a pattern finds leaves out
 * links, `.git`, `.cordon` and whatever the ignore files name.
 */
export async function* expandPath(input: string, context: ExpandContext): AsyncGenerator<string> {
  if (input === '') throw new AttachError(input, 'the path is empty')
  if (input.includes('\0')) throw new AttachError(input, 'the path contains a NUL byte')
  const path = await canonical(input, input, context)
  if (path !== undefined) {
    if ((await kindOf(path, input)) === 'file') yield path
    else yield* walk(path, { input, depth: Infinity, matches: () => true }, await rulesAbove(path, context))
    return
  }
  const { base, glob, isGlob } = picomatch.scan(input)
  const start = isGlob ? await canonical(base === '' ? '.' : base, input, context) : undefined
  if (start === undefined || (await kindOf(start, input)) !== 'directory')
    throw new AttachError(input, isGlob ? 'nothing matches it' : 'it does not exist')
  const matches = picomatch(glob)
  const found = {
    input,
    depth: depthOf(glob),
    matches: (each: string) => matches(each.slice(start.length + 1)),
  }
  let some = false
  for await (const match of walk(start, found, await rulesAbove(start, context))) {
    some = true
    yield match
  }
  if (!some) throw new AttachError(input, 'nothing matches it')
}

/** `*.pdf` in the home directory must not walk all of it. Where a pattern may reach is not always plain. */
const depthOf = (glob: string): number => (/\*\*|[{(]/.test(glob) ? Infinity : glob.split('/').length)

/** `~` expanded, every link resolved, so that also a mount leads outside. Undefined when it does not exist. */
async function canonical(
  path: string,
  input: string,
  { cwd, home }: ExpandContext,
): Promise<string | undefined> {
  const expanded = path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
  try {
    return utf8(await realpath(resolve(cwd, expanded), 'buffer'), input)
  } catch (error) {
    if (error instanceof AttachError) throw error
    const code = errorCode(error)
    if (code === 'ENOENT') return undefined
    throw new AttachError(input, code === 'ELOOP' ? 'its links loop' : reason(error))
  }
}

/** RFD D03, "Filename encoding". Decoding would turn two names into one. */
function utf8(bytes: Buffer, input: string): string {
  const text = bytes.toString('utf8')
  if (!Buffer.from(text).equals(bytes))
    throw new AttachError(input, `the name ${quote(text)} is not valid UTF-8`)
  return text
}

async function kindOf(path: string, input: string): Promise<'file' | 'directory'> {
  const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stat = await handle.stat()
    if (stat.isFile()) return 'file'
    if (stat.isDirectory()) return 'directory'
  } finally {
    await handle.close()
  }
  throw new AttachError(input, 'it is neither a file nor a directory')
}

/** In the workspace the ignore files above count, too, as they do for git. */
async function rulesAbove(dir: string, { root }: ExpandContext): Promise<IgnoreRules> {
  const inside = below(root, dir)
  let rules = IgnoreRules.none
  if (inside === undefined || inside === '.') return rules
  let here = root
  for (const part of inside.split('/')) {
    rules = await rules.entering(here)
    here = join(here, part)
  }
  return rules
}

interface Search {
  readonly input: string
  /** How many levels there are to look at. */
  readonly depth: number
  readonly matches: (path: string) => boolean
}

async function* walk(dir: string, search: Search, above: IgnoreRules): AsyncGenerator<string> {
  const { input, depth, matches } = search
  const { rules, entries } = await enter(dir, input, above)
  const named = entries.map((entry) => ({ entry, path: join(dir, entry.name.toString('utf8')) }))
  for (const { entry, path } of named.sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const wanted = entry.isFile()
      ? matches(path) && !rules.ignores(path, 'file')
      : entry.isDirectory() && depth > 1 && !NEVER.test(path) && !rules.ignores(path, 'directory')
    if (!wanted) continue
    utf8(entry.name, input)
    if (entry.isFile()) yield path
    else yield* walk(path, { ...search, depth: depth - 1 }, rules)
  }
}

/** What cannot be read is said by its name: the argument may be far above it. */
async function enter(
  dir: string,
  input: string,
  above: IgnoreRules,
): Promise<{ readonly rules: IgnoreRules; readonly entries: readonly Dirent<Buffer>[] }> {
  const fail = (what: string) => (error: unknown) => {
    throw new AttachError(input, `${what}${show(dir)}: ${reason(error)}`)
  }
  const entries = await readdir(dir, { withFileTypes: true, encoding: 'buffer' }).catch(fail(''))
  return { rules: await above.entering(dir).catch(fail('an ignore file in ')), entries }
}

const NEVER = new RegExp(`/(?:\\.git|\\${MARKER})$`)
