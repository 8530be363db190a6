import { realpathSync } from 'node:fs'
import { below, type CanonicalPath, parseRelPath, show } from '@cordon/policy'
import { type Approvals, AttachError, trailOf } from '@cordon/workspace'
import type { Person } from '../approve/approve.ts'

export interface LinkTerms {
  readonly root: string
  /** Read only when a link leads out of the workspace. */
  readonly approvals: () => Promise<Pick<Approvals, 'lookup'>>
  /** SPEC 4.9; undefined: secrets are taken, too. */
  readonly isSecret: ((path: string) => boolean) | undefined
  /** Undefined: nobody can be asked, so the answer is no. */
  readonly person: Person | undefined
}

/**
 * SPEC 4.9: a person who names a file has chosen that file, and not what something confined has put a link to in its
 * place. `named` is absolute and as it was typed, `path` what it leads to; throws AttachError when that is not to be taken.
 */
export async function admitByLink(
  input: string,
  { named, path }: { readonly named: string; readonly path: string },
  terms: LinkTerms,
): Promise<void> {
  if (named === path) return
  const doubt = (await leadsOut(named, path, terms))
    ? `a link leads out of the workspace, to ${show(path)}`
    : terms.isSecret?.(path) && !terms.isSecret(named)
      ? `a link leads to ${show(path)}, which may be secret`
      : undefined
  if (doubt === undefined) return
  if (await terms.person?.confirms(`${show(input)}: ${doubt}. Attach that? [y/N] `)) return
  throw new AttachError(input, `${doubt}; name that path itself to attach it`)
}

/** Through a link of the workspace that is no approved mount (SPEC 3.2). */
async function leadsOut(named: string, path: string, { root, approvals }: LinkTerms): Promise<boolean> {
  if (below(root, path) !== undefined) return false
  const links = trailOf('/', named).flatMap((step) => {
    const link = step.is === 'link' ? below(root, step.path) : undefined
    return link === undefined ? [] : [{ link: parseRelPath(link), target: realOf(step.path) }]
  })
  // Its name lies inside the workspace and what it led to outside, and there is no link any more: somebody changes it right now.
  if (links.length === 0) return below(root, named) !== undefined
  const leaving = links.filter(({ target }) => target === undefined || below(root, target) === undefined)
  // What was followed before counts: it lies below what is approved, or the link led, or leads on, to another place.
  if (!leaving.some(({ target }) => target !== undefined && below(target, path) !== undefined)) return true
  const known = await approvals()
  return leaving.some(({ link, target }) => target === undefined || known.lookup(link, target) !== 'approved')
}

function realOf(path: string): CanonicalPath | undefined {
  try {
    return realpathSync.native(path) as CanonicalPath
  } catch {
    return undefined
  }
}
