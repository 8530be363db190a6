import { lstatSync, readdirSync } from 'node:fs'

export interface Secrets {
  /** What nobody but its owner or group may read: the whole directory, or the file. */
  readonly secrets: readonly string[]
  /** Everything else in the directories that hold a secret, on the way down to it. */
  readonly around: readonly string[]
}

const READ_BY_ALL = 0o004
const ENTER_BY_ALL = 0o005

/**
 * SPEC 4.3: `/etc` without its secrets. A secret is what is not readable by everybody (shadow, gshadow, sudoers,
 * host keys, private TLS keys, and those nobody thought of): as root, or in a privileged group, permissions
 * alone would not protect it. The launcher has the same rule in walk.c, and a test compares the two.
 */
export function findSecrets(dir: string): Secrets {
  const secrets: string[] = []
  const around: string[] = []
  walk(dir, secrets, around)
  return { secrets, around: secrets.length === 0 ? [] : around }
}

/** Returns whether there was a secret, in which case `around` has the directory's other entries. */
function walk(dir: string, secrets: string[], around: string[]): boolean {
  const names = list(dir)
  if (names === 'closed') return secrets.push(dir) > 0
  let holds = false
  const open: string[] = []
  for (const name of names) {
    const path = `${dir}/${name}`
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats || stats.isSymbolicLink()) continue // a link gives no access of its own
    const needed = stats.isDirectory() ? ENTER_BY_ALL : READ_BY_ALL
    if ((stats.mode & needed) !== needed) {
      secrets.push(path)
      holds = true
    } else if (stats.isDirectory() && walk(path, secrets, around)) holds = true
    else open.push(path)
  }
  if (holds) around.push(...open)
  return holds
}

function list(dir: string): readonly string[] | 'closed' {
  try {
    return readdirSync(dir)
  } catch (error) {
    // Everybody may enter it, only not we: the program, who is the same user, might still know a name inside.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return 'closed'
    return [] // it vanished
  }
}
