/**
 * SPEC 1.5: the segments that a path is matched on. Percent-decoded once, then empty and dot segments
 * removed; `..` removes the segment before it and never climbs above the root. Segments are byte
 * strings, so that a path that is no UTF-8 still has exactly one form. Undefined when an escape is broken.
 */
export function pathSegments(path: string): string[] | undefined {
  const decoded = decodeOnce(path)
  if (decoded === undefined) return undefined
  const kept: string[] = []
  for (const segment of decoded.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') kept.pop()
    else kept.push(segment)
  }
  return kept
}

/** As bytes, one character each; undefined when an escape is broken. */
export function decodeOnce(path: string): string | undefined {
  const bytes = Buffer.from(path, 'utf8').toString('latin1')
  if (BROKEN_ESCAPE.test(bytes)) return undefined
  return bytes.replace(ESCAPE, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const ESCAPE = /%([0-9a-fA-F]{2})/g
const BROKEN_ESCAPE = /%(?![0-9a-fA-F]{2})/
