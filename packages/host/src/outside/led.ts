import { lstatSync } from 'node:fs'
import type { OutsideConfig } from '@cordon/config'
import { type CanonicalPath, CordonError, show } from '@cordon/policy'
import { isNews, type Step, type Surroundings, trailOf, wasNoted } from '@cordon/workspace'
import type { Person } from '../approve/approve.ts'
import { absolutePath, type OutsideWorld, PlaceError, placeOrigin, refuseMadeMeanwhile } from './place.ts'

/** A place of a profile whose name is not where it is. */
export interface LedPlace {
  /** The line of the profile. */
  readonly origin: string
  /** As written, made absolute, and as it really is. */
  readonly named: string
  readonly path: string
}

/** Decision 0540. */
class NotFollowedError extends CordonError {
  readonly code = 'FLAG'
  constructor(place: LedPlace, why: string) {
    super(`${describeLed(place)}; ${why}`)
  }
}

/** Of the places of a profile, those that links lead to. Nothing is made or granted yet. */
export const ledPlaces = (places: readonly OutsideConfig[], world: OutsideWorld): readonly LedPlace[] =>
  places.flatMap((place) => {
    const named = absolutePath(place.path, world)
    const end = trailOf('/', named).at(-1)
    if (!end || end.path === named || !isWanted(place, end)) return []
    const origin = placeOrigin(place)
    refuseMadeMeanwhile(named, origin, world)
    return [{ origin, named, path: end.path }]
  })

/** What is missing is neither granted nor made, unless it is a directory, or a file that is written back. */
const isWanted = ({ path, grants, replace }: OutsideConfig, end: Step): boolean =>
  replace || (grants.size > 0 && (end.is !== 'missing' || path.endsWith('/')))

/** Nobody was asked about where it leads by now. */
export function refuseLedElsewhere(
  found: Pick<LedPlace, 'origin' | 'named' | 'path'>,
  led: readonly LedPlace[],
): void {
  const asked = led.find(({ named }) => named === found.named)?.path ?? found.named
  if (found.path !== asked) throw new PlaceError(found.origin, 'it leads elsewhere by now')
}

/**
 * Issue 11: what something confined wrote widens nothing until a person has seen it. A profile names a place, and a link on the
 * way may be the work of a command before, so where it leads is asked about, once for each link and target. Links of
 * another user, as above the home, are no command's work. Throws where nobody says yes.
 */
export async function confirmLed(
  places: readonly LedPlace[],
  surroundings: Surroundings,
  person: Person | undefined,
): Promise<void> {
  for (const place of unconfirmed(places, surroundings)) {
    if (!person)
      throw new NotFollowedError(
        place,
        'nobody has said yes to that\n  fix: start it once at a terminal and say yes, or name in the profile what you mean',
      )
    const question = `${describeLed(place)}. A command that ran before may have made that link.\n\nGrant what it leads to, now and later? [y/N] `
    if (!(await person.confirms(question))) throw new NotFollowedError(place, 'so nothing was started')
    isNews(LED, noteOf(place), surroundings)
  }
}

/** What `confirmLed` would ask about. */
export const unconfirmed = (places: readonly LedPlace[], surroundings: Surroundings): readonly LedPlace[] =>
  places.filter(
    (place) => isOwnLinkOn(place.named, surroundings) && !wasNoted(LED, noteOf(place), surroundings),
  )

export const describeLed = ({ origin, path }: LedPlace): string =>
  `${show(origin)} leads to ${show(path)} by a link`

const LED = 'led'

const noteOf = ({ named, path }: LedPlace): CanonicalPath => `${named} leads to ${path}` as CanonicalPath

const isOwnLinkOn = (named: string, { uid }: Surroundings): boolean =>
  trailOf('/', named).some(({ is, path }) => is === 'link' && lstatSync(path).uid === uid)
