import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Config, LlmProviderConfig } from '@cordon/config'
import { show, suggest } from '@cordon/policy'
import { ModelChoiceError, ModelKeyError } from './errors.ts'
import { send } from './transport.ts'

/** A model that can be asked, and what is known of it. */
export interface ModelChoice {
  /** `provider/model`, as a person writes it. */
  readonly id: string
  readonly provider: string
  readonly model: string
  readonly config: LlmProviderConfig
}

/** Who asks, and where keys are found. */
export interface ModelWorld {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Where a command that prints a key is started. */
  readonly cwd: string
}

/** SPEC 6.5: `--model`, else `assistant.model`. With neither, the choices are listed. */
export function chooseModel(config: Config, asked: string | undefined, env: ModelWorld['env']): ModelChoice {
  const id = asked ?? config.assistant.model
  if (id === undefined) throw new ModelChoiceError(noModel(config, env))
  const slash = id.indexOf('/')
  const [provider, model] = [id.slice(0, slash), id.slice(slash + 1)]
  const names = Object.keys(config.providers.llm)
  if (slash < 1 || model === '')
    throw new ModelChoiceError(
      `${show(id)} does not name a provider and a model\n  fix: write the provider, a slash and the model; providers are ${names.join(', ')}`,
    )
  const found = Object.hasOwn(config.providers.llm, provider) ? config.providers.llm[provider] : undefined
  if (found) return { id, provider, model, config: found }
  const meant = suggest(provider, names)
  throw new ModelChoiceError(
    `no provider is named ${show(provider)}; ${meant === undefined ? `there are: ${names.join(', ')}` : `did you mean ${meant}?`}`,
  )
}

function noModel({ providers }: Config, env: ModelWorld['env']): string {
  const lines = Object.entries(providers.llm).map(([name, provider]) => {
    const { api_key_env: variable, base_url } = provider
    const state =
      variable === undefined
        ? `at ${base_url}`
        : env[variable]
          ? `${variable} is set`
          : `needs ${variable}${provider.api_key_command ? ' or its command' : ''}`
    return `    ${name}/…  (${state})`
  })
  return [
    'no model is chosen',
    '  fix: name one: cordon q --model PROVIDER/MODEL …, or for good: cordon config set --user assistant.model PROVIDER/MODEL',
    '  providers:',
    ...lines,
    '  without any of them: `cordon demo` shows a conversation with a recorded model',
  ].join('\n')
}

/** A model that is asked now. */
export interface OpenModel {
  readonly model: LanguageModelV4
  /** A text without the key. */
  readonly redact: (text: string) => string
  /** What nobody else may read. */
  readonly keys: readonly string[]
}

/** The keys that variables hold, also of providers that are not asked now. */
export const keysIn = ({ providers }: Config, env: ModelWorld['env']): string[] =>
  Object.values(providers.llm).flatMap(({ api_key_env: variable }) => {
    const key = variable === undefined ? undefined : env[variable]
    return key ? [key] : []
  })

/** The library of its protocol is loaded now, and no other. */
export async function openModel(choice: ModelChoice, world: ModelWorld): Promise<OpenModel> {
  const apiKey = await keyOf(choice, world)
  const redact = (text: string): string => (apiKey === undefined ? text : text.replaceAll(apiKey, '…'))
  return { model: await modelOf(choice, apiKey), redact, keys: apiKey === undefined ? [] : [apiKey] }
}

async function modelOf(
  { provider: name, model, config }: ModelChoice,
  apiKey: string | undefined,
): Promise<LanguageModelV4> {
  // Without one of ours the libraries would look for variables of their own.
  const key = { apiKey: apiKey ?? 'none', fetch: send }
  const at = config.base_url === undefined ? {} : { baseURL: config.base_url }
  switch (config.kind) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic({ ...key, ...at })(model)
    }
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI({ ...key, ...at })(model)
    }
    case 'google': {
      const { createGoogle } = await import('@ai-sdk/google')
      return createGoogle({ ...key, ...at })(model)
    }
    case 'openai-compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({
        name,
        ...key,
        baseURL: config.base_url!,
        includeUsage: true,
        supportsStructuredOutputs: true,
      })(model)
    }
  }
}

/** From the variable, else from the command. Undefined: this one needs none. */
export async function keyOf(
  { provider, config }: Pick<ModelChoice, 'provider' | 'config'>,
  { env, cwd }: ModelWorld,
): Promise<string | undefined> {
  const { api_key_env: variable, api_key_command: command } = config
  const value = variable === undefined ? undefined : env[variable]
  if (value) return value
  if (command) return printedBy(provider, command, { env, cwd })
  if (variable === undefined) return undefined
  throw new ModelKeyError(
    `there is no key for ${provider}: ${variable} is not set\n  fix: export ${variable}=…, or let a command print it: cordon config set --user providers.llm.${provider}.api_key_command '["pass", "show", "${provider}"]'`,
  )
}

/** Where `keyOf` finds it, or would. An argument of a command may be the key: only its program is said. */
export const keySource = (
  { api_key_env: variable, api_key_command: command }: LlmProviderConfig,
  env: ModelWorld['env'],
): string | undefined =>
  command && !(variable !== undefined && env[variable]) ? `the command ${show(command[0]!)}` : variable

const KEY_SECONDS = 60

/** A person's own command, with a person's rights: only their layers can name it (config/src/check/files.ts). */
async function printedBy(provider: string, command: readonly string[], world: ModelWorld): Promise<string> {
  const [program, ...words] = command
  const failed = (why: string): ModelKeyError =>
    new ModelKeyError(
      `there is no key for ${provider}: ${show(command.join(' '))} ${why}\n  fix: run it yourself; it has to print the key and nothing else`,
    )
  try {
    const { stdout } = await promisify(execFile)(program!, words, {
      cwd: world.cwd,
      env: world.env,
      timeout: KEY_SECONDS * 1000,
    })
    const key = stdout.trim()
    if (key === '' || /[\s\p{C}]/u.test(key)) throw failed('printed no key')
    return key
  } catch (error) {
    if (error instanceof ModelKeyError) throw error
    // What it printed is in the error's message, and may be the key.
    const { code, killed } = error as { readonly code?: unknown; readonly killed?: boolean }
    throw failed(killed ? `did not end within ${KEY_SECONDS} s` : `failed (${String(code)})`)
  }
}
