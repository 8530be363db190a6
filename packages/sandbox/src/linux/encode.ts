import { type Flag, type Item, type LimitName, type MountAttribute } from './items.ts'
import { RIGHT_BITS } from './landlock.ts'

/** launcher/src/plan.h, `enum tag`. */
const TAGS: Readonly<Record<Item['tag'], number>> = {
  flags: 1,
  limit: 2,
  dir: 3,
  file: 4,
  link: 5,
  private: 6,
  bind: 7,
  'pin-link': 8,
  cover: 9,
  seal: 10,
  proc: 11,
  devpts: 12,
  allow: 13,
  listen: 14,
  cwd: 15,
  exec: 16,
  'tmp-size': 17,
  content: 18,
  'cover-private': 19,
  arg: 20,
  env: 21,
  host: 22,
  left: 23,
  replaced: 24,
  names: 25,
}

const FLAGS: Readonly<Record<Flag, number>> = {
  namespaces: 1,
  landlock: 2,
  'keep-terminal': 4,
  'unix-sockets': 8,
  'inet-sockets': 16,
  'keep-errors': 32,
  'no-truncation': 64,
  'no-execution': 256,
  'keep-output': 512,
  'keep-output-apart': 1024,
}

/** RLIMIT_* of the kernel's generic table, which x86-64 and arm64 share. */
const LIMITS: Readonly<Record<LimitName, number>> = { cpu: 0, data: 2, core: 4, processes: 6, files: 7 }

/** MOUNT_ATTR_* of linux/mount.h. */
const ATTRIBUTES: Readonly<Record<MountAttribute, number>> = {
  'read-only': 1,
  'no-suid': 2,
  'no-dev': 4,
  'no-exec': 8,
}

/** "PLN2": another launcher than ours would refuse it. */
const MAGIC = 0x324e4c50
const HEADER_BYTES = 12
const RECORD_BYTES = 24

interface Fields {
  readonly arg?: number
  readonly value?: number
  readonly path?: string
  readonly other?: string
}

/** The plan as the launcher reads it: a length, a header, records of fixed fields, and then their strings. */
export function encodeItems(items: readonly Item[]): Buffer {
  const fields = items.map(fieldsOf)
  const text = Buffer.from(fields.map(({ path = '', other = '' }) => `${path}\0${other}\0`).join(''))
  // Nearly always every character is a byte, and then nothing has to be counted.
  const isAscii = text.length === lengthOf(fields)
  const sizeOf = (part: string): number => (isAscii ? part.length : Buffer.byteLength(part))
  const head = new DataView(new ArrayBuffer(HEADER_BYTES + items.length * RECORD_BYTES))
  const put = (at: number, value: number): void => head.setUint32(at, value, true)
  put(0, head.byteLength + text.length - 4)
  put(4, MAGIC)
  put(8, items.length)
  for (const [index, { arg = 0, value = 0, path = '', other = '' }] of fields.entries()) {
    const at = HEADER_BYTES + index * RECORD_BYTES
    put(at, TAGS[items[index]!.tag])
    put(at + 4, arg)
    put(at + 8, value % HALF)
    put(at + 12, Math.floor(value / HALF))
    put(at + 16, sizeOf(path) + 1)
    put(at + 20, sizeOf(other) + 1)
  }
  return Buffer.concat([new Uint8Array(head.buffer), text])
}

const lengthOf = (fields: readonly Fields[]): number =>
  fields.reduce((sum, { path = '', other = '' }) => sum + path.length + other.length + 2, 0)

/** A 64-bit number is written as two of 32: no number here is above 2^53. */
const HALF = 2 ** 32

function fieldsOf(item: Item): Fields {
  switch (item.tag) {
    case 'flags':
      return { value: bits(item.flags, FLAGS) }
    case 'tmp-size':
      return { value: item.bytes }
    case 'limit':
      return { arg: LIMITS[item.limit], value: item.value }
    case 'dir':
    case 'private':
      return { path: item.path, arg: item.mode }
    case 'link':
      return { path: item.path, other: item.target }
    case 'content':
      return { path: item.path, other: item.text }
    case 'bind':
      return { path: item.path, arg: bits(item.attributes, ATTRIBUTES) }
    case 'cover':
      return { path: item.path, arg: item.inside === 'bound-back' ? 1 : 0 }
    case 'cover-private':
      return { path: item.path, arg: item.when === 'last' ? 1 : 0 }
    case 'allow':
      return { path: item.path, value: bits(item.rights, RIGHT_BITS) }
    case 'proc':
      return { path: item.path, arg: item.highestPid }
    case 'left':
      return { path: item.path, arg: item.told ? 0 : 1 }
    case 'replaced':
      return { path: item.path, arg: item.fd, value: item.there ? 1 : 0 }
    case 'listen':
      return { path: item.address, arg: item.port, value: item.over === 'udp' ? 1 : 0 }
    case 'host':
      return { arg: item.pid }
    case 'arg':
    case 'env':
      return { path: item.text }
    case 'file':
    case 'pin-link':
    case 'seal':
    case 'devpts':
    case 'cwd':
    case 'exec':
    case 'names':
      return { path: item.path }
  }
}

const bits = <Name extends string>(names: readonly Name[], table: Readonly<Record<Name, number>>): number =>
  names.reduce((sum, name) => sum | table[name], 0)
