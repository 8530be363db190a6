import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { below, type Capability, ROOT, show } from '@cordon/policy'
import { isInSystem, isOwnNode, isSharedDevice, scratchAround } from '@cordon/sandbox'
import { WRITING } from '../compile/names.ts'
import { isForAll, WITHHELD } from '../outside/place.ts'
import type { Answer } from './answer.ts'

type Verdict = Pick<Answer, 'allowed' | 'because'>

/** The sandbox of a command, as far as no rule says what it has (SPEC 4.3). Paths are canonical. */
export interface Bare {
  readonly home: string
  /** What is bound back in: the workspace, and the places that are granted. */
  readonly shown: readonly string[]
  readonly hasNamespaces: boolean
}

/**
 * `/proc/self` is whoever asks: here it would be `cordon why`. Its links to the root and to the current directory are followed
 * as the command would follow them.
 */
export function asInside(path: string, cwd: string): string {
  const { link, rest = '' } =
    /^\/proc\/(?:self|thread-self)\/(?<link>root|cwd)(?<rest>\/.*)?$/.exec(path)?.groups ?? {}
  if (link === undefined) return path
  return join(link === 'root' ? '/' : cwd, rest)
}

/** What every program is shown of the system; undefined: the path is no part of it, or it is about writing. */
export function whatSystemGives(capability: Capability, path: string): Verdict | undefined {
  if (WRITING.has(capability) || !isInSystem(path)) return undefined
  return isForAll(path)
    ? { allowed: true, because: 'it is part of the system: what every user may read, every program may' }
    : { allowed: false, because: WITHHELD }
}

/** Devices and `/proc`, as they are named: where their links lead differs from one process to the next. */
export function whatKernelGives(
  capability: Capability,
  named: string,
  { hasNamespaces }: Pick<Bare, 'hasNamespaces'>,
): Verdict | undefined {
  const uses = capability === 'read' || capability === 'update'
  if (isSharedDevice(named) && existsSync(named))
    return uses
      ? { allowed: true, because: 'it is a device that every program has' }
      : { allowed: false, because: `${DEVICE}, to be read and written` }
  if (isOwnNode(named) && (hasNamespaces || !named.startsWith('/dev/pt')))
    return uses
      ? { allowed: true, because: 'every program has its own' }
      : { allowed: false, because: DEVICE }
  if (below('/proc', named) === undefined) return undefined
  if (capability !== 'read') return { allowed: false, because: '/proc can only be read' }
  return whatProcGives(named, hasNamespaces)
}

const DEVICE = 'every program has it as it is'

function whatProcGives(named: string, hasNamespaces: boolean): Verdict {
  const fresh = hasNamespaces ? 'the /proc inside is its own, and' : '/proc'
  if (hasNamespaces && /^\/proc\/\d/.test(named))
    return { allowed: false, because: `${fresh} has other processes, by other numbers` }
  const isSelf = /^\/proc\/(?:self|thread-self)(?:\/|$)/.test(named)
  if (isSelf && /^\/proc\/[a-z-]+\/fd\//.test(named))
    return { allowed: true, because: 'every program has its own' }
  if (!existsSync(named)) return { allowed: false, because: 'it does not exist' }
  return isSelf || isForAll(named)
    ? { allowed: true, because: `${fresh} can be read` }
    : { allowed: false, because: WITHHELD }
}

/**
 * A home, `/tmp` and its kin are there for every program, private and empty, and so are the directories on the way to what it
 * has. Undefined: nothing of that is there by this name. Without namespaces nothing is, but the host's.
 */
export function whatIsPrivate(capability: Capability, path: string, bare: Bare): Verdict | undefined {
  if (!bare.hasNamespaces) return undefined
  const { place, own } = privatePlace(path, bare.home) ?? {}
  if (capability === 'read' && place === path)
    return { allowed: true, because: `the ${own} inside is private, and empty at first` }
  if (capability === 'read' && isOnTheWay(path, bare))
    return { allowed: true, because: 'inside it is there, with nothing in it but the way to what is' }
  if (place === undefined || !WRITING.has(capability)) return undefined
  // It is empty at first, so a name is free there, and what the command makes is its own.
  if (capability !== 'create' && existsSync(path)) return undefined
  const way = wayBelow(place, path, bare)
  if (way !== undefined)
    return {
      allowed: false,
      because: `inside ${show(way)} is only the way to what is there, and not writable`,
    }
  const parent = dirname(path)
  if (below(place, parent) !== ROOT && existsSync(parent))
    return {
      allowed: false,
      because: `${show(parent)} is not there inside: the ${own} inside is private and empty`,
    }
  return { allowed: true, because: `the ${own} inside is private: what is made there is gone at the end` }
}

/** Of what exists on the host, in a place that the command has one of its own of. */
export const emptyInside = (path: string, { home, hasNamespaces }: Bare): string => {
  const found = hasNamespaces ? privatePlace(path, home) : undefined
  return found ? `; the ${found.own} inside is private and empty` : ''
}

function privatePlace(
  path: string,
  home: string,
): { readonly place: string; readonly own: string } | undefined {
  if (below(home, path) !== undefined) return { place: home, own: 'home' }
  const scratch = scratchAround(path)
  return scratch === undefined ? undefined : { place: scratch, own: scratch }
}

const isOnTheWay = (path: string, { home, shown }: Bare): boolean =>
  [...shown, ...THERE, home].some((each) => below(path, each) !== undefined)

/** Whatever the machine is like. */
const THERE = ['/usr/bin', '/etc', '/proc/self', '/dev/null', '/dev/shm', '/tmp', '/var/tmp']

/** `waysTo` of the sandbox: programs keep files beside each other below names with a dot, and may write there. */
function wayBelow(
  place: string,
  path: string,
  { home, shown: [root, ...granted] }: Bare,
): string | undefined {
  const first = below(place, path)?.split('/')[0]
  if (first === undefined || first === ROOT) return undefined
  const way = join(place, first)
  const leadsTo = (each: string): boolean => each !== way && below(way, each) !== undefined
  const isProgramsOwn = place === home && first.startsWith('.')
  const isWay = (root !== undefined && leadsTo(root)) || (!isProgramsOwn && granted.some(leadsTo))
  return isWay ? way : undefined
}
