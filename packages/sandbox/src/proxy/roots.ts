import { getCACertificates } from 'node:tls'

/** The PEM certificates that upstream TLS is verified against. */
export type Roots = () => readonly string[]

/** Uses the machine's trust; Node's own list where the machine has none. Read once, when first needed. */
export function openAmbientRoots(): Roots {
  let roots: readonly string[] | undefined
  return () => (roots ??= systemRoots())
}

function systemRoots(): readonly string[] {
  const system = getCACertificates('system')
  return system.length > 0 ? system : getCACertificates('bundled')
}
