import { lstatSync, readdirSync } from 'node:fs'

export interface Secrets {
  /** What nobody but its owner or group may read: the whole directory, or the file. */
  readonly secrets: readonly string[]
  /** Everything else in the directories that hold a secret, on the way down to it. */
  readonly around: readonly string[]
}

interface Found extends Secrets {
  /** Every directory looked into, with its time of change: a new entry changes it. */
  readonly seen: ReadonlyMap<string, number>
}

const READ_BY_ALL = 0o004
const ENTER_BY_ALL = 0o005

const remembered = new Map<string, Found>()

/**
 * SPEC 4.3: `/etc` without its secrets. A secret is what is not readable by everybody (shadow, gshadow, sudoers,
 * host keys, private TLS keys, and those nobody thought of): as root, or in a privileged group, permissions
 * alone would not protect it. Remembered while no directory has changed.
 */
export function findSecrets(dir: string): Secrets {
  const known = remembered.get(dir)
  if (known && [...known.seen].every(([path, time]) => changeTime(path) === time)) return known
  const secrets: string[] = []
  const around: string[] = []
  const seen = new Map<string, number>()
  walk(dir, secrets, around, seen)
  const found = { secrets, around: secrets.length === 0 ? [] : around, seen }
  remembered.set(dir, found)
  return found
}

/** Returns whether there was a secret below, in which case `around` has the directory's other entries. */
function walk(dir: string, secrets: string[], around: string[], seen: Map<string, number>): boolean {
  seen.set(dir, changeTime(dir))
  let holds = false
  const open: string[] = []
  for (const name of list(dir)) {
    const path = `${dir}/${name}`
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (!stats || stats.isSymbolicLink()) continue // a link gives no access of its own
    const needed = stats.isDirectory() ? ENTER_BY_ALL : READ_BY_ALL
    if ((stats.mode & needed) !== needed) {
      secrets.push(path)
      holds = true
    } else if (stats.isDirectory() && walk(path, secrets, around, seen)) holds = true
    else open.push(path)
  }
  if (holds) around.push(...open)
  return holds
}

function list(dir: string): readonly string[] {
  try {
    return readdirSync(dir)
  } catch {
    return [] // it vanished
  }
}

const changeTime = (path: string): number => lstatSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0
