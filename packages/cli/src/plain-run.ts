import type { RunOptions } from './run-command.ts'

/** A command line that was read. */
export interface PlainRun {
  readonly command: readonly [string, ...string[]]
  readonly options: RunOptions
}

/** Options that take a word, and how often: as commands/run.ts declares them to the parser. */
const ONCE: ReadonlyMap<string, 'tool' | 'profile' | 'id'> = new Map([
  ['--tool', 'tool'],
  ['--profile', 'profile'],
  ['--id', 'id'],
])
const OFTEN: ReadonlyMap<string, 'read' | 'write' | 'execute' | 'allowNet' | 'env' | 'cfg'> = new Map([
  ['--read', 'read'],
  ['--write', 'write'],
  ['--execute', 'execute'],
  ['--allow-net', 'allowNet'],
  ['--env', 'env'],
  ['--cfg', 'cfg'],
])

/**
 * `run [--name word]… -- command…`, the form that scripts and agents write, read without loading a parser (decision 0095).
 * Undefined: it is written in another way, or wrong, and the parser knows what to make of it.
 */
export function readPlainRun([run, ...words]: readonly string[]): PlainRun | undefined {
  const end = words.indexOf('--')
  const [program, ...args] = end < 0 ? [] : words.slice(end + 1)
  if (run !== 'run' || program === undefined) return undefined
  const often = { read: [], write: [], execute: [], allowNet: [], env: [], cfg: [] } as Record<
    string,
    string[]
  >
  const once: Record<string, string> = {}
  for (let i = 0; i < end; i += 2) {
    const [name = '', word = '-'] = words.slice(i, Math.min(i + 2, end))
    const [single, list] = [ONCE.get(name), OFTEN.get(name)]
    // A word that looks like an option is a mistake more often than not.
    if (word.startsWith('-') || (single === undefined && list === undefined)) return undefined
    if (list !== undefined) often[list]!.push(word)
    else if (single !== undefined && !(single in once)) once[single] = word
    else return undefined
  }
  if ('tool' in once && 'profile' in once) return undefined
  return { command: [program, ...args], options: { ...often, ...once } as unknown as RunOptions }
}
