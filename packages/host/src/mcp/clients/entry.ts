import { basename } from 'node:path'
import { isFields } from '@cordon/policy'
import type { Launch } from './document.ts'
import { looksSecret } from './secrets.ts'

/** One server as a client's file describes it, and whether we can take it over. */
export type Entry =
  | ({
      readonly kind: 'local'
      readonly variables: readonly Variable[]
      /** Arguments and values that look like paths: it may be pointed to what it will not reach. */
      readonly places: readonly string[]
      readonly notes: readonly string[]
    } & Launch)
  | { readonly kind: 'remote' }
  /** It is started through Cordon already. */
  | { readonly kind: 'wrapped' }
  | { readonly kind: 'left'; readonly why: string }

export interface Variable {
  readonly name: string
  /** `client`: the value is a placeholder that only the client can fill in; `file`: it stands in the client's file. */
  readonly filledBy: 'client' | 'file'
}

/** Pure. `value` is whatever the client's file has under the server's name. */
export function readEntry(
  value: unknown,
  scope: 'user' | 'project',
  isThis: (program: string) => boolean = (program) => program === 'cordon',
): Entry {
  const left = (why: string): Entry => ({ kind: 'left', why })
  if (!isFields(value)) return left('its entry is not an object')
  const { command, args, env, env_vars: names, type } = value
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
  const called = cordonIn([command, ...(args ?? [])])
  if (called !== undefined && isThis(called)) return { kind: 'wrapped' }
  if (called !== undefined) return left(`it is called like Cordon, and is not this one: ${called}`)
  const variables = [
    ...Object.entries(env ?? {}).map(([name, text]): Variable => ({
      name,
      filledBy: typeof text === 'string' && !hasPlaceholder(text) ? 'file' : 'client',
    })),
    ...(names ?? []).map((name): Variable => ({ name, filledBy: 'client' })),
  ]
  const why = whyNotCommand([command, ...(args ?? [])], scope) ?? whyNotVariables(variables, scope)
  if (why !== undefined) return left(why)
  const places = [...(args ?? []), ...Object.values(env ?? {})].filter(
    (text): text is string => typeof text === 'string' && /^(?:--?[\w-]+=)?(?:\/|~\/|~$)/.test(text),
  )
  return { kind: 'local', command, args, variables, places, notes: notesOn(value) }
}

const REMOTE_KEYS = ['url', 'httpUrl', 'serverUrl'] as const

/** The program of `[node] cordon mcp serve|wrap …`, by whatever path; undefined: it is no such line. */
function cordonIn(words: readonly string[]): string | undefined {
  const at = words.slice(0, 2).findIndex((word) => /^cordon(?:\.cjs)?$/.test(basename(word)))
  if (at < 0 || words[at + 1] !== 'mcp' || !['serve', 'wrap'].includes(words[at + 2] ?? '')) return undefined
  return words[at]
}

function whyNotCommand(words: readonly string[], scope: 'user' | 'project'): string | undefined {
  const [command = '', ...args] = words
  if (words.some(hasHidden)) return 'its command line holds control characters'
  const placeholder = words.find(hasPlaceholder)
  if (placeholder !== undefined)
    return `its command line holds ${placeholderIn(placeholder)}, which only the client can fill in; add it by hand with what it stands for`
  if (scope === 'user' && command.includes('/') && !command.startsWith('/'))
    return 'its command is a relative path, and means another program wherever the client starts it'
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
  return undefined
}

const CORDONS =
  /^(?:LD_.*|DYLD_.*|CORDON_.*|NODE_(?!ENV$).*|BASH_.*|ENV|IFS|SHELLOPTS|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|OPENSSL_.*|HOME|XDG_(?:CONFIG|DATA|CACHE)_HOME|SUDO_UID)$/

/** Control characters, and what turns text around or cannot be seen: nobody could tell what they agreed to. */
export const hasHidden = (text: string): boolean => /[\p{C}\p{Zl}\p{Zp}\p{DI}]/u.test(text)

const notesOn = (value: Readonly<Record<string, unknown>>): readonly string[] =>
  value['envFile'] === undefined
    ? []
    : [
        'the variables of its envFile reach it only when a rule names them: cordon config set --user providers.mcp.NAME.access.env \'+{ name = "…", read = true }\'',
      ]

/** `${VAR}`, `${VAR:-default}`, `${env:VAR}`, `${input:id}`, `${workspaceFolder}`; Gemini's `$VAR`. */
export const hasPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

const placeholderIn = (text: string): string => PLACEHOLDER.exec(text)?.[0] ?? ''

const PLACEHOLDER = /\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*/

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string')
