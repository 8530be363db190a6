import { type Capability } from '@cordon/policy'
import { type LandlockRight } from './items.ts'

/** LANDLOCK_ACCESS_FS_* of linux/landlock.h. MAKE_CHAR and MAKE_BLOCK are handled and never given. */
export const RIGHT_BITS: Readonly<Record<LandlockRight, number>> = {
  execute: 1 << 0,
  'write-file': 1 << 1,
  'read-file': 1 << 2,
  'read-dir': 1 << 3,
  'remove-dir': 1 << 4,
  'remove-file': 1 << 5,
  'make-dir': 1 << 7,
  'make-reg': 1 << 8,
  'make-sock': 1 << 9,
  'make-fifo': 1 << 10,
  'make-sym': 1 << 12,
  refer: 1 << 13,
  truncate: 1 << 14,
  'ioctl-dev': 1 << 15,
}

/**
 * The five capabilities in Landlock's words. Renaming and linking across directories (`refer`) goes with
 * create and delete, because it is both; the kernel still refuses it where the file would gain a right.
 */
const RIGHTS: Readonly<Record<Capability, readonly LandlockRight[]>> = {
  read: ['read-file', 'read-dir'],
  create: ['make-reg', 'make-dir', 'make-sym', 'make-fifo', 'make-sock', 'refer'],
  update: ['write-file', 'truncate'],
  delete: ['remove-file', 'remove-dir', 'refer'],
  execute: ['execute'],
}

export const rightsOf = (grants: Iterable<Capability>): readonly LandlockRight[] => [
  ...new Set([...grants].flatMap((capability) => RIGHTS[capability])),
]

/** Truncation escapes a kernel older than this, and with it a part of `update`. */
export const ABI_WITH_TRUNCATE = 3

/** And signals to others escape one older than this. */
export const ABI_WITH_SCOPES = 6
