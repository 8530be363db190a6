import { basename, resolve } from 'node:path'
import type { Mentions } from './mentions.ts'

/**
 * SPEC 4.7: a file that is not there inside is missed in the same words by who wants to read it and by who wants to write it.
 * What the command line says of it tells them apart: the redirections of a shell, and the programs that only write.
 */
export function withWritten(
  mentions: Mentions,
  argv: readonly string[],
  place: { readonly cwd: string; readonly home: string },
): Mentions {
  const written = writtenBy(argv, place)
  if (written.size === 0) return mentions
  const paths = mentions.paths.map((mention) => {
    const writes = mention.writes ?? written.get(absolute(mention.path, place))
    return writes === undefined ? mention : { ...mention, writes }
  })
  return { ...mentions, paths }
}

/** `entry`: it is removed or replaced, which is written in its directory. */
type Writes = 'content' | 'entry'

function writtenBy(
  argv: readonly string[],
  place: { readonly cwd: string; readonly home: string },
): ReadonlyMap<string, Writes> {
  const scripts = argv.slice(1, MOST_WORDS).filter((word) => /\s|\(/.test(word))
  const found = [...byProgram(argv), ...scripts.flatMap((script) => byScript(script.slice(0, LONGEST)))]
  return new Map(found.map(([path, writes]) => [absolute(path, place), writes]))
}

const MOST_WORDS = 200
const LONGEST = 10_000

function absolute(path: string, { cwd, home }: { readonly cwd: string; readonly home: string }): string {
  const plain = path.replaceAll(/["']/g, '').replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, home)
  return resolve(cwd, plain)
}

type Found = readonly [path: string, writes: Writes]

function byProgram([program = '', ...words]: readonly string[]): readonly Found[] {
  const name = basename(program)
  const names = words.filter((word) => !word.startsWith('-'))
  if (/^(?:touch|tee|truncate|mkdir)$/.test(name)) return names.map((path) => [path, 'content'])
  if (/^(?:rm|rmdir|unlink|shred)$/.test(name)) return names.map((path) => [path, 'entry'])
  if (/^(?:cp|mv|ln|install|rsync)$/.test(name)) return names.slice(-1).map((path) => [path, 'content'])
  if (name === 'dd')
    return words.flatMap((word) => (word.startsWith('of=') ? [[word.slice(3), 'content']] : []))
  if (name === 'sed' && words.some((word) => /^(?:-\w*i|--in-place)/.test(word)))
    return names.map((path) => [path, 'entry'])
  return []
}

const byScript = (script: string): readonly Found[] =>
  WRITERS.flatMap((shape) => [...script.matchAll(shape)].map(([, path = '']): Found => [path, 'content']))

/** In shells `> file` and `tee file`; in Python `open("file", "w")`; in Node `writeFileSync("file"`. */
const WRITERS = [
  /(?<![<=>-])>{1,2}\|?\s*((?:"[^"\n]*"|'[^'\n]*'|[^\s;&|<>()'"])+)/g,
  /\btee\s+(?:-a\s+)?((?:"[^"\n]*"|'[^'\n]*'|[^\s;&|<>()'"])+)/g,
  /\bopen\(\s*["']([^"'\n]+)["']\s*,\s*["'][bt]?[wax+]/g,
  /\b(?:writeFile|appendFile|createWriteStream|mkdir)(?:Sync)?\(\s*["'`]([^"'`\n]+)["'`]/g,
]
