import {
  type Anchor,
  type EntryKind,
  FileError,
  IGNORE_FILES,
  IgnoreFiles,
  isTempName,
  type OpenFile,
  type WalkEntry,
} from '@cordon/files'
import {
  type CanonicalPath,
  CordonError,
  joinRel,
  type Location,
  type RelPath,
  ROOT,
  splitEntry,
} from '@cordon/policy'
import { type Access, Names } from '../access.ts'
import { type Anchors } from '../anchors.ts'
import { isJournalName } from '../modify/journal.ts'
import { type GlobFilter } from './glob-filter.ts'
import { Unseen } from './unseen.ts'

export interface WalkChoice {
  readonly globs: GlobFilter
  /** Levels below the start; 1 is the directory itself. */
  readonly depth: number
  readonly hidden: 'skip' | 'show'
  readonly ignoreFiles: 'respect' | 'disregard'
  /** SPEC 4.9: what is not entered, and not met. */
  readonly isSecret?: SecretAt
}

/** Of an entry by the two names it has: in the workspace, and on this host. */
export type SecretAt = (name: RelPath, absolute: string) => boolean

/** One entry that may be shown. `name` is relative to the workspace, as rules and people write it. */
export interface Met {
  readonly name: RelPath
  /** Where it is, for somebody who wants to reach it by a handle of their own. */
  readonly anchor: CanonicalPath
  readonly inside: RelPath
  readonly kind: EntryKind
  /** Only until the walk goes on. */
  readonly open: () => OpenFile
}

/**
 * Everything below a location that the policy lets the caller see, each directory and file read-checked
 * one by one (SPEC 1.8). What is left out is counted in `unseen`.
 */
export class WorkspaceWalk {
  readonly unseen: Unseen = new Unseen()
  readonly #access: Access
  readonly #anchors: Anchors
  readonly #choice: WalkChoice
  readonly #ignores = new IgnoreFiles()

  constructor(access: Access, anchors: Anchors, choice: WalkChoice) {
    this.#access = access
    this.#anchors = anchors
    this.#choice = choice
  }

  *below(start: Location): Generator<Met> {
    yield* this.#walk(start, start.relative)
  }

  *#walk(start: Location, origin: RelPath): Generator<Met> {
    const anchor = this.#anchors.of(start)
    const names = new Names(start)
    this.#loadAbove(anchor, start.inside, names)
    const reopened: RelPath[] = []
    const enter = (inside: RelPath): boolean => this.#enters(anchor, names, inside, origin, reopened)
    const unreadable = (error: FileError): void => this.unseen.unreadable(error)
    for (const entry of anchor.walk(start.inside, { enter, unreadable })) {
      const met = this.#meet(entry, names, origin, start.anchor)
      if (met) yield met
    }
    // A readable place in a directory that may not be listed: the rule that grants it is what names it.
    for (const path of reopened) yield* this.#reopen(path, origin)
  }

  *#reopen(path: RelPath, origin: RelPath): Generator<Met> {
    try {
      const location = this.#access.locate(path, 'read')
      const anchor = this.#anchors.of(location)
      const { kind } = anchor.stat(location.inside)
      if (kind === 'directory') yield* this.#walk(location, origin)
      else if (
        this.#choice.globs.accepts(belowOrigin(location.relative, origin)) &&
        !this.#passesOver(location.relative, location.absolute)
      )
        yield {
          name: location.relative,
          anchor: location.anchor,
          inside: location.inside,
          kind,
          open: () => anchor.open(location.inside),
        }
    } catch (error) {
      if (!(error instanceof CordonError)) throw error
      if (!(error instanceof FileError && error.code === 'FILE_NOT_FOUND')) this.unseen.policy++
    }
  }

  /** Whether the entry is to be shown; counts it if not. */
  #meet(entry: WalkEntry, names: Names, origin: RelPath, anchor: CanonicalPath): Met | undefined {
    if (entry.path === undefined) return this.unseen.count('notUtf8')
    const own = baseName(entry.path)
    if (isTempName(own) || isJournalName(own)) return undefined
    const name = names.relative(entry.path)
    const shown = belowOrigin(name, origin)
    if (own.startsWith('.') && this.#choice.hidden === 'skip') return this.unseen.count('hidden')
    if (this.#isIgnored(entry.path, entry.kind === 'directory' ? 'directory' : 'other'))
      return this.unseen.count('ignored')
    if (entry.kind === 'link' && this.#access.isMount(name)) this.unseen.mounts.push(name)
    else if (!this.#access.mayRead(name, names.absolute(entry.path))) {
      if (entry.kind !== 'directory') this.unseen.policy++ // a directory is counted when it is not entered
      return undefined
    }
    if (entry.kind === 'directory' ? this.#choice.globs.closes(shown) : !this.#choice.globs.accepts(shown))
      return undefined
    // A directory is passed over when it is not entered.
    if (entry.kind !== 'directory' && this.#passesOver(name, names.absolute(entry.path))) return undefined
    return { name, anchor, inside: entry.path, kind: entry.kind, open: () => entry.open() }
  }

  #enters(anchor: Anchor, names: Names, inside: RelPath, origin: RelPath, reopened: RelPath[]): boolean {
    const name = names.relative(inside)
    const shown = belowOrigin(name, origin)
    if (shown.split('/').length >= this.#choice.depth) return false
    if (baseName(inside).startsWith('.') && this.#choice.hidden === 'skip') return false
    if (this.#isIgnored(inside, 'directory') || this.#choice.globs.closes(shown)) return false
    const absolute = names.absolute(inside)
    // A mount's target may contain the workspace; its files have their own names there, and their own rules.
    const isWorkspace = absolute === this.#access.root.path && name !== ROOT
    if (isWorkspace || !this.#access.mayRead(name, absolute)) {
      this.unseen.policy++
      const closed = { relative: name, absolute }
      for (const rule of isWorkspace ? [] : this.#access.rulesBelow(name))
        if (rule.grants.has('read') && !this.#access.isMountBelow(rule, closed)) reopened.push(rule.path)
      return false
    }
    if (this.#passesOver(name, absolute)) return false
    this.#load(anchor, inside, names)
    return true
  }

  #passesOver(name: RelPath, absolute: string): boolean {
    const isSecret = this.#choice.isSecret?.(name, absolute) === true
    if (isSecret) this.unseen.secret.push(name)
    return isSecret
  }

  #isIgnored(inside: RelPath, kind: 'directory' | 'other'): boolean {
    if (this.#choice.ignoreFiles === 'disregard') return false
    // git's own directory is in no ignore file, and nobody wants it searched.
    if (kind === 'directory' && baseName(inside) === '.git') return true
    return this.#ignores.ignores(inside, kind)
  }

  /** The ignore files on the way from the anchor down to the start speak about it, too. */
  #loadAbove(anchor: Anchor, start: RelPath, names: Names): void {
    const chain: RelPath[] = []
    for (let at: RelPath | undefined = start; at !== undefined; at = splitEntry(at)?.parent) chain.push(at)
    for (const directory of chain.toReversed()) this.#load(anchor, directory, names)
  }

  #load(anchor: Anchor, directory: RelPath, names: Names): void {
    if (this.#choice.ignoreFiles === 'disregard') return
    const texts = IGNORE_FILES.map((file) =>
      this.#readIgnore(anchor, joinRel(directory, file as RelPath), names),
    )
    this.#ignores.add(directory, texts)
  }

  #readIgnore(anchor: Anchor, file: RelPath, names: Names): string {
    if (!this.#access.mayRead(names.relative(file), names.absolute(file))) return ''
    try {
      return anchor.readFile(file, { limit: 1024 * 1024 }).toString('utf8')
    } catch (error) {
      if (error instanceof FileError) return ''
      throw error
    }
  }
}

const baseName = (path: RelPath): string => path.slice(path.lastIndexOf('/') + 1)

const belowOrigin = (name: RelPath, origin: RelPath): string =>
  origin === ROOT ? name : name.slice(origin.length + 1)
