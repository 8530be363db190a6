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
    if (foreign) throw new ReservedNameError(formatOrigin(foreign))
  }
}

const KEYS = [...['fs', 'net', 'env', 'commands'].map((axis) => ['access', axis]), []]

class ReservedNameError extends CordonError {
  readonly code = 'RESERVED_NAME'
  constructor(origin: string) {
    super(
      `${origin}: the profile "${PLAIN}" is what the command has without --profile; give yours another name`,
    )
  }
}
