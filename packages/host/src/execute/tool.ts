import { type Config, formatKeyPath, suggest, type ToolConfig } from '@cordon/config'
import { CordonError, quote } from '@cordon/policy'
import { type Installation, shippedTool } from './shipped.ts'

/** A tool that can be started: what it is given, and how. */
export interface LocalTool {
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema of its arguments; undefined: any object will do. */
  readonly parameters: Readonly<Record<string, unknown>> | undefined
  /** The words of its command line, with placeholders. */
  readonly command: readonly string[]
  /** What it is made of in Cordon's installation, if it is shipped: always there inside, and never changed. */
  readonly own: readonly string[]
  /** Whether it is the one that Cordon ships, and not another under its name. */
  readonly shipped: boolean
  readonly config: ToolConfig
}

/** No layer knows the name. */
class UnknownToolError extends CordonError {
  readonly code = 'UNKNOWN_TOOL'
}

/** It is known, and cannot be run here or now. */
export class NotRunnableError extends CordonError {
  readonly code = 'NOT_RUNNABLE'
}

export function findToolConfig({ conversation }: Config, name: string): ToolConfig {
  const config = Object.hasOwn(conversation.tools, name) ? conversation.tools[name] : undefined
  if (config) return config
  const names = Object.keys(conversation.tools)
  const meant = suggest(name, names)
  throw new UnknownToolError(
    `no tool is named ${quote(name)}; ${meant === undefined ? `there are: ${names.join(', ')}` : `did you mean ${meant}?`}`,
  )
}

/** SPEC 6.5: from the merged configuration and what Cordon ships to something that can be started. */
export function resolveTool(config: Config, name: string, installation: Installation): LocalTool {
  const tool = findToolConfig(config, name)
  if (!tool.enable)
    throw new NotRunnableError(`tool ${name} is switched off\n  fix: ${enablingCommand(name)}`)
  switch (tool.source.kind) {
    case 'local':
      return localTool(name, tool, installation)
    case 'mcp':
      throw new NotRunnableError(
        `tool ${name} is offered by the MCP server ${tool.source.server}: it runs through the gateway, not by \`cordon tool run\``,
      )
    case 'builtin':
      throw new NotRunnableError(`tool ${name} is part of Cordon itself and runs only inside a conversation`)
  }
}

export const enablingCommand = (name: string): string =>
  `cordon config set ${formatKeyPath(['conversation', 'tools', name, 'enable'])} true`

/** A layer may replace the command of a shipped tool; its schema then stays, unless that is replaced too. */
export function localTool(name: string, config: ToolConfig, installation: Installation): LocalTool {
  const shipped = shippedTool(name, installation)
  const command = config.command ?? shipped?.command
  if (!command) throw new NotRunnableError(`tool ${name} has no command`)
  return {
    name,
    description: config.description,
    parameters: config.parameters ?? shipped?.parameters,
    command,
    own: config.command === undefined ? (shipped?.own ?? []) : [],
    shipped: config.command === undefined,
    config,
  }
}
