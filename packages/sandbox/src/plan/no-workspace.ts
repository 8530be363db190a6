import { show } from '@cordon/policy'
import { encloses } from './paths.ts'

/** The system's own: whoever can write there has the machine, and a root's command could. With all that lies below. */
const SYSTEM = [
  '/boot',
  '/dev',
  '/etc',
  '/proc',
  '/run',
  '/sys',
  ...['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32', 'libexec'].flatMap((name) => [
    `/${name}`,
    `/usr/${name}`,
  ]),
]

/** Places of the system in which people have directories of their own: in memory, on a plugged-in disk, for a login session. */
const PEOPLES = [/^\/dev\/shm\/./, /^\/run\/media\/[^/]+\/./, /^\/run\/user\/[^/]+\/./]

/** Too much as a whole; what lies below may well be a project. */
const WHOLE = ['/', '/home', '/usr', '/var']

/**
 * SPEC 4.2: a workspace is given away to write in, so what is no project's is not taken for one, marked or not. Says why
 * not, of a canonical path. A home is the host's to know (host/src/project.ts).
 */
export function whyNoWorkspace(root: string): string | undefined {
  const inSystem = SYSTEM.some((dir) => encloses(dir, root)) && !PEOPLES.some((place) => place.test(root))
  if (!inSystem && !WHOLE.includes(root)) return undefined
  const why = inSystem ? 'it belongs to the system' : 'it holds much more than one project'
  return `${show(root)} cannot be a workspace: ${why}, and everything in it would be given away\n  fix: start in a project's directory`
}
