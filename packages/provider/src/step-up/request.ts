/** What a person is shown, made by the provider from what it found (decision 0190). Needs no types of Node: the console has it. */
export interface ApprovalRequest {
  readonly path: string
  readonly destination?: string
  readonly files: number
  readonly directories: number
  readonly bytes: number
  /** Where the path, or the destination, is a file now, that file is not there afterwards. */
  readonly replaces?: true
  /** The first of them. */
  readonly paths: readonly string[]
  /** How many more would be touched, directories and names that are not UTF-8 included. */
  readonly pathsLeftOut?: number
  readonly diff?: string
  /** A content is written that a person is not shown, and why. */
  readonly unshown?: 'not text' | 'too large' | 'not what the edit expects'
  /** Characters of the diff that are too many to show. */
  readonly diffLeftOut?: number
}
