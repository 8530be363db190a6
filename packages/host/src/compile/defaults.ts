import {
  CAPABILITIES,
  type EnvRule,
  type FsRule,
  type HostName,
  MINIMAL_ENV,
  type NetRule,
  ROOT,
} from '@cordon/policy'

/** The origin of a rule that nobody wrote. */
const BUILT_IN = 'built-in default'

/** SPEC 4.2: the whole workspace, to read, write and execute. */
export const DEFAULT_FS: readonly FsRule[] = [
  { path: ROOT, grants: new Set(CAPABILITIES), external: false, origin: BUILT_IN },
]

/** As `parseHost` spells it, which would compile its patterns at every start (decision 0296). */
const NOBODY = 'denied.invalid' as HostName

/** SPEC 1.1: "deny all of net", as a rule, because a declared axis is never an empty list. */
export const DEFAULT_NET: readonly NetRule[] = [{ host: NOBODY, allow: false, origin: BUILT_IN }]

export const DEFAULT_ENV: readonly EnvRule[] = MINIMAL_ENV.map((name) => ({
  name,
  read: true,
  origin: BUILT_IN,
}))
