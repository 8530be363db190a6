/**
 * Decision 0545: git checks a path when it adds it to an index, not when it reads one. So this reads an index as git does
 * (gitformat-index), in every way that git may: from entry to entry, and by its table of blocks. It is sound when each path stays in
 * the working tree and out of `.git`. What is malformed, or of a version that is not known, is not. Pure; never throws.
 */
export function isSoundIndex(bytes: Buffer, idLength: IdLength): boolean {
  const limit = bytes.length - idLength // the checksum, which git does not look at
  if (limit < HEADER || bytes.toString('latin1', 0, 4) !== 'DIRC') return false
  const version = bytes.readUInt32BE(4)
  const count = bytes.readUInt32BE(8)
  if (version < 2 || version > 4) return false
  const layout = { bytes, limit, idLength, isCompressed: version === 4 }
  const entries = readEntries(layout, HEADER, count)
  return entries !== undefined && areSoundExtensions(layout, entries, count)
}

/** Of SHA-1 and SHA-256. The repository's configuration says which: bytes can be made to be read both ways. */
export type IdLength = 20 | 32

interface Layout {
  readonly bytes: Buffer
  readonly limit: number
  readonly idLength: IdLength
  /** Version 4: a path is what it has in common with the one before, and the rest. */
  readonly isCompressed: boolean
}

interface Entries {
  readonly end: number
  /** Of the last one's path. */
  readonly lastLength: number
  /** An entry of a split index that replaces one of the shared index has that one's path. */
  readonly hasEmptyPath: boolean
}

const HEADER = 12
const STAT = 40
const EXTENDED = 0x4000
const LENGTH = 0xfff
const MOST_LENGTH = 4096 // PATH_MAX

/** A part that is `.`, `..`, `.git` or empty; a slash at the end is that of a sparse directory. And what ends a path for C alone. */
const LEADS_OUT = /(?:^|\/)(?:\/|\.(?:\.|git)?(?:\/|$))|\0/i

/** Undefined when one is unsound. `before`: how long the path is of what stands before, of which a block has nothing. */
function readEntries(layout: Layout, from: number, count: number, before = 0): Entries | undefined {
  const { bytes, limit, idLength, isCompressed } = layout
  let at = from
  let path = ''
  let hasEmptyPath = false
  for (let i = 0; i < count; i++) {
    const flagsAt = at + STAT + idLength
    if (flagsAt + 4 > limit) return undefined
    const flags = bytes.readUInt16BE(flagsAt)
    let start = flagsAt + (flags & EXTENDED ? 4 : 2)
    let kept = ''
    if (isCompressed) {
      const stripped = readVarint(bytes, start)
      if (!stripped || (i > 0 && stripped.value > path.length)) return undefined
      if (i === 0 && stripped.value < before) return undefined // another path from entry to entry
      start = stripped.end
      kept = i > 0 ? path.slice(0, path.length - stripped.value) : ''
    }
    const length = lengthOfRest(bytes, start, flags & LENGTH, kept.length)
    const end = start + length
    if (length < 0 || length > MOST_LENGTH || end >= limit || bytes[end] !== 0) return undefined
    path = kept + bytes.toString('latin1', start, end)
    if (path.length > MOST_LENGTH || LEADS_OUT.test(path)) return undefined
    hasEmptyPath ||= path === ''
    at = isCompressed ? end + 1 : at + ((end - at + 8) & ~7)
    if (at > limit) return undefined
  }
  return { end: at, lastLength: path.length, hasEmptyPath }
}

/** The whole path's length is in the flags, unless it is too long for them. Negative when it does not fit. */
const lengthOfRest = (bytes: Buffer, start: number, told: number, kept: number): number =>
  told < LENGTH ? told - kept : bytes.indexOf(0, start) - start

/** As in packs: seven bits a byte, and each that follows adds one. */
function readVarint(bytes: Buffer, from: number): { value: number; end: number } | undefined {
  let value = 0
  for (let at = from; at < bytes.length && value <= MOST_LENGTH; at++) {
    const byte = bytes[at]!
    value = value * 128 + (byte & 127)
    if (byte < 128) return { value, end: at + 1 }
    value++
  }
  return undefined
}

/** One that git must understand begins with a small letter; others it passes over. */
function areSoundExtensions(layout: Layout, entries: Entries, count: number): boolean {
  const { bytes, limit, idLength } = layout
  // Threads of git look for the end of the entries here, whatever lies around it: in the middle of another extension it hides.
  const lastAt = limit - (12 + idLength)
  let isHidden = lastAt >= 0 && bytes.toString('latin1', lastAt, lastAt + 4) === 'EOIE'
  let isSplit = false
  for (let at = entries.end; at < limit;) {
    if (at + 8 > limit) return false
    const name = bytes.toString('latin1', at, at + 4)
    const body = at + 8
    const end = body + bytes.readUInt32BE(at + 4)
    if (end > limit) return false
    if (at === lastAt) isHidden = false
    if (name === 'link') {
      if (isSplit) return false // of two git takes the last
      isSplit = true
    } else if (name === 'EOIE') {
      // Where git looks for extensions.
      if (end < body + 4 || bytes.readUInt32BE(body) !== entries.end) return false
    } else if (name === 'IEOT') {
      if (!areSoundBlocks(layout, { body, end, count, entries })) return false
    } else if (name !== 'sdir' && !/^[A-Z]/.test(name)) return false
    at = end
  }
  return !isHidden && (isSplit || !entries.hasEmptyPath)
}

interface Blocks {
  readonly body: number
  readonly end: number
  readonly count: number
  readonly entries: Entries
}

/** The offset table: threads of git read each block of entries from where it says. They are the entries, one block after the other. */
function areSoundBlocks(layout: Layout, { body, end, count, entries }: Blocks): boolean {
  let left = count
  let from = HEADER
  let before = 0
  for (let at = body + 4; at < end; at += 8) {
    if (at + 8 > end || layout.bytes.readUInt32BE(at) !== from) return false
    const length = layout.bytes.readUInt32BE(at + 4)
    left -= length
    const block = left < 0 ? undefined : readEntries(layout, from, length, before)
    if (!block) return false
    from = block.end
    before = block.lastLength
  }
  return left === 0 && from === entries.end
}

/** What an index calls submodules, each in the bytes of its path. */
export interface Gitlinks {
  readonly paths: readonly string[]
  /** Of a split index: the file beside it that has the rest of the entries. */
  readonly shared: string | undefined
}

/**
 * The gitlinks of an index. Of the mode git looks at four bits, whatever the others are. Only what is needed is decoded, because
 * the guard asks at every start. Undefined for what is malformed, for a version that is not known, and for a gitlink whose path is only in
 * the shared index. Entry by entry; that the table of blocks says the same is `isSoundIndex`'s business. Pure; never throws.
 */
export function readGitlinks(bytes: Buffer, idLength: IdLength): Gitlinks | undefined {
  const limit = bytes.length - idLength
  if (limit < HEADER || bytes.toString('latin1', 0, 4) !== 'DIRC') return undefined
  const version = bytes.readUInt32BE(4)
  if (version < 2 || version > 4) return undefined
  const count = bytes.readUInt32BE(8)
  const paths: string[] = []
  const name = Buffer.allocUnsafe(version === 4 ? MOST_LENGTH : 0)
  let kept = 0
  let nameLength = 0
  let at = HEADER
  for (let i = 0; i < count; i++) {
    const flagsAt = at + STAT + idLength
    if (flagsAt + 4 > limit) return undefined
    const high = bytes[flagsAt]!
    const told = ((high << 8) | bytes[flagsAt + 1]!) & LENGTH
    const isGitlink = bytes[at + MODE]! >> 4 === GITLINK
    let start = flagsAt + (high & (EXTENDED >> 8) ? 4 : 2)
    if (version < 4 && !isGitlink && told < LENGTH) {
      at += (start + told - at + 8) & ~7
      continue
    }
    if (version === 4) {
      const stripped = readVarint(bytes, start)
      if (!stripped || (i > 0 && stripped.value > nameLength)) return undefined
      start = stripped.end
      kept = i > 0 ? nameLength - stripped.value : 0
    }
    const length = lengthOfRest(bytes, start, told, kept)
    const end = start + length
    if (length < 0 || kept + length > MOST_LENGTH || end >= limit) return undefined
    if (version === 4) {
      for (let j = 0; j < length; j++) name[kept + j] = bytes[start + j]!
      nameLength = kept + length
    }
    if (isGitlink) {
      const path = version === 4 ? name.toString('utf8', 0, nameLength) : bytes.toString('utf8', start, end)
      if (path === '') return undefined
      paths.push(path)
    }
    at = version === 4 ? end + 1 : at + ((end - at + 8) & ~7)
  }
  if (at > limit) return undefined
  const shared = sharedIndexesOf(bytes, at, idLength)
  return shared.length > 1 ? undefined : { paths, shared: fileOf(shared) }
}

/** Where in an entry the byte with the type of its file is, and what it is of a gitlink (0160000). */
const MODE = 26
const GITLINK = 0xe

const fileOf = ([id = '']: readonly string[]): string | undefined =>
  /^0*$/.test(id) ? undefined : `sharedindex.${id}`

/** The extension `link` begins with the id of the shared index; no id, no such index. Git takes the last, and writes one. */
function sharedIndexesOf(bytes: Buffer, from: number, idLength: IdLength): readonly string[] {
  const limit = bytes.length - idLength
  const found: string[] = []
  for (let at = from; at + 8 <= limit; at += 8 + bytes.readUInt32BE(at + 4))
    if (bytes.toString('latin1', at, at + 4) === 'link')
      found.push(bytes.toString('hex', at + 8, at + 8 + idLength))
  return found
}
