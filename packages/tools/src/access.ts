import {
  below,
  type Capability,
  type CanonicalPath,
  type Context,
  DeniedError,
  evaluateFs,
  FsIndex,
  type FsRule,
  joinRel,
  type Location,
  locateEntry,
  locateObject,
  openAmbientRoot,
  type RelPath,
  ROOT,
  type Root,
} from '@cordon/policy'

/**
 * The questions that `Context.locate` does not answer in one: about many paths of one walk, about an entry
 * that is to be made, about what lies below a directory. The same rules, index and errors.
 */
export class Access {
  readonly root: Root
  readonly #context: Context
  /** Undefined: no file rules, so everything in the workspace is granted (SPEC 1.1). */
  readonly #index: FsIndex | undefined

  constructor(context: Context) {
    const rules = context.data.access?.fs ?? []
    this.root = openAmbientRoot(context.data.root)
    this.#context = context
    this.#index = rules.length > 0 ? new FsIndex(rules, this.root.foldCase) : undefined
  }

  get rules(): readonly FsRule[] {
    return this.#index?.rules ?? []
  }

  /** Where it is, without a question about capabilities: to see whether it exists. */
  place(path: string, want: Capability): Location {
    return locateObject(this.root, this.#index, path, want)
  }

  /** The same of the directory entry, for a name that something is moved to. */
  placeEntry(path: string): Location {
    return locateEntry(this.root, this.#index, path, 'update')
  }

  locate(path: string, want: Capability): Location {
    return this.#context.locate(path, want)
  }

  /** Throws as `Context.locate` does, for a path that is canonical already. */
  require(relative: RelPath, want: Capability): void {
    if (!this.#index) return
    const decision = evaluateFs(this.#index, relative, want)
    if (decision.kind === 'granted') return
    throw this.denied(relative, want, decision.kind === 'withheld' ? decision.rule : undefined)
  }

  denied(target: RelPath, capability: Capability, rule: FsRule | undefined, because?: string): DeniedError {
    return new DeniedError({
      capability,
      target,
      rule,
      grants: this.#index?.granting ?? [],
      ...(because === undefined ? {} : { because }),
    })
  }

  /**
   * SPEC 1.8: read, for an entry met while walking below a location. Its directory was reached without a
   * link, so its canonical path is known and no I/O is needed.
   */
  mayRead(relative: RelPath, absolute: string): boolean {
    const rule = this.#index?.governing(relative)
    if (!this.#index) return true
    if (!rule?.grants.has('read')) return false
    const boundary = rule.external ? rule.approvedTarget : this.root.path
    return boundary !== undefined && below(boundary, absolute, this.root.foldCase) !== undefined
  }

  /** Whether a link of this name is a mount (SPEC 3.1). */
  isMount(relative: RelPath): boolean {
    return this.#index?.at(relative)?.external === true
  }

  /** Whether a rule below a place is for a mount in it; inside a mount, rules for the objects themselves are external, too. */
  isMountBelow(
    rule: FsRule,
    { relative, absolute }: Pick<Location, 'relative'> & { absolute: string },
  ): boolean {
    const rest = relative === ROOT ? `/${rule.path}` : rule.path.slice(relative.length)
    return rule.external && rule.approvedTarget !== `${absolute}${rest}`
  }

  /** The rules written for something below this path, not for the path itself. */
  rulesBelow(relative: RelPath): FsRule[] {
    return this.rules.filter(
      (rule) => isStrictlyBelow(relative, rule.path) && this.#index?.at(rule.path) === rule,
    )
  }

  /** The rule that answers for a path; undefined when none does or there is no policy. */
  governing(relative: RelPath): FsRule | undefined {
    return this.#index?.governing(relative)
  }
}

const isStrictlyBelow = (base: RelPath, path: RelPath): boolean =>
  path !== base && path !== ROOT && (base === ROOT || path.startsWith(`${base}/`))

/** What the caller calls the directory that holds a location: `.` for the workspace, else the mount's name. */
export function anchorName({ relative, inside }: Pick<Location, 'relative' | 'inside'>): RelPath {
  if (relative === inside) return ROOT
  return inside === ROOT ? relative : ((relative.slice(0, -inside.length - 1) || ROOT) as RelPath)
}

/** Names below an anchor as the rules know them: the mount's name instead of its target. */
export class Names {
  readonly #prefix: RelPath
  readonly #anchor: CanonicalPath

  constructor(location: Location) {
    this.#anchor = location.anchor
    this.#prefix = anchorName(location)
  }

  relative(inside: RelPath): RelPath {
    return joinRel(this.#prefix, inside)
  }

  absolute(inside: RelPath): string {
    if (inside === ROOT) return this.#anchor
    return this.#anchor === '/' ? `/${inside}` : `${this.#anchor}/${inside}`
  }
}
