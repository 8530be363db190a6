import { symlinkSync } from 'node:fs'
import { win32 } from 'node:path'
import type { Anchor } from '@cordon/files'
import { type CanonicalPath, CordonError, type RelPath, show } from '@cordon/policy'
import type { MountTarget } from './place.ts'

/** SPEC 3.5: the platform boundary of mounts: how a link to a place outside is made. It never replaces anything (decision 0086). */
export interface Linker {
  link(name: RelPath, target: MountTarget): void
}

/** Anchored, so that a directory swapped for a link meanwhile cannot make it land elsewhere (SPEC 6.4). */
export const posixLinker = (anchor: Pick<Anchor, 'symlink'>): Linker => ({
  link: (name, { target }) => anchor.symlink(name, target),
})

/** What the Windows linker asks of the filesystem. */
export type MakeLink = (target: string, path: string, type: 'file' | 'dir' | 'junction') => void

/**
 * Making symbolic links needs a privilege there. Without it a junction does for a directory; for a file there is
 * nothing, and the error says what to do. Both look like links to Node, and are unlinked as such.
 */
export const win32Linker = (root: string, makeLink: MakeLink = symlinkSync): Linker => ({
  link: (name, { target, kind }) => {
    const path = win32.join(root, name)
    try {
      makeLink(target, path, kind === 'directory' ? 'dir' : 'file')
    } catch (error) {
      if (!isPrivilegeNotHeld(error)) throw error
      if (kind === 'file') throw new LinkPrivilegeError(target)
      makeLink(target, path, 'junction') // absolute target, as junctions need it
    }
  },
})

/** libuv reports ERROR_PRIVILEGE_NOT_HELD as EPERM. */
const isPrivilegeNotHeld = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EPERM'

class LinkPrivilegeError extends CordonError {
  readonly code = 'LINK_PRIVILEGE'
  constructor(target: CanonicalPath) {
    super(
      `Windows does not let you link to the file ${show(target)}\n` +
        '  fix: turn on Developer Mode or run as administrator, or mount the directory that holds the file',
    )
  }
}

export const linkerFor = (platform: string, anchor: Pick<Anchor, 'symlink'>, root: string): Linker =>
  platform === 'win32' ? win32Linker(root) : posixLinker(anchor)
