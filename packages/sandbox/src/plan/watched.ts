import { type HeldRegion } from './regions-held.ts'
import { encloses } from './paths.ts'
import { type Survey } from './survey.ts'
import { type WatchedPath } from './types.ts'

/** Missing rule paths that the process could bring into being against the rule. */
export const watchMissing = (regions: readonly HeldRegion[], survey: Survey): readonly WatchedPath[] =>
  regions.flatMap(({ path, kind, grants, inherited, rules }) => {
    const [rule] = rules
    if (!rule || kind !== 'missing' || grants.has('create') || !inherited.has('create')) return []
    const base = encloses(survey.root.canonical, path)
      ? survey.root.canonical
      : (regions.findLast((other) => other.kind === 'dir' && encloses(other.path, path))?.path ?? path)
    return [{ rule, base, path }]
  })
