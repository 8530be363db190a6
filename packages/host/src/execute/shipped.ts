import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { findTool } from '@cordon/tools'

/** How the tools that Cordon ships are started: which Node, and the bundle they are in (decision 0104). */
export interface Installation {
  readonly node: string
  readonly tools: string
}

export interface ShippedTool {
  readonly parameters: Readonly<Record<string, unknown>>
  readonly command: readonly string[]
  readonly runtime: readonly string[]
}

/** Undefined: not one of ours. */
export function shippedTool(name: string, { node, tools }: Installation): ShippedTool | undefined {
  const tool = findTool(name)
  if (!tool) return undefined
  return {
    parameters: { ...tool.parameters },
    command: [node, tools, name],
    runtime: [tools, ...(name === SEARCH ? ripgrepOf(tools) : [])],
  }
}

const SEARCH = 'fs_grep_files'

/** The package of the program that searches, found from the bundle as the bundle itself will find it. */
function ripgrepOf(tools: string): readonly string[] {
  try {
    const name = `@vscode/ripgrep-${process.platform}-${process.arch}`
    return [dirname(dirname(createRequire(tools).resolve(`${name}/bin/rg`)))]
  } catch {
    return [] // the tool says that it is missing
  }
}
