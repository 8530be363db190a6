import { isAbsolute, join, resolve } from 'node:path'

/** What this package would otherwise ask the process for. The CLI reads it once and hands it in. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  readonly home: string
  /** Undefined where there are no user ids. */
  readonly uid: number | undefined
}

/** SPEC 6.1 `<data>/cordon`: what this user keeps, and nobody else reads. */
export function userDataDir({ env, platform, home }: Omit<Surroundings, 'uid'>): string {
  const fallback =
    platform === 'darwin' ? join(home, 'Library', 'Application Support') : join(home, '.local', 'share')
  return join(absoluteOr(env['XDG_DATA_HOME'], fallback), 'cordon')
}

/** Where Cordon installs the programs of MCP servers: in the user's own place, where nothing confined can write (SPEC 4.10). */
export const packagesDir = (around: Omit<Surroundings, 'uid'>): string =>
  join(userDataDir(around), 'mcp', 'packages')

/** The variable that says where the provider keeps its key, its database and wallets. Without it, in the data. */
export const PROVIDER_DIR = 'CORDON_PROVIDER_DIR'

/** Where approvals and keys are kept: nothing confined reads or writes there (SPEC 4.10). */
export function secretDirs(around: Omit<Surroundings, 'uid'>, cwd: string): readonly string[] {
  const provider = around.env[PROVIDER_DIR]
  return [userDataDir(around), ...(provider ? [resolve(cwd, provider)] : [])]
}

/** The user's global configuration (SPEC 2). Edited by hand, so also on macOS where people look for it. */
export function userConfigFile({ env, home }: Surroundings): string {
  return join(absoluteOr(env['XDG_CONFIG_HOME'], join(home, '.config')), 'cordon', 'config.toml')
}

/** What is kept to be faster, compiled code above all. bin/cordon.cjs knows the same place. */
export function userCacheDir({ env, home }: Surroundings): string {
  return join(absoluteOr(env['XDG_CACHE_HOME'], join(home, '.cache')), 'cordon')
}

/** The XDG specification: a relative path is invalid and ignored. */
const absoluteOr = (path: string | undefined, fallback: string): string =>
  path !== undefined && isAbsolute(path) ? path : fallback
