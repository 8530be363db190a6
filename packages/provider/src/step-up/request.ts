/** What a person is shown, made by the provider from what it found (decision 0190). Needs no types of Node: the console has it. */
export interface ApprovalRequest {
  readonly path: string
  readonly destination?: string
  /** Every argument that nothing else here shows, by its name. */
  readonly also?: Readonly<Record<string, string>>
  readonly files: number
  readonly directories: number
  readonly bytes: number
  /** Of what is counted nothing but names and kinds is told. */
  readonly onlyNames?: true
  /** Of the files, so many are symbolic links: the link itself is touched, not what it leads to. */
  readonly links?: number
  /** The size of the file that is written, as it is now; undefined when none is there. */
  readonly bytesNow?: number
  /** Where the path, or the destination, is a file now, that file is not there afterwards. */
  readonly replaces?: true
  /** The first of them. */
  readonly paths: readonly string[]
  /** A letter for each of `paths`: a file, a directory, a link, or something else (`fdlo`). */
  readonly kinds?: string
  /** How many more would be touched, directories and names that are not UTF-8 included. */
  readonly pathsLeftOut?: number
  readonly diff?: string
  /** A content is written that a person is not shown, and why. */
  readonly unshown?: 'not text' | 'too large' | 'not what the edit expects'
  /** Characters of the diff that are too many to show. */
  readonly diffLeftOut?: number
}
