import { basename } from 'node:path'
import { typedPath } from '../outside/place.ts'
import type { Hint } from './hint.ts'
import { NO_HOSTS } from './hints.ts'

/** What a program said, and how its host looks: enough to know a few programs by their words (SPEC 4.7). */
export interface ProgramFacts {
  readonly said: string
  /** Its input is a pipe and its output a terminal. */
  readonly isPipedInto: boolean
  readonly argv: readonly string[]
  /** What the host has of a variable; undefined: nothing. */
  readonly valueOf: (name: string) => string | undefined
  /** Whether the policy withholds a variable. */
  readonly isWithheld: (name: string) => boolean
  /** Whether a host that is allowed could be reached, and no other. */
  readonly canHoldHosts: boolean
  /** Whether a rule allows the host, or a part of it. */
  readonly isAllowed: (host: string) => boolean
  /** Whether there is such a file on the host. */
  readonly exists: (path: string) => boolean
  /** Whether the program saw what is there on the host. */
  readonly isInside: (path: string) => boolean
  readonly home: string
  /** The host's PATH. */
  readonly path: string
}

/** Programs that fail in words of their own, which name neither a path nor a host that a rule could be about. */
export const findProgramHints = (facts: ProgramFacts): Hint[] => [
  ...WORDS.filter(({ words, unless }) => words.test(facts.said) && !unless?.(facts)).map((found) =>
    found.hosts && !facts.canHoldHosts
      ? { ...found.hint, text: `${found.hint.text}; ${NO_HOSTS}`, fix: undefined }
      : found.hint,
  ),
  ...keysHint(facts),
  ...sshHints(facts),
  ...missingPrograms(facts),
  ...pathVariables(facts),
]

const hint = (about: string, text: string, fix: string | undefined): Hint => ({
  about,
  text,
  fix,
  audience: 'anyone',
})

const WORDS: readonly {
  readonly words: RegExp
  readonly hint: Hint
  /** The profile has hosts. */
  readonly hosts?: true
  readonly unless?: (facts: ProgramFacts) => boolean
}[] = [
  {
    words: /Please tell me who you are|unable to auto-detect email address|empty ident name/,
    hint: hint(
      'git identity',
      'git does not know who you are: your own settings are not inside',
      '--profile git',
    ),
    // Nothing to be had from settings that are not there, or that are inside already.
    unless: ({ exists, isInside, home }) =>
      ['.gitconfig', '.config/git/config']
        .map((name) => `${home}/${name}`)
        .every((path) => !exists(path) || isInside(path)),
  },
  {
    words: /Cannot connect to the Docker daemon|docker\.sock|podman\.sock/,
    hint: hint(
      'docker',
      'the daemon of Docker is out of reach: whoever can talk to it has the machine. Start containers outside',
      undefined,
    ),
  },
  {
    words: /Could not find a version that satisfies|No matching distribution found for/,
    hint: hint('pip', 'pip could not reach the package index', '--profile pip'),
    hosts: true,
    // An index in a directory is a path like others on the command line.
    unless: ({ isAllowed, argv }) => isAllowed('pypi.org') || argv.some((word) => word.includes('file://')),
  },
]

/** SPEC 4.3: `/dev/tty` is there only where standard input is the terminal. */
function keysHint({ isPipedInto, argv: [program = ''] }: ProgramFacts): Hint[] {
  const name = basename(program)
  if (!isPipedInto || !READS_KEYS.test(name)) return []
  const text = `${name} reads keys from the terminal, which it has only where its standard input is the terminal, too`
  return [hint('terminal', `${text}; this works: cordon run -- sh -c 'COMMAND | ${name}'`, undefined)]
}

const READS_KEYS =
  /^(?:less|more|most|lv|vim?|nvim|view|vimdiff|nano|emacs|kak|hx|micro|fzf|sk|peco|percol|gum|dialog|whiptail|tig|bat)$/

/** ssh says what it could not do with a file, and never which file it missed. */
function sshHints({ said, exists, isInside, home }: ProgramFacts): Hint[] {
  const missed = SSH.filter(([words]) => words.test(said)).flatMap(([, what, names]) => {
    const name = names.find((each) => exists(`${home}/.ssh/${each}`))
    return name === undefined || isInside(`${home}/.ssh/${name}`) ? [] : [{ what, name }]
  })
  return missed.map(({ what, name }) => ({
    ...hint(`~/.ssh/${name}`, `${what}: ~/.ssh/${name} is not inside`, `--read ~/.ssh/${name}`),
    audience: 'person',
  }))
}

const SSH: readonly (readonly [words: RegExp, what: string, names: readonly string[]])[] = [
  [/Host key verification failed/, 'ssh does not know the host', ['known_hosts']],
  [/Permission denied \([^)]*publickey/, 'ssh has no key of yours', ['id_ed25519', 'id_ecdsa', 'id_rsa']],
]

/** Started by another program, what lies in the home is not there: `~/.local/bin` in a script of `npm test`. */
function missingPrograms({ said, path, home, exists, isInside }: ProgramFacts): Hint[] {
  const names = new Set(NOT_FOUND.flatMap((words) => [...said.matchAll(words)].map(([, name]) => name!)))
  const places = path.split(':').filter((dir) => dir.startsWith('/'))
  return [...names].slice(0, MOST_PROGRAMS).flatMap((name): Hint[] => {
    const file = places.map((dir) => `${dir}/${name}`).find(exists)
    if (file === undefined || isInside(file)) return []
    const typed = typedPath(file, home)
    return [
      { ...hint(file, `${typed} is on your PATH, and not inside`, `--execute ${typed}`), audience: 'person' },
    ]
  })
}

const MOST_PROGRAMS = 3
const NOT_FOUND = [
  /(?:^|: )([\w.+-]+): (?:command )?not found$/gm, // dash, bash
  /command not found: ([\w.+-]+)$/gm, // zsh
  /\benv: ['‘"]([\w.+-]+)['’"]: No such file or directory/g,
  /\bspawn ([\w.+-]+) ENOENT/g,
]

/** Where a variable says that code lies, its absence looks like code that is missing; and a company's own certificate like a wrong one. */
const MODULES: readonly (readonly [words: RegExp, variables: readonly string[], flag?: '--execute'])[] = [
  [/ModuleNotFoundError|ImportError: No module named/, ['PYTHONPATH', 'VIRTUAL_ENV', 'CONDA_PREFIX']],
  [/Cannot find module|ERR_MODULE_NOT_FOUND/, ['NODE_PATH']],
  [
    /error while loading shared libraries|cannot open shared object file/,
    ['LD_LIBRARY_PATH'],
    '--execute', // what is loaded as code is not only read
  ],
  [/LoadError|cannot load such file/, ['RUBYLIB', 'GEM_PATH', 'GEM_HOME']],
  [/Can't locate .* in @INC/, ['PERL5LIB']],
  [/ClassNotFoundException|Could not find or load main class/, ['CLASSPATH']],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_(?:GET_ISSUER|VERIFY)|unable to get local issuer|self[- ]signed certificate|CERTIFICATE_VERIFY_FAILED|unknown authority|UnknownIssuer/i,
    [
      'NODE_EXTRA_CA_CERTS',
      'SSL_CERT_FILE',
      'SSL_CERT_DIR',
      'CURL_CA_BUNDLE',
      'REQUESTS_CA_BUNDLE',
      'GIT_SSL_CAINFO',
      'PIP_CERT',
      'CARGO_HTTP_CAINFO',
      'AWS_CA_BUNDLE',
      'npm_config_cafile',
    ],
  ],
  [/cannot find package|package .* is not in (?:GOROOT|std)/, ['GOPATH', 'GOFLAGS']],
]

/** The variable and the places it names: one is of no use without the others. */
function pathVariables(facts: ProgramFacts): Hint[] {
  const { said, valueOf, isWithheld, home } = facts
  return MODULES.filter(([words]) => words.test(said)).flatMap(([, names, flag = '--read']) =>
    names.flatMap((name): Hint[] => {
      const value = valueOf(name)
      if (value === undefined) return []
      const places = missingPlaces(value, facts).map((path) => typedPath(path, home))
      const outside = places.length === 0 ? '' : `names ${places.join(', ')}, not inside`
      const flags = places.map((place) => `${flag} ${place}`)
      if (!isWithheld(name))
        return places.length === 0 ? [] : [personal(name, `the variable ${name} ${outside}`, flags)]
      const text = `the variable ${name} is set on the host, and not granted`
      return [
        personal(name, places.length === 0 ? text : `${text}; it ${outside}`, [`--env ${name}`, ...flags]),
      ]
    }),
  )
}

const missingPlaces = (value: string, { exists, isInside }: ProgramFacts): readonly string[] =>
  value
    .split(':')
    .filter((path) => path.startsWith('/') && exists(path) && !isInside(path))
    .slice(0, MOST_PLACES)

const MOST_PLACES = 3

const personal = (about: string, text: string, flags: readonly string[]): Hint => ({
  ...hint(about, text, flags.join(' ')),
  audience: 'person',
})
