import { type Item } from '../linux/items.ts'
import { rightsOf } from '../linux/landlock.ts'
import { allow, allowDevices, BASELINE_RIGHTS } from './baseline.ts'
import { encloses } from './paths.ts'
import { type HeldRegions } from './regions-held.ts'
import { type Survey } from './survey.ts'

/**
 * SPEC 4.3 without namespaces: the host's own tree, and Landlock grants on it. Nothing can be hidden, so where a
 * system directory holds secrets its other entries are granted one by one.
 */
export function allowOnly({ regions }: HeldRegions, survey: Survey): readonly Item[] {
  const hasSecrets = (path: string): boolean => survey.secrets.some((secret) => encloses(path, secret))
  return [
    ...survey.system.flatMap((entry) =>
      entry.kind === 'bind' && !hasSecrets(entry.path) ? [allow(entry.path, BASELINE_RIGHTS)] : [],
    ),
    ...survey.aroundSecrets.map((path) => allow(path, BASELINE_RIGHTS)),
    ...survey.runtime.flatMap((entry) =>
      entry.kind === 'bind' && !(entry.publicOnly && hasSecrets(entry.path))
        ? [allow(entry.path, BASELINE_RIGHTS)]
        : [],
    ),
    ...allowDevices(survey),
    ...regions.flatMap((region) =>
      region.grants.size > 0 && (region.kind === 'dir' || region.kind === 'file')
        ? [allow(region.path, rightsOf(region.grants))]
        : [],
    ),
  ]
}
