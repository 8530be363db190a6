import { type NetTarget } from '@cordon/policy'

/**
 * Decision 0050: servers disagree about `%2f`, `..`, `;x`, `//` and double escapes, so a path that has
 * them is decided once for every way a server is known to read it, and must be allowed in all of them.
 * The first reading is the policy's own (SPEC 1.5); a plain path has no other.
 */
export function readingsOf(target: NetTarget, rawPath: string): NetTarget[] {
  const readings = [target]
  if (!isDeceptive(rawPath)) return readings
  const once = decode(rawPath)
  const loose = new Set([lenient(once), lenient(decode(once))])
  loose.delete(once)
  for (const [text, late] of [
    [rawPath, decode],
    [once, same],
    [decode(once), same],
    [once.replaceAll('\\', '/'), same],
    [decode(once).replaceAll('\\', '/'), same],
    ...[...loose].flatMap((path) => [[path, same] as const, [path.replaceAll('\\', '/'), same] as const]),
  ] as const) {
    for (const trim of [same, withoutParameters]) {
      const words = text.split('/').map((word) => trim(late(word)))
      const named = words.filter((word) => word !== '' && word !== '.')
      readings.push({ ...target, segments: named }, { ...target, segments: collapse(named) })
      readings.push({ ...target, segments: words.slice(1) })
    }
  }
  return readings
}

/** Whether some server may read it in another way than the policy does. */
export const isDeceptive = (rawPath: string): boolean => DECEPTIVE.test(rawPath)

const DECEPTIVE = /%|;|\/\/|\/\./

const same = (text: string): string => text

/** Latin-1 like the policy's own segments, so that the two can be compared. Broken escapes stay. */
const decode = (text: string): string =>
  text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

/**
 * As a decoder reads it that forgives: ASCII in more bytes than it needs (RFC 3629 §10 tells of the attacks), the wide
 * forms of `.`, `/` and `\\` that some character sets map to the narrow ones, and a NUL, which ends a string of C.
 */
const lenient = (bytes: string): string =>
  bytes
    .replace(OVERLONG, (found) => {
      const [high, low] = [found.charCodeAt(found.length - 2), found.charCodeAt(found.length - 1)]
      return String.fromCharCode(((high & 1) << 6) | (low & 0x3f))
    })
    .replace(/\xef\xbc([\x8e\x8f\xbc])/g, (_, last: string) => WIDE[last]!)
    .replace(/\0.*/s, '')

const OVERLONG = /[\xc0\xc1][\x80-\xbf]|(?:\xe0|\xf0\x80)[\x80\x81][\x80-\xbf]/g
const WIDE: Readonly<Record<string, string>> = { '\x8e': '.', '\x8f': '/', '\xbc': '\\' }

const withoutParameters = (word: string): string => word.replace(/;.*/s, '')

function collapse(words: readonly string[]): string[] {
  const kept: string[] = []
  for (const word of words) {
    if (word === '..') kept.pop()
    else kept.push(word)
  }
  return kept
}
