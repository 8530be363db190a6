import { realpathSync } from 'node:fs'
import { CordonError, quote } from '@cordon/policy'
import { type Workspace } from '../place/workspace.ts'

/**
 * SPEC 6.1: no absolute host path in any event. Which paths a text may mean nobody can know in general; the two
 * that say who and where the user is are known: the workspace's root and the home directory.
 */
export class HostPaths {
  readonly #hidden: readonly { readonly pattern: RegExp; readonly shown: string }[]

  /** A home that is a link has two paths; both name the user. `root` is canonical already. */
  static of(
    { root, home }: Pick<Workspace, 'root' | 'home'>,
    places: readonly { readonly path: string; readonly shown: string }[] = [],
  ): HostPaths {
    return new HostPaths({ root, homes: [home, ...realHome(home)], places })
  }

  constructor({
    root,
    homes,
    places = [],
  }: {
    readonly root: string
    readonly homes: readonly string[]
    /** Others that have a name of their own in the workspace: the targets of mounts. */
    readonly places?: readonly { readonly path: string; readonly shown: string }[]
  }) {
    this.#hidden = [{ path: root, shown: '.' }, ...homes.map((path) => ({ path, shown: '~' })), ...places]
      .filter(({ path }) => path.length > 1)
      .sort((a, b) => b.path.length - a.path.length) // a root under the home first
      .map(({ path, shown }) => ({ pattern: patternOf(path), shown }))
  }

  /** For text that people, models and tools wrote: `/home/u/p/src/a.ts` becomes `./src/a.ts`. */
  hide<T>(value: T): T {
    return mapText(value, (text) => this.#hideIn(text)) as T
  }

  /** Until nothing is left: what stands behind a hidden path may be one again. It ends, because each gets shorter. */
  #hideIn(text: string): string {
    let hidden = text
    for (let before = ''; before !== hidden;) {
      before = hidden
      for (const { pattern, shown } of this.#hidden) hidden = hidden.replace(pattern, () => shown)
    }
    return hidden
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

function realHome(home: string): string[] {
  try {
    return [realpathSync.native(home)]
  } catch {
    return [] // it does not exist, as a service's home often does not
  }
}

/**
 * Only whole components: `/home/ann` is not in `/home/anna`. A one-component path, as `/root`, is also in `src/root.ts`. In
 * whichever spelling: `//`, `/./` and, in URIs, `%2F` and `%61` name the same.
 */
function patternOf(path: string): RegExp {
  const before = path.lastIndexOf('/') === 0 ? '(?<![\\p{L}\\p{N}_.~-])' : ''
  // The first slash alone: those before it are a URI's own.
  const spelled = Array.from(path, (point, i) =>
    point !== '/' ? `(?:${literal(point)}|${encoded(point)})` : i === 0 ? SLASH : SLASH + MORE,
  )
  return new RegExp(`${before}${spelled.join('')}(?![\\p{L}\\p{N}_-])`, 'gu')
}

const SLASH = '(?:\\/|%2[Ff])'
const MORE = '(?:\\.?(?:\\/|%2[Ff]))*'

const literal = (point: string): string => point.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&')

/** `é` is `%C3%A9`, in either case. */
const encoded = (point: string): string =>
  Array.from(Buffer.from(point), (byte) => {
    const hex = byte.toString(16).padStart(2, '0')
    return `%${Array.from(hex, (digit) => (/\d/.test(digit) ? digit : `[${digit}${digit.toUpperCase()}]`)).join('')}`
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
