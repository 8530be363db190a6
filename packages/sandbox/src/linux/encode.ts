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
}

const FLAGS: Readonly<Record<Flag, number>> = {
  namespaces: 1,
  landlock: 2,
  'keep-terminal': 4,
  'unix-sockets': 8,
  'inet-sockets': 16,
}

/** RLIMIT_* of the kernel's generic table, which x86-64 and arm64 share. */
const LIMITS: Readonly<Record<LimitName, number>> = { data: 2, core: 4, processes: 6, files: 7 }

/** MOUNT_ATTR_* of linux/mount.h. */
const ATTRIBUTES: Readonly<Record<MountAttribute, number>> = {
  'read-only': 1,
  'no-suid': 2,
  'no-dev': 4,
  'no-exec': 8,
}

const MAGIC = 0x314e4c50
const RECORD_BYTES = 24

interface Fields {
  readonly arg?: number
  readonly value?: number
  readonly path?: string
  readonly other?: string
}

/** The plan as the launcher reads it: a length, a header, and records of fixed fields and two strings. */
export function encodeItems(items: readonly Item[]): Buffer {
  const fields = items.map(fieldsOf)
  const strings = fields.map(({ path = '', other = '' }) => Buffer.from(`${path}\0${other}\0`))
  const size = 12 + strings.reduce((sum, text) => sum + RECORD_BYTES + text.length, 0)
  const out = Buffer.allocUnsafe(size)
  out.writeUInt32LE(size - 4, 0)
  out.writeUInt32LE(MAGIC, 4)
  out.writeUInt32LE(items.length, 8)
  let at = 12
  for (const [index, { arg = 0, value = 0, path = '' }] of fields.entries()) {
    const text = strings[index]!
    const pathSize = Buffer.byteLength(path) + 1
    out.writeUInt32LE(TAGS[items[index]!.tag], at)
    out.writeUInt32LE(arg, at + 4)
    out.writeBigUInt64LE(BigInt(value), at + 8)
    out.writeUInt32LE(pathSize, at + 16)
    out.writeUInt32LE(text.length - pathSize, at + 20)
    text.copy(out, at + RECORD_BYTES)
    at += RECORD_BYTES + text.length
  }
  return out
}

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
    case 'listen':
      return { arg: item.port }
    case 'file':
    case 'pin-link':
    case 'seal':
    case 'devpts':
    case 'cwd':
    case 'exec':
      return { path: item.path }
  }
}

const bits = <Name extends string>(names: readonly Name[], table: Readonly<Record<Name, number>>): number =>
  names.reduce((sum, name) => sum | table[name], 0)
