import { type Capability, type FsRule } from '@cordon/policy'
import { type HeldRegion } from './regions-held.ts'

/**
 * Every way in which the kernel's answer differs from the rule's without anything being granted that the rule
 * withholds: it is stricter, or it holds a part. The differential test accepts these differences and no other.
 */
export const LIMITS = {
  emptyFiles: 'new files stay empty: writing into them is update',
  mountPoint:
    'the path itself, and the directories above it, cannot be removed or renamed while the process runs',
  parentDecides:
    'whether the path itself can be made, removed or replaced is decided by the directory above it',
  blindExecution: 'the kernel reads what it executes: without read nothing starts',
  crossing:
    'moving or linking from one rule to another is refused as between filesystems; programs copy instead',
  replacing: 'replacing a file by renaming another over it also needs create and delete',
  replaceable: 'with create and delete a file can be removed and made anew, by rename in one step',
  metadata: 'permissions, times and attributes can still be changed: Landlock guards the content',
  openMetadata:
    'permissions, times and attributes can still be changed through a file that may be opened: Landlock guards the content',
  unnamed:
    'permissions, times and attributes are changed through an open file only: by name, as `chmod` does it, is refused',
  copies:
    'it limits what may be started from this path, not what code may run: a copy in a place that may be written can be started',
  interpreted:
    'no file is started from here, nor from /tmp, the home or memory; what an interpreter reads, as in `sh file`, is not started',
  loaded:
    'no file is started from here, nor from memory; what an interpreter or the loader reads, as in `sh file` or `ld.so file`, is not started',
  movable:
    'the kernel grants it to what lies there, not to the name: moved elsewhere it is still granted, and what is put there later is not',
  absent: 'the path does not exist, so it cannot be granted: create it first',
  sharedTarget:
    'another rule reaches the same place and withholds it; the kernel sees the place, not the name',
} as const

interface Around {
  readonly rule: FsRule
  /** No other rule: nothing to cross, nothing mounted below. */
  readonly alone: boolean
  readonly root: boolean
  /** Where execute is granted at all. */
  readonly execution: 'everywhere' | 'somewhere' | 'nowhere'
}

export function limitsOf(
  region: HeldRegion,
  capability: Capability,
  { rule, alone, root, execution }: Around,
): readonly string[] {
  const granted = region.grants.has(capability)
  const mounts = region.hold.attributes.length > 0
  // Nothing is mounted on a path that is not there, so nothing makes it read-only either.
  const mounted = mounts && region.kind !== 'missing'
  const names: (keyof typeof LIMITS)[] = []
  if (rule.grants.has(capability) && !granted) names.push('sharedTarget')
  const before = mounts ? region.above : region.inherited
  if (region.kind === 'missing' && granted && !before.has(capability)) names.push('absent')
  if (granted && (capability === 'create' || capability === 'delete')) {
    if (!alone) names.push('crossing')
    if (!alone && mounts) names.push('mountPoint')
    if (!root) names.push('parentDecides')
  }
  if (granted && !root && !mounts && region.kind !== 'missing') names.push('movable')
  if (granted && capability === 'create' && !region.grants.has('update')) names.push('emptyFiles')
  if (granted && capability === 'execute' && !region.grants.has('read')) names.push('blindExecution')
  if (granted && capability === 'update' && !(region.grants.has('create') && region.grants.has('delete')))
    names.push('replacing')
  if (!granted && capability === 'update' && isLoose(region, 'create') && isLoose(region, 'delete'))
    names.push('replaceable')
  const writable = !(mounted && (region.hold.cover || region.hold.attributes.includes('read-only')))
  if (mounts && !granted && capability === 'update' && writable) names.push('metadata')
  if (!mounts && capability === 'update') {
    if (granted) names.push('unnamed')
    else if (isLoose(region, 'read')) names.push('openMetadata')
  }
  if (capability === 'execute' && execution !== 'everywhere')
    names.push(execution === 'somewhere' ? 'copies' : mounts ? 'interpreted' : 'loaded')
  return names.map((name) => LIMITS[name])
}

/** Granted, or withheld in vain. */
const isLoose = (region: HeldRegion, capability: Capability): boolean =>
  region.grants.has(capability) || region.hold.held[capability].by === 'not enforceable here'
