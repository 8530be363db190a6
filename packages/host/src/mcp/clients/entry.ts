import { basename } from 'node:path'
import { isFields, show } from '@cordon/policy'
import { relativeCode } from '../code-files.ts'
import { type CordonLine, cordonLine, ownWords } from './cordon-line.ts'
import type { Launch } from './document.ts'
import { looksSecret } from './secrets.ts'

/** One server as a client's file describes it, and whether we can take it over. */
export type Entry =
  | ({
      readonly kind: 'local'
      readonly variables: readonly Variable[]
      /** Arguments and values that look like paths: it may be pointed to what it will not reach. */
      readonly places: readonly string[]
    } & Launch)
  | { readonly kind: 'remote' }
  /** It is started through Cordon already. */
  | { readonly kind: 'wrapped' }
  | { readonly kind: 'left'; readonly why: string }

export interface Variable {
  readonly name: string
  /** `client`: the value is a placeholder that only the client can fill in; `file`: it stands in the client's file. */
  readonly filledBy: 'client' | 'file'
  /** The placeholders in it, without defaults: `${AWS_SECRET_ACCESS_KEY}`. */
  readonly from: readonly string[]
}

/** Where an entry stands. */
export interface EntryPlace {
  /** `project`: the file came with the workspace's files. */
  readonly scope: 'user' | 'project'
  /** The workspace, where the entry is for that one alone. */
  readonly here: string | undefined
  /** What a program that is called like Cordon leads to; undefined: it is this one. */
  readonly otherThanThis: (program: string) => string | undefined
}

/** Pure. `value` is whatever the client's file has under the server's name. */
export function readEntry(value: unknown, place: EntryPlace): Entry {
  const left = (why: string): Entry => ({ kind: 'left', why })
  if (!isFields(value)) return left('its entry is not an object')
  if (inherits(value)) return left(`it has the key __proto__, ${INHERITED}`)
  const { command, args, env, env_vars: names, type, cwd } = value
  const isRemote = REMOTE_KEYS.some((key) => value[key] !== undefined)
  if (command === undefined && isRemote) return { kind: 'remote' }
  if (isRemote) return left('it has a command and a URL')
  if (typeof type === 'string' && type !== 'stdio')
    return left(`its type is ${JSON.stringify(type)}, and Cordon confines stdio`)
  if (typeof command !== 'string' || command === '') return left('it has no command')
  if (args !== undefined && !isTexts(args)) return left('its args are not a list of texts')
  if (env !== undefined && !isFields(env)) return left('its env is not an object')
  if (names !== undefined && !isTexts(names)) return left('its env_vars are not a list of names')
  if (value['disabled'] === true || value['enabled'] === false) return left('it is turned off in the client')
  const line = [command, ...(args ?? [])]
  const variables = [
    ...Object.entries(env ?? {}).map(([name, text]): Variable => ({
      name,
      filledBy: typeof text === 'string' && !hasPlaceholder(text) ? 'file' : 'client',
      from: typeof text === 'string' ? placeholdersIn(text) : [],
    })),
    ...(names ?? []).map((name): Variable => ({ name, filledBy: 'client', from: [] })),
  ]
  const handed = whyNotFile(value['envFile'])
  const around = whyNotVariables(variables, place.scope) ?? handed ?? whyNotDirectory(cwd, place)
  const called = cordonLine(line)
  if (called) return behindCordon(called, place.scope === 'user' ? handed : around, place)
  const why = whyNotCommand(line) ?? around
  if (why !== undefined) return left(why)
  const places = [...(args ?? []), ...Object.values(env ?? {})].filter(
    (text): text is string => typeof text === 'string' && /^(?:--?[\w-]+=)?(?:\/|~\/|~$)/.test(text),
  )
  return { kind: 'local', command, args, variables, places }
}

/** VS Code makes it what the other keys are inherited from, so that it may hold `env` or `command`; for others it is a key. */
export const INHERITED = 'which clients read in different ways; take it out'

const inherits = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(inherits))

const REMOTE_KEYS = ['url', 'httpUrl', 'serverUrl'] as const

/** What a person typed into a file of their own is their word; a project's file may have come with a clone. */
function behindCordon(
  { program, words }: CordonLine,
  around: string | undefined,
  { scope, here, otherThanThis }: EntryPlace,
): Entry {
  const left = (why: string): Entry => ({ kind: 'left', why })
  const other = otherThanThis(program)
  if (other !== undefined) return left(`it is called like Cordon, and is not this one: ${show(other)}`)
  const own = scope === 'user' ? undefined : ownWords(words, here)
  if (own !== undefined)
    return left(
      `it starts Cordon with ${show(own)}, and what came with a project's files would count there as your own word; take it out of the client's file, unless you mean it`,
    )
  return around === undefined ? { kind: 'wrapped' } : left(around)
}

/**
 * VS Code and Cursor hand over what a file says by then, as they hand over `env`. Nobody guards that file, and no look at it now
 * says what will be in it.
 */
const whyNotFile = (envFile: unknown): string | undefined =>
  envFile === undefined || envFile === null || envFile === ''
    ? undefined
    : "it has an envFile, and whoever may write that file would set variables of Cordon itself; name those that it needs in env, and take envFile out of the client's file"

/** Behind Cordon a server is started in the root of the workspace. */
function whyNotDirectory(cwd: unknown, { here }: EntryPlace): string | undefined {
  if (cwd === undefined || cwd === null || cwd === here) return undefined
  if (typeof cwd !== 'string') return 'its cwd is not a text'
  if (['', '.', './', '${workspaceFolder}'].includes(cwd)) return undefined
  return `it is to be started in ${show(cwd)} (cwd), and behind Cordon a server starts in the root of the workspace; write whole paths into its arguments, and take cwd out of the client's file`
}

/** Why a command line cannot be for all workspaces, undefined: it can. */
export function whyNotEverywhere(line: readonly string[]): string | undefined {
  const file = relativeCode(line)
  return file === undefined
    ? undefined
    : `it runs ${show(file)}, a relative path, which is another program in every workspace`
}

function whyNotCommand(words: readonly string[]): string | undefined {
  const [command = '', ...args] = words
  if (words.some(hasHidden)) return 'its command line holds control characters'
  const placeholder = words.find(hasPlaceholder)
  if (placeholder !== undefined)
    return `its command line holds ${placeholderIn(placeholder)}, which only the client can fill in; add it by hand with what it stands for`
  if (['docker', 'podman'].includes(basename(command)))
    return `${basename(command)} needs the socket of its daemon, which is as good as all your rights: a confined program does not get it`
  const secret = args.findIndex((word, i) => looksSecret(word, args[i - 1]))
  if (secret >= 0)
    return `its argument ${secret + 1} looks like a secret, which would be copied; put it into env, from where Cordon does not copy it`
  return undefined
}

/**
 * The client hands its `env` to Cordon, which starts the server. So what a variable makes a program load, or look for its
 * configuration, would be Cordon's own (SPEC 2.1: only a person says how things are held).
 */
function whyNotVariables(variables: readonly Variable[], scope: 'user' | 'project'): string | undefined {
  const wrong = variables.find(({ name }) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
  if (wrong) return `its env has ${JSON.stringify(wrong.name)}, which is not a variable name`
  const ours = variables.find(({ name }) => CORDONS.test(name) || (scope === 'project' && name === 'PATH'))
  if (ours)
    return `its env sets ${ours.name}, which would work on Cordon itself; take it out of the client's file`
  const leads = scope === 'project' && variables.find(({ name }) => LEADS.test(name))
  if (leads)
    return `its env sets ${leads.name}, which would choose where hosts that you allow lead; take it out of the client's file`
  return undefined
}

/** SPEC 4.5: by these the proxy is told its own proxy, and the system's resolver where to look. */
const LEADS = /^(?:(?:https?|all|no|ftp|socks)_proxy|LOCALDOMAIN|RES_OPTIONS|HOSTALIASES|RESOLV_.*)$/i

const CORDONS =
  /^(?:LD_.*|DYLD_.*|CORDON_.*|NODE_(?!ENV$).*|BASH_.*|ENV|IFS|SHELLOPTS|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|OPENSSL_.*|HOME|XDG_(?:CONFIG|DATA|CACHE)_HOME|SUDO_UID|GIT_CONFIG_.*)$/

/** Control characters, and what turns text around or cannot be seen: nobody could tell what they agreed to. */
export const hasHidden = (text: string): boolean => /[\p{C}\p{Zl}\p{Zp}\p{DI}]/u.test(text)

/** `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}`, `${workspaceFolder}`; Gemini's `$VAR`. */
export const hasPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

const placeholderIn = (text: string): string => PLACEHOLDER.exec(text)?.[0] ?? ''

const PLACEHOLDER = /\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*/

/** Those in it that name something, also inside of others: `${A:-${B}}` is `${A}` and `${B}`. */
const placeholdersIn = (text: string): readonly string[] =>
  [...text.matchAll(/\$\{\s*([A-Za-z_][\w.-]*(?::\w[\w.-]*)?)|(\$[A-Za-z_]\w*)/g)].map(
    ([, braced, plain = '']) => (braced === undefined ? plain : `\${${braced}}`),
  )

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
