import { realpathSync } from 'node:fs'
import { posix } from 'node:path'
import { CordonError, quote, workspaceUri } from '@cordon/policy'
import { type Workspace } from '../place/workspace.ts'
import { externalUri } from '../resources/external-uri.ts'

/**
 * SPEC 6.1: no absolute host path in any event. Which paths a text may mean nobody can know in general; the two
 * that say who and where the user is are known: the workspace's root and the home directory. Messages name them as people
 * do, `.` and `~`; in contents stands a mark for them, so that they can be what they were again (decision 0334).
 */
export class HostPaths {
  readonly #hidden: readonly HiddenPath[]
  readonly #byMark: ReadonlyMap<string, string>
  /** Longest first: one may be the beginning of another. */
  readonly #keys: readonly string[]

  /** A home that is a link has two paths; both name the user. `root` is canonical already. */
  static of(
    { root, home }: Pick<Workspace, 'root' | 'home'>,
    places: readonly { readonly path: string; readonly shown: string }[] = [],
    keys: readonly string[] = [],
  ): HostPaths {
    return new HostPaths({ root, homes: [home, ...realHome(home)], places, keys })
  }

  constructor({
    root,
    homes,
    places = [],
    keys = [],
  }: {
    readonly root: string
    readonly homes: readonly string[]
    /** Others that have a name of their own in the workspace: the targets of mounts. */
    readonly places?: readonly { readonly path: string; readonly shown: string }[]
    /** What the person shows to providers of models, and nobody else may read. */
    readonly keys?: readonly string[]
  }) {
    this.#keys = [...new Set(keys)]
      .filter((key) => key.length >= SHORTEST_KEY)
      .toSorted((a, b) => b.length - a.length)
    const named = [
      { path: root, shown: '.', mark: 'workspace' },
      ...homes.map((path, i) => ({ path, shown: '~', mark: i === 0 ? 'home' : `home ${i + 1}` })),
      ...places.map((place) => ({ ...place, mark: `mount ${encodeURIComponent(place.shown)}` })),
    ]
    this.#hidden = named
      .filter(({ path }) => path.length > 1)
      .sort((a, b) => b.path.length - a.path.length) // a root under the home first
      .map(({ path, shown, mark }) => ({
        path,
        pattern: patternOf(path),
        exact: exactly(path),
        shown,
        mark,
        inside: shown === '.' ? '' : shown === '~' ? undefined : shown,
      }))
    this.#byMark = new Map(named.toReversed().map(({ path, mark }) => [mark, path]))
  }

  /** For text that people, models and tools wrote: `/home/u/p/src/a.ts` becomes `./src/a.ts`. */
  hide<T>(value: T): T {
    return mapText(value, (text) => this.#hideIn(this.#concealIn(text))) as T
  }

  /**
   * A `file:` URI as the workspace has it (SPEC 6.3): a tool may have written where the file is on this machine. Whoever cuts
   * the path out of a URI asks here first: without its first slash nobody would find it again. Others stay as they are.
   */
  workspaceUri(uri: string): string {
    const path = pathOfFileUri(uri)
    if (path === undefined) return uri
    const fragment = /#.*$/s.exec(uri)?.[0] ?? ''
    for (const { path: top, inside } of this.#hidden) {
      if (path !== top && !path.startsWith(`${top}/`)) continue
      if (inside === undefined) return this.hide(externalUri(path) + fragment)
      return this.hide(workspaceUri(posix.join(inside, path.slice(top.length + 1)), fragment))
    }
    return uri
  }

  /** For contents: `/home/u/x` becomes `<cordon:home>/x`. Spelled oddly (`//`, `%2F`), it is hidden for good. */
  mark(content: string): string {
    let marked = this.#concealIn(content.replaceAll(MARK, `${MARK}${AGAIN}`))
    for (const { exact, mark } of this.#hidden) marked = marked.replace(exact, () => `${MARK}${mark}>`)
    return this.#hideIn(marked)
  }

  /** Without keys, and else as it is. What stands for one never becomes it again: a model could hand it on (decision 0372). */
  conceal<T>(value: T): T {
    return this.#keys.length === 0 ? value : (mapText(value, (text) => this.#concealIn(text)) as T)
  }

  /** How much of a text that goes on may be the beginning of a mark, or of a key. */
  unfinished(text: string): string {
    const mark = unfinishedMark(text)
    const begun = this.#keys.map((key) => {
      let length = Math.min(key.length - 1, text.length)
      while (!text.endsWith(key.slice(0, length))) length--
      return length
    })
    return text.slice(text.length - Math.max(mark.length, ...begun))
  }

  #concealIn(text: string): string {
    let concealed = text
    for (const key of this.#keys) concealed = concealed.replaceAll(key, `${MARK}key>`)
    return concealed
  }

  /** What was marked is what it was; a mark that is not ours is left. */
  unmark<T>(value: T): T {
    return mapText(value, (text) =>
      text.replaceAll(MARKED, (found, mark: string | undefined) =>
        mark === undefined ? MARK : (this.#byMark.get(mark) ?? found),
      ),
    ) as T
  }

  /** Until nothing is left: what stands around a hidden path may be one again, as in `/srv/srv/ws/ws`. */
  #hideIn(text: string): string {
    let hidden = text
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const before = hidden
      for (const { pattern, shown } of this.#hidden)
        hidden = hidden.replace(pattern, (found, scheme: string | undefined, at: number, all: string) =>
          scheme !== undefined && shown === '.' ? rootUri(all[at + found.length]) : shown,
        )
      if (before === hidden) return hidden
    }
    return `[${text.length} characters are left out: paths of this machine are folded into each other there]`
  }

  /** The door of the log: whatever forgot to hide a path is stopped here. */
  assertAbsent(value: unknown): void {
    mapText(value, (text) => {
      for (const { pattern } of this.#hidden) {
        const at = text.search(pattern)
        if (at >= 0) throw new HostPathError(text.slice(Math.max(0, at - 20), at + 60).toWellFormed())
      }
      return text
    })
  }
}

interface HiddenPath {
  readonly path: string
  /** In whichever spelling. */
  readonly pattern: RegExp
  /** In the usual one, which can be restored. */
  readonly exact: RegExp
  readonly shown: string
  readonly mark: string
  /** Its path below the workspace; undefined: it has none. */
  readonly inside: string | undefined
}

/** As `/home/u/x`, whichever way it is spelled; undefined: it is no URI of a file, or none that can be read. */
function pathOfFileUri(uri: string): string | undefined {
  const spelled = /^file:(?:\/\/[^/]*)?(?<path>\/[^?#]*)/is.exec(uri)?.groups?.['path']
  if (spelled === undefined) return undefined
  try {
    return posix.normalize(decodeURIComponent(spelled)).replace(/^\/+/, '/')
  } catch {
    return undefined
  }
}

/** More than one is rare, and more than these are made to keep us busy: each is as long as the text. */
const MOST_ROUNDS = 8

const MARK = '<cordon:'
/** A shorter one is a word that stands everywhere (`none`), and nobody's secret. */
const SHORTEST_KEY = 8
/** A mark that stood in the content itself. */
const AGAIN = 'cordon:'
const MARKED = /<cordon:(?:cordon:|(?<mark>[^<>]{1,200})>)/g

/** How much of a text that goes on may be the beginning of a mark. */
export function unfinishedMark(text: string): string {
  const at = text.lastIndexOf('<')
  const rest = at < 0 ? '' : text.slice(at)
  const isOpen = MARK.startsWith(rest) || (rest.startsWith(MARK) && !rest.includes('>') && rest.length < 210)
  return isOpen ? rest : ''
}

function realHome(home: string): string[] {
  try {
    return [realpathSync.native(home)]
  } catch {
    return [] // it does not exist, as a service's home often does not
  }
}

/**
 * Only whole components: `/home/ann` is not in `/home/anna`. A one-component path, as `/root`, is also in `src/root.ts`. In
 * whichever spelling: `//`, `/./`, in URIs `%2F` and `%61`, in JSON `\/` and `\u002f`, in HTML `&#47;` name the same, also
 * where one is in the other (`%252F`).
 */
function patternOf(path: string): RegExp {
  // The first slash alone: those before it are a URI's own.
  const spelled = Array.from(path, (point, i) =>
    point !== '/' ? `(?:${literal(point)}|${encoded(point)})` : i === 0 ? SLASH : SLASH + MORE,
  )
  const before = isOneComponent(path) ? `(?:${FILE_SCHEME}|${NOT_INSIDE})` : `${FILE_SCHEME}?`
  return new RegExp(`${before}${spelled.join('')}${AT_END}`, 'gu')
}

/** `file:/x` and `file://host/x`, too. What stands for a path of this machine is no part of a URI: `file://~/x` is one of nothing. */
const FILE_SCHEME = '(?<scheme>\\b[Ff][Ii][Ll][Ee]:(?:\\/\\/[\\p{L}\\p{N}.-]{0,255})?)'

/** SPEC 6.3: rooted at the workspace. */
const rootUri = (next: string | undefined): string => (next === '/' ? 'file://' : 'file:///')

const exactly = (path: string): RegExp =>
  new RegExp(`${isOneComponent(path) ? NOT_INSIDE : ''}${Array.from(path, literal).join('')}${AT_END}`, 'gu')

const isOneComponent = (path: string): boolean => path.lastIndexOf('/') === 0

const NOT_INSIDE = '(?<![\\p{L}\\p{N}_.~-])'
const AT_END = '(?![\\p{L}\\p{N}_-])'

/** As often as it was escaped: a few times, so that a million of them cost a million steps. */
const SLASH = '(?:\\\\{0,7}\\/|\\\\{1,7}u002[Ff]|%(?:25){0,3}2[Ff]|&#(?:47|[xX]2[Ff]);)'
const MORE = `(?:\\.?${SLASH})*`

const literal = (point: string): string => point.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')

/** `é` is `%C3%A9`, in either case. */
const encoded = (point: string): string =>
  Array.from(Buffer.from(point), (byte) => {
    const hex = byte.toString(16).padStart(2, '0')
    return `%(?:25){0,3}${Array.from(hex, (digit) => (/\d/.test(digit) ? digit : `[${digit}${digit.toUpperCase()}]`)).join('')}`
  }).join('')

function mapText(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return value.map((item) => mapText(item, change))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), mapText(item, change)]),
  )
}

class HostPathError extends CordonError {
  readonly code = 'HOST_PATH'
  constructor(excerpt: string) {
    super(`an event must not hold a path of this machine, and this one does: ${quote(excerpt)}`)
  }
}
