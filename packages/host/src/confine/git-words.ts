/** How git was called: the words from its command on, and what the options before it say of where it works. */
export interface GitCall {
  /** Of every `-C`, in their order: each counts from the one before. */
  readonly directories: readonly string[]
  /** Whether the repository was named, so that git looks for none. */
  readonly isNamed: boolean
  readonly words: readonly string[]
}

/** Undefined when another program is started. */
export function parseGitCall([program = '', ...words]: readonly string[]): GitCall | undefined {
  if (!/(?:^|\/)git$/.test(program)) return undefined
  const directories: string[] = []
  let isNamed = false
  let at = 0
  for (; words[at]?.startsWith('-'); at++) {
    const word = words[at]!
    isNamed ||= /^--(?:git-dir|work-tree)(?:=|$)/.test(word)
    if (word === '-C') directories.push(words[at + 1] ?? '')
    if (TAKES_ONE.test(word)) at++
  }
  return { directories, isNamed, words: words.slice(at) }
}

const TAKES_ONE = /^(?:-C|-c|--git-dir|--work-tree|--namespace|--config-env|--exec-path)$/
