import type { Config, ToolConfig } from '@cordon/config'
import { show } from '@cordon/policy'
import { Unfit } from './place.ts'

/** SPEC 3.3: the tool that was named, or all enabled local ones: others have no access of their own to extend. */
export function toolsInScope(config: Config, named: string | undefined): readonly string[] {
  const { tools } = config.conversation
  const local = Object.entries(tools)
    .filter(([, tool]) => tool.enable && tool.source.kind === 'local')
    .map(([name]) => name)
  if (named === undefined) {
    if (local.length === 0) throw new Unfit('no local tool is enabled, so nobody could use it')
    return local
  }
  const tool = Object.hasOwn(tools, named) ? tools[named] : undefined
  const reason = tool ? unfitness(tool) : 'does not exist'
  if (reason === undefined) return [named]
  throw new Unfit(`the tool ${show(named)} ${reason}; enabled local tools: ${local.join(', ') || 'none'}`)
}

function unfitness({ enable, source }: ToolConfig): string | undefined {
  switch (source.kind) {
    case 'local':
      return enable ? undefined : 'is disabled'
    case 'mcp':
      return 'is not local: it is offered by an MCP server'
    case 'builtin':
      return 'is not local: it runs inside Cordon'
  }
}
