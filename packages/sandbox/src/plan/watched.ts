import { type Guard } from '@cordon/policy'
import { type HeldRegion } from './regions-held.ts'
import { encloses } from './paths.ts'
import { type Survey } from './survey.ts'
import { type WatchedPath } from './types.ts'

/** Missing rule paths that the process could bring into being against the rule. */
export function watchMissing(regions: readonly HeldRegion[], survey: Survey): readonly WatchedPath[] {
  const watched = regions.flatMap((region) => {
    const { path, kind, grants, inherited, rules } = region
    if (rules.length === 0 || kind !== 'missing' || grants.has('create') || !inherited.has('create'))
      return []
    const base = encloses(survey.root.canonical, path)
      ? survey.root.canonical
      : (regions.findLast((other) => other.kind === 'dir' && encloses(other.path, path))?.path ?? path)
    return [{ base, path, guard: whenMade(region) }]
  })
  const told = watched.filter(({ guard }) => guard === 'told')
  return [...watched.filter(({ guard }) => guard === 'moved-aside'), ...told.slice(0, MOST_TOLD)]
}

/** SPEC 4.10: so many are looked at. */
const MOST_TOLD = 1000

/** What a person denied is moved aside; of what is guarded the guard says. */
export const whenMade = ({ rules }: Pick<HeldRegion, 'rules'>): Guard =>
  rules.every(({ guard }) => guard === 'told') ? 'told' : 'moved-aside'

/** Whether nobody wrote the rules of this region. */
export const isGuard = ({ rules }: Pick<HeldRegion, 'rules'>): boolean =>
  rules.length > 0 && rules.every(({ guard }) => guard !== undefined)
