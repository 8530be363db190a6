import { type BigIntStats, lstatSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '@cordon/config'
import { type EntryKind, kindOf } from '@cordon/files'
import { type Capability, type Root, show } from '@cordon/policy'
import { holdsItself, isShipped, NO_NETWORK, ONLY_READS, onlyReads } from '../compile/boundary.ts'
import { WRITING } from '../compile/names.ts'
import type { Subject } from '../compile/subject.ts'
import type { Answer } from './answer.ts'
import { whyNotPermitted } from './permissions.ts'

type Asked = Pick<Answer, 'question' | 'canonical'> & { readonly place?: string | undefined }

/** What a shipped tool can do it to, where that is there. */
interface Use {
  readonly kinds: readonly EntryKind[]
  readonly said: string
}

const READ_FILE: Use = { kinds: ['file'], said: 'only a file is read' }
const REPLACE_FILE: Use = { kinds: ['file'], said: 'only a file is replaced' }
const CHANGE_FILE: Use = { kinds: ['file'], said: 'only a file is changed' }
const LIST: Use = { kinds: ['directory'], said: 'only a directory is listed' }
const SEARCH: Use = { kinds: ['file', 'directory'], said: 'only files and directories are searched' }
const ANYTHING = 'whatever there is'

/**
 * What each shipped tool can do at all, whatever its rules grant. Those that write look at what is there, as far as they may
 * read it. `unix_utils` starts programs, and they may do anything.
 */
const USES: Readonly<Record<string, Partial<Record<Capability, Use | typeof ANYTHING>>>> = {
  fs_read_file: { read: READ_FILE },
  fs_list_files: { read: LIST },
  fs_grep_files: { read: SEARCH },
  fs_create_file: { read: ANYTHING, create: REPLACE_FILE, update: REPLACE_FILE },
  fs_modify_file: { read: ANYTHING, update: CHANGE_FILE },
  fs_delete_file: { read: ANYTHING, delete: ANYTHING },
  fs_move_file: { read: ANYTHING, delete: ANYTHING, create: REPLACE_FILE, update: REPLACE_FILE },
}

/**
 * SPEC 4.7: why no rule would help, because of the tool itself, or of what is there on this host. Undefined: that is for the
 * rules to say.
 */
export function whyNever(found: Asked, subject: Subject, config: Config, root: Root): string | undefined {
  const { question } = found
  if (question.axis === 'env') return undefined
  if (question.axis === 'net') return holdsItself(config, subject) ? NO_NETWORK : undefined
  const uses =
    isShipped(config, subject) && Object.hasOwn(USES, subject.name) ? USES[subject.name] : undefined
  const use = uses?.[question.capability]
  if (uses && use === undefined)
    return onlyReads(config, subject) && WRITING.has(question.capability)
      ? ONLY_READS
      : `this tool never needs ${question.capability}`
  return whyNotThere(found, root) ?? (use && use !== ANYTHING ? whyNoUse(found, use) : undefined)
}

function whyNoUse({ question, canonical, place }: Asked, { kinds, said }: Use): string | undefined {
  const stats = place === undefined ? undefined : seenAt(place)
  const kind = stats && kindOf(stats)
  return kind === undefined || kinds.includes(kind)
    ? undefined
    : `${show(canonical ?? question.target)} is a ${kind}, and ${said}`
}

/** The same of any program. */
export function whyNotThere({ question, canonical, place }: Asked, root: Root): string | undefined {
  if (question.axis !== 'fs' || canonical === undefined) return undefined
  const blocked = fileInTheWay(canonical, root)
  if (blocked !== undefined) return `${show(blocked)} is no directory, so there can be nothing below it`
  if (question.capability !== 'execute' || place === undefined) return undefined
  return seenAt(place)?.isFile() === true ? whyNotPermitted('execute', place, canonical) : undefined
}

function fileInTheWay(path: string, root: Root): string | undefined {
  for (let dir = dirname(path); dir !== '.' && dir !== '/'; dir = dirname(dir)) {
    const stats = seenAt(resolve(root.path, dir))
    if (stats) return stats.isDirectory() || stats.isSymbolicLink() ? undefined : dir
  }
  return undefined
}

/** Of what we cannot look at there is nothing to say: the rules are all there is. */
function seenAt(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false, bigint: true })
  } catch {
    return undefined
  }
}
