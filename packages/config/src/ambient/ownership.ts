import { closeSync, constants, existsSync, fstatSync, openSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { below, show } from '@cordon/policy'

/** Who else could have changed something, by its `stat`; undefined: nobody. The caller knows which users are trusted. */
export type StrangerIn = (stat: Pick<Stats, 'uid' | 'gid' | 'mode'>) => Stranger | undefined

type Stranger =
  | { readonly kind: 'owner'; readonly uid: number }
  | { readonly kind: 'group'; readonly gid: number }
  | { readonly kind: 'everybody' }

/** A file or directory that is in the hands of others. */
export interface Handed {
  readonly path: string
  readonly stranger: Stranger
}

export interface Opened {
  readonly fd: number
  readonly onTheWay: Handed | undefined
}

export function handedOver(path: string, stat: Stats, strangerIn: StrangerIn): Handed | undefined {
  const stranger = strangerIn(stat)
  return stranger && { path, stranger }
}

/**
 * Opens a file and looks at every directory from `top` down to it (SPEC 2.1). Follows no link below `top`. On Linux each
 * step starts from the directory that was looked at, not from its name, so that nobody can exchange it meanwhile.
 */
export function openBelow(top: string, file: string, strangerIn: StrangerIn): Opened {
  const names = (below(top, file) ?? file).split('/')
  const last = names.pop()!
  const { flags, base } = existsSync(HANDLES) ? BY_HANDLE : BY_NAME
  let path = top
  let here = openSync(top, flags)
  try {
    let onTheWay = handedOver(path, fstatSync(here), strangerIn)
    for (const name of names) {
      const next = openSync(`${base(here, path)}/${name}`, flags)
      closeSync(here)
      here = next
      path = join(path, name)
      onTheWay ??= handedOver(path, fstatSync(here), strangerIn)
    }
    return { fd: openSync(`${base(here, path)}/${last}`, FILE), onTheWay }
  } finally {
    closeSync(here)
  }
}

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants
const FILE = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

/** Only Linux has it, and there O_PATH needs no right to list the directory. */
const HANDLES = '/proc/self/fd'
const O_PATH = 0o10000000
const BY_HANDLE = {
  flags: O_PATH | O_DIRECTORY | O_NOFOLLOW,
  base: (fd: number): string => `${HANDLES}/${fd}`,
}
const BY_NAME = {
  flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
  base: (_: number, path: string): string => path,
}

/** What is wrong, and what to do: for `path` is one of the directories above `file`, or it itself. */
export function describeStranger({ path, stranger }: Handed, file: string): readonly [string, string] {
  const what = path === file ? 'it' : `the directory ${show(path)} above it`
  switch (stranger.kind) {
    case 'owner':
      return [
        `${what} belongs to the user with id ${stranger.uid}, who could write anything there`,
        `if its content is yours: chown "$(id -un)" ${show(path)}; or trust that user: CORDON_TRUST_UID=${stranger.uid}`,
      ]
    case 'group':
      return [
        `${what} can be written by the group with id ${stranger.gid}, which is not yours alone`,
        `if its content is yours: chmod g-w ${show(path)}`,
      ]
    case 'everybody':
      return [`${what} can be written by every user`, `if its content is yours: chmod o-w ${show(path)}`]
  }
}
