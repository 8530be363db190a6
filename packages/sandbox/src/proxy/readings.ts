import { type NetTarget } from '@cordon/policy'

/**
 * Decision 0050: servers disagree about `%2f`, `..`, `;x`, `//` and double escapes, so a path that has
 * them is decided once for every way a server is known to read it, and must be allowed in all of them.
 * The first reading is the policy's own (SPEC 1.5); a plain path has no other.
 */
export function readingsOf(target: NetTarget, rawPath: string): NetTarget[] {
  const readings = [target]
  if (!DECEPTIVE.test(rawPath)) return readings
  const once = decode(rawPath)
  for (const [text, late] of [
    [rawPath, decode],
    [once, same],
    [decode(once), same],
    [once.replaceAll('\\', '/'), same],
    [decode(once).replaceAll('\\', '/'), same],
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

const DECEPTIVE = /%|;|\/\/|\/\./

const same = (text: string): string => text

/** Latin-1 like the policy's own segments, so that the two can be compared. Broken escapes stay. */
const decode = (text: string): string =>
  text.replace(/%([0-9a-fA-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

const withoutParameters = (word: string): string => word.replace(/;.*/s, '')

function collapse(words: readonly string[]): string[] {
  const kept: string[] = []
  for (const word of words) {
    if (word === '..') kept.pop()
    else kept.push(word)
  }
  return kept
}
