import { dirname } from 'node:path'
import type { Collection } from './collection.ts'
import { type GitSetting, parseGitConfig } from './git-config.ts'
import { readText } from './read.ts'

/** As deep as git follows includes. */
const DEEPEST = 10
const MOST_FILES = 100

/**
 * What these files say, and all that they include, whatever the condition of the include. An included file is guarded like
 * the one that names it. One that does not exist is guarded as well: no command has a reason to make it.
 */
export function readSettings(
  files: readonly string[],
  home: string,
  found: Collection,
): readonly GitSetting[] {
  const settings: GitSetting[] = []
  const read = new Set<string>()
  let next = files
  for (let depth = 0; next.length > 0; depth++) {
    const included: string[] = []
    for (const file of next) {
      const end = found.add('/', file, depth === 0 ? 'told' : 'moved-aside')
      if (end?.is !== 'file' || read.has(end.path)) continue
      read.add(end.path)
      if (depth > DEEPEST || read.size > MOST_FILES) {
        found.miss(end.path, 'is one of very many files that git’s configuration includes, so it is not read')
        continue
      }
      const here = settingsIn(end.path, found)
      settings.push(...here)
      for (const { key, value } of here)
        if (isInclude(key) && value !== undefined) included.push(...named(value, dirname(file), home))
    }
    next = included
  }
  return settings
}

export function settingsIn(file: string, found: Collection): readonly GitSetting[] {
  const read = readText(file)
  if ('text' in read) return parseGitConfig(read.text)
  found.miss(file, `${read.unknown}, so what it names is not guarded`)
  return []
}

const isInclude = (key: string): boolean =>
  key === 'include.path' || (key.startsWith('includeif.') && key.endsWith('.path'))

/** A path in a configuration, as git reads it. What git itself was installed with is none of ours. */
export function named(value: string, from: string, home: string): readonly string[] {
  const path = value.startsWith(OPTIONAL) ? value.slice(OPTIONAL.length) : value
  if (path === '' || path.startsWith('%(prefix)/')) return []
  if (path === '~' || path.startsWith('~/')) return [home + path.slice(1)]
  if (path.startsWith('~')) return ofUser(path)
  // Not normalised: the kernel goes through links before it goes up.
  return [path.startsWith('/') ? path : `${from}/${path}`]
}

/** `~name/rest`, by the machine's own list. Whoever is not in it has no home that we know, and git knows of others. */
function ofUser(path: string): readonly string[] {
  const [name, ...rest] = path.slice(1).split('/')
  const read = readText('/etc/passwd')
  const line = 'text' in read ? read.text.split('\n').find((each) => each.startsWith(`${name}:`)) : undefined
  const home = line?.split(':')[5]
  return home ? [[home, ...rest].join('/')] : []
}

const OPTIONAL = ':(optional)'
