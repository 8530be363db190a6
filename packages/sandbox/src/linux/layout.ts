import { between } from '../plan/paths.ts'
import { type Item, type MountAttribute } from './items.ts'

/** What is mounted at a path of the new root while it is laid out. */
interface Mounted {
  readonly path: string
  /** On the launcher's tmpfs, where mount points are made; everywhere else they must exist. */
  readonly ours: boolean
  /** Nothing of the host shows here, nor below. */
  readonly covered?: boolean
  readonly attributes: readonly MountAttribute[]
}

/**
 * The new root, item by item, parents first. Knows which mount each path falls into, so that a mount point is
 * made where it can be and never on the host's disk (the launcher checks that again).
 */
export class Layout {
  readonly items: Item[] = []
  readonly #mounts = new Map<string, Mounted>([['/', { path: '/', ours: true, attributes: [] }]])
  readonly #made = new Set<string>()
  readonly #seals: string[] = []

  /** The innermost mount that holds the path. */
  holding(path: string): Mounted {
    for (let at = path; ;) {
      const found = this.#mounts.get(at)
      if (found) return found
      const slash = at.lastIndexOf('/')
      at = slash <= 0 ? '/' : at.slice(0, slash)
    }
  }

  dir(path: string): void {
    const base = this.holding(path)
    if (!base.ours) return
    for (const each of between(base.path, path)) this.#makeDir(each, base)
    if (path !== base.path) this.#makeDir(path, base)
  }

  link(path: string, target: string): void {
    const base = this.holding(path)
    if (!base.ours || this.#made.has(path)) return
    for (const each of between(base.path, path)) this.#makeDir(each, base)
    this.#made.add(path)
    this.items.push({ tag: 'link', path, target })
  }

  private(path: string, mode: number): void {
    this.dir(path)
    this.items.push({ tag: 'private', path, mode })
    this.#mounts.set(path, { path, ours: true, attributes: [] })
  }

  /** Part of the host's tree at its own path. */
  bind(path: string, kind: 'dir' | 'file', attributes: readonly MountAttribute[]): void {
    this.#prepare(path, kind)
    this.items.push({ tag: 'bind', path, attributes })
    this.#mounts.set(path, { path, ours: false, attributes })
  }

  /** Unreadable from here on; `bound-back` when a deeper path will be mounted inside it. */
  cover(path: string, inside: 'empty' | 'bound-back'): void {
    this.#prepare(path, 'dir')
    this.items.push({ tag: 'cover', path, inside })
    this.#mounts.set(path, { path, ours: inside === 'bound-back', covered: true, attributes: ['read-only'] })
    if (inside === 'bound-back') this.#seals.push(path)
  }

  /** What is there and not for everybody; the launcher finds it. Last is sooner done, in turn a later mount lies on top. */
  coverPrivate(path: string, when: 'in-turn' | 'last'): void {
    this.items.push({ tag: 'cover-private', path, when })
  }

  pinLink(path: string): void {
    const base = this.holding(path)
    if (base.ours || base.attributes.includes('read-only')) return
    this.#prepare(path, 'file')
    this.items.push({ tag: 'pin-link', path })
  }

  /** A file of the host that is copied in, and out in the end. Where the host's own directory is mounted, it is there already. */
  replaced(path: string, there: boolean, fd: number): void {
    const base = this.holding(path)
    if (!base.ours || base.covered || base.path === path) return
    for (const each of between(base.path, path)) this.#makeDir(each, base)
    this.items.push({ tag: 'replaced', path, fd, there })
  }

  countReplaced(): number {
    return this.items.filter(({ tag }) => tag === 'replaced').length
  }

  /** Neither it nor a directory above it can be moved; what may be done in it does not change. */
  pinDirectory(path: string): void {
    const base = this.holding(path)
    if (base.path === path || base.ours || base.attributes.includes('read-only')) return
    this.bind(path, 'dir', base.attributes)
  }

  special(item: Extract<Item, { tag: 'proc' | 'devpts' }>): void {
    this.dir(item.path)
    this.items.push(item)
    this.#mounts.set(item.path, { path: item.path, ours: false, attributes: [] })
    if (item.tag === 'proc') this.#seals.push(item.path)
  }

  readOnlyLater(path: string): void {
    this.#seals.push(path)
  }

  /** Innermost first, the root last: nothing more can be made afterwards. */
  seal(): readonly Item[] {
    for (const path of [...this.#seals.toReversed(), '/']) this.items.push({ tag: 'seal', path })
    return this.items
  }

  /**
   * On our tmpfs the mount point is made. On the host's tree it exists, but the directories above it are
   * pinned by mounts of their own: otherwise renaming one would carry the protected path to another name.
   */
  #prepare(path: string, kind: 'dir' | 'file'): void {
    const base = this.holding(path)
    if (base.path === path) return
    if (base.ours) {
      for (const each of between(base.path, path)) this.#makeDir(each, base)
      if (kind === 'dir') this.#makeDir(path, base)
      else if (!this.#made.has(path)) {
        this.#made.add(path)
        this.items.push({ tag: 'file', path })
      }
      return
    }
    if (base.attributes.includes('read-only')) return
    for (const each of between(base.path, path)) {
      this.items.push({ tag: 'bind', path: each, attributes: base.attributes })
      this.#mounts.set(each, { path: each, ours: false, attributes: base.attributes })
    }
  }

  #makeDir(path: string, base: Mounted): void {
    if (this.#made.has(path)) return
    this.#made.add(path)
    // Inside a cover everything can be walked through and nothing listed.
    this.items.push({ tag: 'dir', path, mode: base.attributes.includes('read-only') ? 0o111 : 0o755 })
  }
}
