import { formatOrigin, type LoadedConfig } from '@cordon/config'
import { CordonError } from '@cordon/policy'
import { PLAIN } from './subject.ts'

/**
 * A checked-out repository brings its own configuration, and any text can be a TOML key. What a person did not ask
 * for by name must not be changed by it, so nobody but our flags may speak of the default's profile (decision 0093).
 */
export function refuseForeignDefault({ explain }: LoadedConfig): void {
  for (const path of KEYS) {
    const found = explain(['profiles', PLAIN, ...path])
    const origins = found ? [found, ...(found.elements ?? [])].map(({ origin }) => origin) : []
    const foreign = origins.find(({ layer }) => layer !== 'flags')
    if (foreign) throw new ReservedNameError(`${formatOrigin(foreign)}: ${OURS}`)
  }
}

/** What is written stays: a name that would be mistaken for a word of ours, or that is one, is refused before that. */
export function refuseReserved({ config }: LoadedConfig, before: readonly string[]): void {
  const taken = Object.keys(config.profiles).find((name) => TAKEN.has(name) && !before.includes(name))
  if (taken === undefined) return
  throw new ReservedNameError(
    taken === PLAIN
      ? undefined
      : `a profile cannot be named "${taken}": \`cordon why ${taken}\` is about a plain \`cordon run\`; give yours another name`,
  )
}

const TAKEN: ReadonlySet<string> = new Set([PLAIN, 'run'])

const KEYS = [...['fs', 'net', 'env', 'commands'].map((axis) => ['access', axis]), []]

class ReservedNameError extends CordonError {
  readonly code = 'RESERVED_NAME'
  constructor(message = OURS) {
    super(message)
  }
}

const OURS = `the profile "${PLAIN}" is what the command has without --profile; give yours another name`
