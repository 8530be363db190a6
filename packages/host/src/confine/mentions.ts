import { dirname } from 'node:path'
import { parseHost } from '@cordon/policy'
import { addressesIn } from './addresses.ts'
import { parseGitCall } from './git-words.ts'

/** What a text names that a policy could be about. A guess: the text was written for people. */
export interface Mentions {
  readonly paths: readonly PathMention[]
  readonly hosts: readonly HostMention[]
  readonly variables: readonly string[]
}

export interface PathMention {
  readonly path: string
  readonly trouble: Trouble
  /** The complaint calls it a directory. */
  readonly isDirectory?: true
  /** It was to be written: its content, or the entry itself, which is removed or replaced. Absent: it may have been read only. */
  readonly writes?: 'content' | 'entry'
  /** It was opened, in words that do not tell whether to be read or to be written. */
  readonly opens?: true
  /** It stands in a script on the command line, which may have gone elsewhere before. */
  readonly inScript?: true
  /** It was to be started. */
  readonly runs?: true
}

/** In the words of the kernel; `unsaid` on a command line, which says what was wanted and not what happened. */
export type Trouble = 'refused' | 'read-only' | 'busy' | 'absent' | 'unsaid'

export interface HostMention {
  readonly scheme: string
  readonly host: string
  readonly port: string
  /** Empty when no path was named. */
  readonly path: string
}

/** What a command line names: nothing is known about what became of it. `exists`: whether a word is a path on the host. */
export function mentionedInCommand(
  argv: readonly string[],
  exists: (path: string) => boolean = () => false,
): Mentions {
  const words = argv.slice(1, MOST_WORDS).map((word) => word.slice(0, LONGEST_LINE))
  const values = words.flatMap((word) => [word, ...(/^-[^=]*=(.+)$/s.exec(word)?.slice(1) ?? [])])
  return {
    paths: unique([
      ...(isForRoot(argv) ? [] : values)
        .flatMap((word) => pathsOfWord(word, exists))
        .map((path) => ({ path, trouble: 'unsaid' as const })),
      ...replacedByGit(argv),
    ]),
    hosts: writesDownOnly(argv) ? [] : unique([...values.flatMap(urlsIn), ...atAddresses(words.join(' '))]),
    variables: [],
  }
}

/** What nobody but root may do fails whatever is granted. */
const isForRoot = ([program = '']: readonly string[]): boolean =>
  /(?:^|\/)(?:u?mount|chroot|losetup|swapon|mkfs(?:\.\w+)?)$/.test(program)

/** Of git: a URL that is only written into the configuration, where nothing is sent. */
const writesDownOnly = (argv: readonly string[]): boolean => {
  const [command, sub = '', ...rest] = gitWords(argv)
  if (command === 'config' || command === 'branch') return true
  return (
    command === 'remote' &&
    /^(?:add|set-url)$/.test(sub) &&
    !rest.some((word) => /^(?:-f|--fetch)$/.test(word))
  )
}

/** Empty when another program was started. */
const gitWords = (argv: readonly string[]): readonly string[] => parseGitCall(argv)?.words ?? []

/** Commands of git that replace `.git/config`. At a terminal git complains to the person, and we do not see it. */
function replacedByGit(argv: readonly string[]): PathMention[] {
  const [command = '', ...words] = gitWords(argv)
  const isReplaced =
    command === 'config' ? setsConfig(words) : REPLACES[command]?.test(words.join(' ')) === true
  return isReplaced ? [{ path: '.git/config', trouble: 'busy', writes: 'entry' }] : []
}

/** Where that makes them fail. */
const REPLACES: Readonly<Record<string, RegExp>> = {
  remote: /^(?:add|rename|remove|rm|set-\w+)\b/,
  branch: /(?:^| )(?:-[mMcC]|--move|--copy)(?: |$)/,
  submodule: /^(?:add|init|deinit|sync|set-url|set-branch)\b|^update .*--init\b/,
}

/** Of git that succeeds, and says so, though it could not write to `.git/config`. At a terminal its command line is all that is known. */
export function replacedUnsaid(argv: readonly string[]): Mentions {
  const [command = '', ...words] = gitWords(argv)
  const follows =
    (command === 'branch' &&
      words.some((word) => /^(?:-u|--set-upstream-to|--unset-upstream|-t|--track)(?:=|$)/.test(word))) ||
    (/^(?:checkout|switch)$/.test(command) && words.some((word) => /^(?:-t|--track)(?:=|$)/.test(word))) ||
    (command === 'push' && words.some((word) => /^(?:-u|--set-upstream)$/.test(word)))
  return { paths: follows ? [{ path: '.git/config', trouble: 'busy' }] : [], hosts: [], variables: [] }
}

/** Of the repository, and not only to look at it: a key alone is asked for. */
const setsConfig = (words: readonly string[]): boolean =>
  !words.some((word) => LOOKS.test(word)) &&
  (words.some((word) => /^(?:--(?:unset|rename|remove|edit|add|replace)|-e$)/.test(word)) ||
    words.filter((word) => !word.startsWith('-')).length > 1) &&
  !/^(?:get|list)$/.test(words[0] ?? '')

const LOOKS = /^(?:--(?:get|list|global|system|file|blob)|-[lf]$)/

/**
 * A word may be a path; a script for `sh -c` may name some, of which only the rooted ones are sure to be paths. One with spaces is
 * a path where there is such a file, or where the spaces are in the name of a directory that there is.
 */
function pathsOfWord(word: string, exists: (path: string) => boolean): string[] {
  if (word.startsWith('-') || word.includes('\0')) return []
  if (/\s/.test(word) && (exists(word) || (/\s/.test(dirname(word)) && exists(dirname(word))))) return [word]
  if (/\s/.test(word)) return [...word.replaceAll(HOME, '~/').matchAll(ROOTED)].map(([, path = '']) => path)
  if (/^file:\/\/(?:localhost)?\//.test(word)) return [fileOf(word)]
  return word.includes('://') ? [] : [word]
}

const fileOf = (url: string): string => {
  const path = url.replace(/^file:\/\/(?:localhost)?/, '').replace(/[?#].*$/s, '')
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** As scripts write the home. */
const HOME = /\$(?:HOME|\{HOME\})\//g
const ROOTED = /(?<=^|[\s'"`(=;&|<>])(~?\/[^\s'"`:;,()[\]<>|&$*?{}]+)/g

/** What a failed program complained about. Bounded: the last part of a long text, the start of a long line. */
export function mentionedInErrors(text: string): Mentions {
  const lines = text
    .slice(-LONGEST)
    .split(/[\r\n]+/)
    .filter((line) => line !== '') // mostly nothing was said, and then no pattern has to be compiled
    .map((line) => line.slice(0, LONGEST_LINE))
  return {
    paths: unique(lines.flatMap(pathsIn)),
    hosts: unique(nearComplaints(lines).flatMap(hostsIn)),
    variables: unique(lines.flatMap(variablesIn)),
  }
}

/** Some programs name the host a line or two away from the trouble; a test suite prints the whole source around it. */
const nearComplaints = (lines: readonly string[]): readonly string[] => {
  const near = new Set(
    lines.flatMap((line, at) =>
      OFFLINE.test(line) ? [at - 3, at - 2, at - 1, at, at + 1, at + 2, at + 3] : [],
    ),
  )
  return lines.filter((_, at) => near.has(at))
}

const LONGEST = 64 * 1024
const LONGEST_LINE = 1000
const MOST_WORDS = 200
const MOST = 20

const TROUBLE: readonly (readonly [Trouble, RegExp])[] = [
  // What is mounted cannot be replaced: git, npm and editors write anew and rename. Git makes a lock for that beside the file.
  ['busy', /Device or resource busy|resource busy or locked|\bEBUSY\b|\bcould not lock config file\b/i],
  // `touch`, `rm`, `cp` and shells say what they were about to do; what is refused then was to be written.
  [
    'read-only',
    /Read-only file system|\bEROFS\b|\bcannot (?:create|touch|remove|move|overwrite)\b.*(?:Permission denied|Operation not permitted)/i,
  ],
  ['refused', /Permission denied|Operation not permitted|PermissionError|\bE(?:ACCES|PERM)\b/i],
  [
    'absent',
    /No such file|not found|does not exist|doesn't exist|cannot find|couldn't find|could not find|\bENOENT\b|can't open|cannot open|not accessible|Directory nonexistent|nonexistent directory|\bcannot create .*Not a directory/i,
  ],
]

/** What was about to be done with it, in the words of shells and of the programs that everybody has. */
const WRITES: readonly (readonly ['content' | 'entry', RegExp])[] = [
  // What is moved leaves its directory, and what is in its way there is replaced.
  [
    'entry',
    /\b(?:cannot|can't|failed to|unable to) (?:remove|unlink|move)\b|\bcould not lock config file\b/i,
  ],
  ['content', /\b(?:cannot|can't|could not|failed to|unable to) (?:create|touch|overwrite)\b|^tee: /i],
  // git, linkers, and whoever opens what it is to make.
  ['content', /\bfor writing\b|\b(?:open|create) output file\b/i],
]

/** In the words of Python, of Node, of Ruby and of Go. */
const OPENS = /\bFileNotFoundError\b|\bENOENT\b.*, open '|\brb_sysopen\b|\bopen \S+: no such file/

/** In the words of dash, of Node, and of programs that start others. */
const STARTS =
  /^[^'"`]*: \d+: (?:exec: )?[^:]+: not found$|\bspawn \S+ ENOENT|^(?:env|xargs|nohup|nice|timeout|time): .*No such file/

/** Only lines that complain: a path in a stack trace or a progress line was found without trouble. */
function pathsIn(line: string): PathMention[] {
  const trouble = TROUBLE.find(([, words]) => words.test(line))?.[0]
  if (!trouble) return []
  const writes = WRITES.find(([, words]) => words.test(line))?.[0]
  const kind = {
    ...(DIRECTORY.test(line) ? { isDirectory: true as const } : {}),
    ...(writes === undefined ? {} : { writes }),
    ...(writes === undefined && OPENS.test(line) ? { opens: true as const } : {}),
    ...(STARTS.test(line) ? { runs: true as const } : {}),
  }
  return namesIn(line).map((path) => ({ path, trouble, ...kind }))
}

/** Who complains stands first, and is not what was denied: a script and its line, or the program, where the rest names something. */
function namesIn(line: string): readonly string[] {
  const complaint = line.replace(SCRIPT_LINE, ': ')
  const withoutProgram = complaint.replace(PROGRAM, ': ')
  const named = withoutProgram === complaint ? [] : namesOf(withoutProgram)
  return named.length > 0 ? named : namesOf(complaint)
}

const namesOf = (complaint: string): readonly string[] =>
  [
    ...[...complaint.matchAll(WITH_QUOTES)].map(
      ([, plain, escaped = '']) => plain ?? escaped.replaceAll("'\\''", "'"),
    ),
    ...[QUOTED, BETWEEN_COLONS, AFTER_CANNOT, PATHS].flatMap((shape) =>
      [...complaint.replaceAll(WITH_QUOTES, '').matchAll(shape)].map(([, path = '']) =>
        withoutStop(path.trim()),
      ),
    ),
  ].filter((path) => path !== '' && !/:\/\/|\0|^E[A-Z0-9]{3,}$/.test(path) && !LABELS.test(path))

/** `bash: line 1: exec: ./x: cannot execute: …`, `ld: error: cannot open …`: who speaks and how, and no file. */
const LABELS = /^(?:error|fatal|fatal error|warning|note|info|exec|cd|source|eval|command)$/i

/** `./build.sh: 2: ` of dash, `./build.sh: line 2: ` of bash and busybox, `./build.sh:2: ` of zsh, `a.c:2:7: ` of compilers. */
const SCRIPT_LINE = /^[^'"`‘]*?(?:: (?:line )?\d+|:\d+(?::\d+)?): /
/** `./tool: ` */
const PROGRAM = /^[^\s:'"`‘]*\/[^\s:'"`‘]*: /

/** `mkdir: cannot create directory ‘x’`, and git's `could not create work tree dir 'x'`. */
const DIRECTORY = /\bcreate (?:work tree )?dir(?:ectory)?\b/i

/** The end of a sentence is no part of a name; but `.` alone is a directory. */
const withoutStop = (path: string): string => (/^[./]+$/.test(path) ? path : path.replace(/[.,:;!?]+$/, ''))

/** `sh: 1: cannot create notes: Read-only file system`, as dash says it. */
const AFTER_CANNOT = /\bcannot (?:create|open) ([^:'"`\s]+)(?=: )/g
/** A name that has quotes itself, as coreutils write it: `"it's"`, `'it'\''s'`. */
const WITH_QUOTES = /(?<=^|[\s(:])(?:"([^"]*'[^"]*)"|'([^']*(?:'\\''[^']*)+)')(?=$|[\s),.:;])/g
const QUOTED = /['"`‘]([^'"`‘’]+)['"`’]/g
/** `cat: notes.txt: Permission denied` names a file without a slash and without quotes. */
const BETWEEN_COLONS = /(?<=: )([^:'"`\s]*[^:'"`\s\d][^:'"`\s]*)(?=: )/g
const PATHS = /(?<=^|[\s'"`(=:[])((?:~|\.{1,2})?\/[^\s'"`:;,()[\]<>|&]+|[\w.@+-]+(?:\/[\w.@+-]+)+)/g

/** Words for "there is no network"; without them a URL in the output is just a URL. */
const OFFLINE =
  /resolve|getaddrinfo|name resolution|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH|unreachable|connection refused|failed to connect|couldn't connect|could not connect|no such host|name or service not known|network is down|can't connect/i

/** What the kernel says of an address: a name that is not allowed has none. */
export const UNREACHABLE = /unreachable|\bE(?:NET|HOST)UNREACH\b/i

const URLS =
  /(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{0,20}):\/\/(?:[^\s/@'"]*@)?([^\s/?#:@'"`<>()[\]{}\\|,;]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?(\/[^\s?#'"`<>()[\]{}\\|]*)?/gi

/** Where programs put a bare name: `Could not resolve host: example.com`, `lookup proxy.golang.org: …`. */
const BARE_HOSTS =
  /(?:resolve (?:host(?:name)?|address)?:? ?|ENOTFOUND |EAI_AGAIN |ECONNREFUSED |connect to |lookup |host=)['"]?((?:[\w-]{1,63}\.){1,10}[a-z]{2,63})(?::(\d{1,5}))?/gi

const hostsIn = (line: string): HostMention[] => [
  ...urlsIn(line),
  ...[...line.matchAll(BARE_HOSTS)].flatMap(([, host = '', port = '']) => mention('https', host, port, '')),
  ...atAddresses(line),
]

const atAddresses = (text: string): HostMention[] =>
  addressesIn(text).map(({ host, port }) => ({ scheme: 'https', host, port: String(port), path: '' }))

const urlsIn = (text: string): HostMention[] =>
  [...text.matchAll(URLS)].flatMap(([, scheme = '', host = '', port = '', path = '']) =>
    mention(scheme.toLowerCase(), host, port, withoutStop(path)),
  )

/** In the one spelling that rules are written in; what is no host is not mentioned. */
function mention(scheme: string, text: string, port: string, path: string): HostMention[] {
  const host = parseHost(text)
  return host === undefined ? [] : [{ scheme, host, port, path }]
}

/** Named together with a word that says it was missed. */
const variablesIn = (line: string): string[] =>
  MISSED.test(line) ? [...line.matchAll(NAMES)].map(([name]) => name) : []

const MISSED =
  /unbound variable|parameter not set|(?:is |was )?(?:not set|unset|undefined|missing|required|not defined)|must be set|KeyError|set the|please set|no value/i
const NAMES = /(?<![\w-])[A-Z_][A-Z0-9_]{2,63}(?![\w-])/g

function unique<T>(found: readonly T[]): T[] {
  const seen = new Map(found.map((one) => [JSON.stringify(one), one]))
  return [...seen.values()].slice(0, MOST)
}
