/** How a command line is started: as the machine is, or where a user namespace cannot be had. */
export interface Kernel {
  readonly kernel: string
  /** For `Place.shell`. */
  readonly script: string
}

/** A user namespace of our own that allows no more of them: what a container or a strict kernel looks like. */
export const WITHOUT_NAMESPACES =
  'exec unshare --user --map-root-user sh -c \'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"\' sh "$@"'

export const KERNELS: readonly Kernel[] = [
  { kernel: 'with namespaces', script: 'exec "$@"' },
  { kernel: 'without namespaces', script: WITHOUT_NAMESPACES },
]
