/** What a text names that a policy could be about. A guess: the text was written for people. */
export interface Mentions {
  readonly paths: readonly string[]
  readonly hosts: readonly string[]
  readonly variables: readonly string[]
}

/** Reads a failed program's error output and its command line. Bounded: only the last part of a long text. */
export function findMentions(text: string): Mentions {
  const tail = text.slice(-LONGEST)
  return {
    paths: unique(tail.matchAll(PATH), clean),
    hosts: unique(
      HOST.flatMap((pattern) => [...tail.matchAll(pattern)]),
      (host) => host.toLowerCase(),
    ),
    variables: unique(
      VARIABLE.flatMap((pattern) => [...tail.matchAll(pattern)]),
      (name) => name,
    ),
  }
}

const LONGEST = 64 * 1024
const MOST = 20

/** Absolute, in the home directory, or relative with a slash; up to what ends a path in a message. */
const PATH =
  /(?<=^|[\s'"`(=:[])((?:~|\.{1,2})?\/[^\s'"`:;,()[\]<>|&]+|[\w.-]+(?:\/[\w.@+-]+)+|\.env[\w.-]*)/gm

const HOST: readonly RegExp[] = [
  /\b[a-z][a-z0-9+.-]*:\/\/(?:[^\s/@'"]*@)?([\w.-]+|\[[0-9a-f:.]+\])/gi,
  /resolve (?:host(?:name)?|address)?:? ?'?([\w.-]+\.[a-z]{2,})/gi,
  /(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|connect to|connecting to) ([\w.-]+\.[a-z]{2,})/gi,
  /\bhost ['"]?([\w.-]+\.[a-z]{2,})/gi,
]

const VARIABLE: readonly RegExp[] = [
  /\$\{?([A-Z_][A-Z0-9_]{2,})\}?/g,
  /\b([A-Z][A-Z0-9_]{2,}): (?:unbound variable|parameter not set|not set)/g,
  /\b([A-Z][A-Z0-9_]{3,})\b(?= (?:is |environment |env |must |not |variable))/g,
  /KeyError: '([A-Z][A-Z0-9_]+)'/g,
]

const clean = (path: string): string => path.replace(/[.,!?]+$/, '')

function unique(matches: Iterable<RegExpMatchArray>, tidy: (text: string) => string): string[] {
  const found = new Set<string>()
  for (const match of matches) {
    if (found.size >= MOST) break
    if (match[1]) found.add(tidy(match[1]))
  }
  return [...found]
}
