import { readFileSync } from 'node:fs'

/** What `/etc/hosts` says of a name in lower case; nothing, where that cannot be read. */
export function inHostsFile(host: string): readonly string[] {
  try {
    const text = readFileSync('/etc/hosts', 'utf8').toLowerCase()
    // Some people keep long lists of what they block there.
    if (!text.includes(host)) return []
    return text
      .split('\n')
      .map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
      .flatMap(([address = '', ...names]) => (names.includes(host) ? [address] : []))
  } catch {
    return []
  }
}
