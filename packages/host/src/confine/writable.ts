import { below, type CanonicalPath } from '@cordon/policy'
import { type Plan, writablePlaces } from '@cordon/sandbox'
import { noteDirectories, notedDirectories } from '@cordon/workspace'
import type { Confinement } from './program.ts'

/**
 * Decision 0662: where a process that was just started can write, for every later start: links and `#!` lines there may be its work.
 * Called after the start, while the launcher is at work: the command itself does not run yet.
 */
export function noteWritable(request: Confinement, { survey }: Pick<Plan, 'survey'>): void {
  const { policy, boundary = policy, outside = [], root } = request
  // A workspace that is the home, or lies around it, says nothing of the toolchains in it.
  const places = writablePlaces({ fs: boundary.fs, outside, root: root.path }).filter(
    (place) => below(place, survey.home.canonical) === undefined,
  )
  noteDirectories(WRITABLE, EVERYWHERE, places, userOf(request))
}

/** Where something confined could write before. */
export const writableBefore = (request: Confinement): readonly string[] =>
  notedDirectories(WRITABLE, EVERYWHERE, userOf(request))

const WRITABLE = 'writable'
const EVERYWHERE = '/' as CanonicalPath

/** No launcher is on another platform. */
const userOf = ({ env, home }: Confinement) => ({ env, home, platform: 'linux' }) as const
