import { type FileError } from '@cordon/files'
import { type RelPath, show } from '@cordon/policy'
import { count } from '../content.ts'

/** SPEC 1.8: what a walk left out and why, so that absence is not taken for emptiness. */
export class Unseen {
  /** Files and whole directories that the policy does not let the caller read. */
  policy = 0
  ignored = 0
  hidden = 0
  notUtf8 = 0
  tooDeep = 0
  noPermission = 0
  readonly mounts: RelPath[] = []
  /** SPEC 4.9: files and whole directories that may be secret. Named by where they are, and never by what they hold. */
  readonly secret: RelPath[] = []

  /** Returns undefined, so that a walk can count and pass over in one statement. */
  count(what: 'ignored' | 'hidden' | 'notUtf8'): undefined {
    this[what]++
    return undefined
  }

  unreadable(error: FileError): void {
    if (error.code === 'FILE_TOO_DEEP') this.tooDeep++
    else this.noPermission++
  }

  /** One sentence each; nothing for what did not happen. */
  describe(): string[] {
    const { policy, ignored, hidden, notUtf8, tooDeep, noPermission, mounts, secret } = this
    const sentences: string[] = []
    if (policy > 0) sentences.push(`${count(policy, 'entry', 'entries')} hidden by the access policy.`)
    if (ignored > 0) sentences.push(`${count(ignored, 'entry', 'entries')} left out by ignore files.`)
    if (hidden > 0) sentences.push(`${count(hidden, 'dotfile')} left out (hidden = true shows them).`)
    if (mounts.length > 0)
      sentences.push(
        `Not entered: ${mounts.slice(0, 8).map(show).join(', ')} (a mount; name it as the path to look into it).`,
      )
    if (secret.length > 0) sentences.push(notSearched(secret))
    if (notUtf8 > 0) sentences.push(`${count(notUtf8, 'name')} left out: not valid UTF-8.`)
    if (tooDeep > 0) sentences.push(`${count(tooDeep, 'directory', 'directories')} left out: too deep.`)
    if (noPermission > 0)
      sentences.push(`${count(noPermission, 'directory', 'directories')} could not be read.`)
    return sentences
  }
}

/** One more sentence about a file that was named and is not searched either. */
export function notSearched(names: readonly RelPath[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : ''
  const shown = `${names.slice(0, MOST_NAMES).map(show).join(', ')}${more}`
  return `Not searched, because it may be secret: ${shown} (a person is asked about a call that names it as its path).`
}

const MOST_NAMES = 10
