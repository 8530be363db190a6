import { isFields, type Location, show } from '@cordon/policy'
import { ToolError } from './report.ts'
import { isStill, type Seen, type Witness, witnessOf } from './seen.ts'

/** A path of a call as a person was shown it, before they said yes (decision 0408). */
export interface ShownPath {
  /** As the call writes it. */
  readonly path: string
  /** Where it led: its canonical name, with the mount's name instead of its target. */
  readonly place: string
  /** What was there. Undefined: the call does not change it. `any`: nobody was asked, and only its place was decided about. */
  readonly was?: Witness | 'any'
}

/**
 * SPEC 4.12: what a person said yes to is what is done. The host says what it showed them, beside the arguments, where no
 * model can write it; the tool compares that with the very location it acts on. Nobody was asked: nothing is compared.
 */
export class AsShown {
  readonly #paths: readonly ShownPath[] | undefined

  constructor(paths: readonly ShownPath[] | undefined) {
    this.#paths = paths
  }

  /** For a tool that only reads. */
  requirePlace(path: string, { relative }: Pick<Location, 'relative'>): void {
    const shown = this.#shown(path)
    if (!shown || shown.place === relative) return
    throw new ToolError(
      `${show(path)} was shown as ${show(shown.place)} and leads to ${show(relative)} by now; nothing was done`,
    )
  }

  /** `look`: at this location, links not followed. */
  require(path: string, location: Pick<Location, 'relative'>, look: () => Seen): void {
    this.requirePlace(path, location)
    const shown = this.#shown(path)
    if (!shown || shown.was === 'any' || (shown.was && isStill(shown.was, witnessOf(look())))) return
    throw new ToolError(`${show(location.relative)} was changed since it was shown; nothing was done`)
  }

  #shown(path: string): ShownPath | undefined {
    if (!this.#paths) return undefined
    const shown = this.#paths.find((each) => each.path === path)
    if (!shown) throw new ToolError(`${show(path)} was not shown; nothing was done`)
    return shown
  }
}

/** As it comes from the host. Whatever else it is, it is nothing that was shown. */
export const parseShown = (value: unknown): AsShown =>
  new AsShown(value === undefined ? undefined : Array.isArray(value) ? value.filter(isShownPath) : [])

const isShownPath = (value: unknown): value is ShownPath =>
  isFields(value) &&
  typeof value['path'] === 'string' &&
  typeof value['place'] === 'string' &&
  (value['was'] === undefined || value['was'] === 'any' || isFields(value['was']))
