import { type WatchedPath } from './types.ts'

/** What was found on this host before planning. Data, so that planning is pure; `openAmbientSurvey` makes it. */
export interface Survey {
  /** When it began, in milliseconds. */
  readonly at: number
  readonly root: NamedDirectory
  readonly home: NamedDirectory
  /** Other places that are private and empty inside: `/tmp`, `/var/tmp`, `/dev/shm`. */
  readonly scratch: readonly string[]
  readonly cwd: string
  /** The program, resolved; absolute. */
  readonly exe: string
  /** System directories of the baseline: bound, or repeated as the link they are. */
  readonly system: readonly SystemEntry[]
  /** Directories of configuration in the system: what in them is not for everybody is for no confined process (SPEC 4.3). */
  readonly configuration: readonly string[]
  /** Who looks for it where there are namespaces: the launcher at each start, or this survey for all starts of a plan. */
  readonly secretsFound: 'at-start' | 'now'
  /** The launcher's file for the names that directories have, if it may remember them (decision 0402). */
  readonly namesKept?: string | undefined
  /** What that is. Looked for when somebody asks: it takes longer than all the rest of the survey. */
  readonly secrets: readonly string[]
  /** Siblings of the secrets on the way down, for kernels where nothing can be mounted over them. */
  readonly aroundSecrets: readonly string[]
  /** The program's and its interpreters' installations, outside the system directories. */
  readonly runtime: readonly RuntimeEntry[]
  /** Device nodes that exist. */
  readonly devices: readonly string[]
  /** What each rule path is, keyed by absolute path; and the directory of each that is moved aside when it is new. */
  readonly kinds: ReadonlyMap<string, PathKind>
  /** Decision 0641: what runs that still go on found missing when they began, and may not be missing any more. */
  readonly watchedByOthers?: readonly WatchedPath[]
  /** SPEC 4.8: files that are copied in and out, canonical, and whether there is one yet. */
  readonly replaced?: readonly { readonly path: string; readonly there: boolean }[]
  /** How names are looked up here: the files that say it, where they really are, and this machine's own name. */
  readonly resolving: {
    readonly hostname: string
    readonly hosts: string | undefined
    readonly resolver: string | undefined
  }
  /** The links on the way to what rules grant: there inside, also where the directory that holds them is not. */
  readonly links: readonly LinkOnTheWay[]
}

export interface LinkOnTheWay {
  readonly path: string
  /** As the link says it. */
  readonly target: string
  /** Directories that it leads into and, by `..`, out of again. */
  readonly left: readonly string[]
}

export type PathKind = 'dir' | 'file' | 'link' | 'missing'

/** A directory under the name it was given and under its real one. */
export interface NamedDirectory {
  readonly given: string
  readonly canonical: string
}

export type SystemEntry =
  | { readonly kind: 'bind'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }

export type RuntimeEntry =
  | {
      readonly kind: 'bind'
      readonly path: string
      readonly is: 'dir' | 'file'
      /** Files of the workspace chose it: what in it is not for everybody is covered. */
      readonly publicOnly?: true
      /** It is part of Cordon: it can be read and started, whatever rules lie around it. */
      readonly own?: true
    }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
