import { type Capability, type Meant, meantBy, show } from '@cordon/policy'
import { isStill, type ShownPath, witnessOf } from '@cordon/tools'
import { WRITING } from '../compile/names.ts'
import { touchedBy } from './touched.ts'
import type { FilesNow } from './files-now.ts'
import { isWord, type WordPath } from './word-paths.ts'

/** Decision 0408: what a person is shown a call of a shipped tool against. Of what is only read, where it is. */
export const shownPaths = (tool: string, args: unknown, files: FilesNow): readonly ShownPath[] =>
  touchedBy(tool, args).flatMap((touched) => {
    const file = files(touched.path, takenAs(tool, touched))
    if (!file) return [] // the tool could not reach it either
    const seen = touched.want === 'read' ? undefined : file.look()
    return [{ path: touched.path, place: file.path, ...(seen ? { was: witnessOf(seen) } : {}) }]
  })

/**
 * Where a call of a shipped tool would do what it does: what is decided about without asking anybody, by path or because nothing
 * of it is secret, is held to that (decision 0408). `changes`: undefined where it changes nothing, and no file is looked for.
 */
export function placesOf(
  tool: string,
  args: unknown,
  files: FilesNow,
  what: 'all' | 'changes',
): readonly ShownPath[] | undefined {
  const touched = touchedBy(tool, args)
  if (what === 'changes' && touched.every(({ want }) => want === 'read')) return undefined
  return touched.flatMap((each) => {
    const file = files(each.path, takenAs(tool, each))
    return file ? [{ path: each.path, place: file.path, was: 'any' as const }] : []
  })
}

/** What is deleted or moved is an entry, and so is the name that it gets: a link is not followed there. */
export const takenAs = (tool: string, { want }: { readonly want: Capability | 'write' }): Meant =>
  tool === 'fs_move_file' && (want === 'write' || WRITING.has(want))
    ? 'entry'
    : meantBy(want === 'write' ? 'update' : want)

/** What is not as it was shown any more, in words; none: all of it is. Only of paths that are in both. */
export function changedSince(shown: readonly ShownPath[], now: readonly ShownPath[]): readonly string[] {
  const current = new Map(now.map((each) => [each.path, each]))
  const changes = shown.flatMap(({ path, place, was }) => {
    const same = current.get(path)
    if (!same) return []
    if (same.place !== place) return [`${show(path)} leads to ${show(same.place)} now`]
    return howChanged(place, was, same.was)
  })
  return [...new Set(changes)]
}

function howChanged(place: string, was: ShownPath['was'], now: ShownPath['was']): string[] {
  if (was === 'any' || now === 'any') return []
  if (was === now || (was && now && isStill(was, now))) return []
  if (was?.kind === 'missing') return [`${show(place)} is there now`]
  return [`${show(place)} ${now?.kind === 'missing' ? 'is gone' : 'was changed'} after it was shown`]
}

/**
 * Decision 0456: each path of a call that is not written by the one name of what it leads to, by a link or by its spelling
 * (`..`, `.`, doubled slashes): what a person reads is one place, and what is touched may be another. Also one with blanks that
 * nobody sees, so that it is read in quotation marks.
 */
export function leadsIn(paths: readonly (ShownPath | WordPath)[]): readonly Lead[] {
  const leads = paths.flatMap((each): readonly Lead[] => {
    const { path } = each
    const places = isWord(each) ? [...each.leads, ...each.names.filter(hasUnseenBlanks)] : [each.place]
    const isPlain = (place: string): boolean => place === path && !hasUnseenBlanks(path)
    return places.filter((place) => !isPlain(place)).map((place) => ({ path, place }))
  })
  return [...new Map(leads.map((lead) => [JSON.stringify([lead.path, lead.place]), lead])).values()]
}

/** At an end of a name, or several in a row. */
const hasUnseenBlanks = (path: string): boolean => /(?:^|[ /]) | (?:\/|$)/.test(path)

export type Lead = Pick<ShownPath, 'path' | 'place'>
