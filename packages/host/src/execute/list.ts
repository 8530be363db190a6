import type { Config, RunMode, RunRule, ToolSource } from '@cordon/config'
import type { Installation } from './shipped.ts'
import { findToolConfig, localTool, type LocalTool } from './tool.ts'

/** A line of `cordon tool ls`. */
export interface ToolSummary {
  readonly name: string
  readonly source: string
  readonly run: RunMode | readonly RunRule[]
  readonly enabled: boolean
  readonly description: string | undefined
}

export const listTools = ({ conversation }: Config): ToolSummary[] =>
  Object.entries(conversation.tools).map(([name, { source, run, enable, description }]) => {
    return { name, source: sourceText(source), run, enabled: enable, description }
  })

function sourceText(source: ToolSource): string {
  switch (source.kind) {
    case 'local':
    case 'builtin':
      return source.kind
    case 'mcp':
      return `mcp.${source.server}${source.tool === undefined ? '' : `.${source.tool}`}`
  }
}

/** A summary with what only local tools have. */
export type ToolView = ToolSummary & Partial<Pick<LocalTool, 'parameters' | 'command'>>

export function viewTool(config: Config, name: string, installation: Installation): ToolView {
  const tool = findToolConfig(config, name)
  const [summary] = listTools({
    ...config,
    conversation: { ...config.conversation, tools: { [name]: tool } },
  })
  const { parameters, command } = tool.source.kind === 'local' ? localTool(name, tool, installation) : tool
  return {
    ...summary!,
    ...(parameters === undefined ? {} : { parameters }),
    ...(command === undefined ? {} : { command }),
  }
}
