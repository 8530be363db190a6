import { entryOf, type Step, trailOf } from '@cordon/workspace'
import { OBEYED_FROM_HOME, RUN_LATER, RUN_LATER_AT_HOME } from './names.ts'
import { entriesIn } from './nested.ts'

/** Where links of the home that the host obeys there lead to: dotfiles that people keep in a repository. */
export const linksOfHome = (home: string): readonly HomeLink[] =>
  linksAmong(home, [
    { names: OBEYED_AT_HOME, depth: DEEPEST_AT_HOME },
    { names: OBEYED_FROM_HOME, depth: DEEPEST_AT_HOME - 1 }, // packages of editors lie deeper
  ])

const OBEYED_AT_HOME: readonly string[] = [...new Set([...RUN_LATER, ...RUN_LATER_AT_HOME])]

/** A name of the home that leads through a link, and where. */
export interface HomeLink {
  readonly dir: string
  readonly name: string
  readonly steps: readonly Step[]
}

/** Names of which links are looked for; and in directories that have one, so many levels deep. */
interface Sought {
  readonly names: readonly string[]
  readonly depth: number
}

/**
 * Of names below a real directory, those that lead through a link. Each directory on their way is listed once, and what it has is
 * looked for among the names, which are many more.
 */
function linksAmong(dir: string, sought: readonly Sought[]): readonly HomeLink[] {
  const texts = sought.map(({ names }) => `\n${names.join('\n')}\n`)
  return entriesIn(dir).flatMap((entry): readonly HomeLink[] => {
    if (!(entry.isSymbolicLink() || entry.isDirectory())) return []
    const rests = sought.map(({ depth }, i) => ({ names: restsAfter(entry.name, texts[i]!), depth }))
    if (rests.every(({ names }) => names.length === 0)) return []
    const path = entryOf(dir, entry.name)
    if (entry.isSymbolicLink())
      return rests
        .flatMap(({ names }) => names)
        .map((rest) => (rest === '' ? entry.name : `${entry.name}/${rest}`))
        .map((name) => ({ dir, name, steps: trailOf(dir, name) }))
    const whole = rests.find(({ names }) => names.includes(''))
    const inner = rests.map(({ names, depth }) => ({ names: names.filter((rest) => rest !== ''), depth }))
    return [
      ...(whole ? linksIn(path, whole.depth) : []),
      ...(inner.some(({ names }) => names.length > 0) ? linksAmong(path, inner) : []),
    ]
  })
}

/** Of the lines of a text that are this name, or begin with it and a slash, what follows that. */
function restsAfter(name: string, text: string): readonly string[] {
  const rests: string[] = []
  const line = `\n${name}`
  for (let at = text.indexOf(line); at >= 0; at = text.indexOf(line, at + 1)) {
    const end = at + line.length
    if (text[end] === '\n') rests.push('')
    else if (text[end] === '/') rests.push(text.slice(end + 1, text.indexOf('\n', end)))
  }
  return rests
}

/** Single files, as programs make them that keep dotfiles: `~/.local/bin/tool`, `~/.config/systemd/user/x.service`. */
function linksIn(dir: string, depth: number): readonly HomeLink[] {
  return entriesIn(dir)
    .slice(0, MOST_AT_HOME)
    .flatMap((entry) => {
      if (entry.isSymbolicLink()) return [{ dir, name: entry.name, steps: trailOf(dir, entry.name) }]
      return entry.isDirectory() && depth > 0 ? linksIn(entryOf(dir, entry.name), depth - 1) : []
    })
}

/** How many entries of a directory of the home, and how deep, are looked at for links. */
const MOST_AT_HOME = 1000
const DEEPEST_AT_HOME = 2
