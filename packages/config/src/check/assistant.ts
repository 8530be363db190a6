import { quote } from '@cordon/policy'
import { type AssistantConfig, type LlmProviderConfig, type Named } from '../config.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { type Findings, tableOf } from './findings.ts'

/** `[assistant]`. What nobody wrote is in the built-in layer. */
export function readAssistant(findings: Findings): AssistantConfig {
  const written = tableOf(findings.values['assistant']) as unknown as AssistantConfig
  const { model } = written
  if (typeof model === 'string' && !/^[A-Za-z0-9_-]+\/./.test(model))
    findings.add(
      ['assistant', 'model'],
      `\`assistant.model\`: ${quote(model)} does not name a provider and a model`,
      'write the provider, a slash and the model: model = "anthropic/claude-sonnet-4-5"',
    )
  return written
}

/** `[providers.llm.<name>]`. */
export function readLlmProviders(findings: Findings): Named<LlmProviderConfig> {
  const providers = Object.create(null) as Record<string, LlmProviderConfig>
  for (const [name, value] of Object.entries(tableOf(tableOf(findings.values['providers'])['llm']))) {
    const path = ['providers', 'llm', name]
    const fields = tableOf(value) as Partial<LlmProviderConfig>
    const { kind, base_url } = fields
    const add = (message: string, fix: string): void =>
      findings.add(path, `\`${formatKeyPath(path)}\`: ${message}`, fix)
    if (!/^[A-Za-z0-9_-]+$/.test(name)) add('this is not a name', 'use letters, digits, _ and -')
    if (kind === undefined) add('it has no `kind`', `write the protocol it speaks: ${WHOLE}`)
    if (kind === 'openai-compatible' && base_url === undefined)
      add('nobody knows where it is', `write its address: ${WHOLE}`)
    if (typeof base_url === 'string' && !isWebAddress(base_url))
      add(`${quote(base_url)} is not an http or https URL`, 'base_url = "https://…/v1"')
    if (typeof base_url === 'string' && /^https?:\/\/[^/]*@/.test(base_url))
      add('a password in a URL is printed where the URL is', 'use api_key_env or api_key_command')
    providers[name] = { ...fields, models: fields.models ?? {} } as LlmProviderConfig
  }
  return providers
}

/** `config set` changes one value, and a provider is valid when it has both: so they are one value. */
const WHOLE = '{ kind = "openai-compatible", base_url = "http://127.0.0.1:11434/v1" }'

const isWebAddress = (text: string): boolean => /^https?:\/\//.test(text) && URL.canParse(text)
