import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { findTool } from '@cordon/tools'

/** How the tools that Cordon ships are started: which Node, and the bundle they are in (decision 0104). */
export interface Installation {
  readonly node: string
  readonly tools: string
}

export interface ShippedTool {
  readonly parameters: Readonly<Record<string, unknown>>
  readonly command: readonly string[]
  /** What is read and started of Cordon's installation. */
  readonly own: readonly string[]
}

/** Undefined: not one of ours. */
export function shippedTool(name: string, { node, tools }: Installation): ShippedTool | undefined {
  const tool = findTool(name)
  if (!tool) return undefined
  const [program, files] = howToStart(tools)
  return {
    parameters: { ...tool.parameters },
    command: [node, ...program, name],
    own: [node, ...files, ...(name === SEARCH ? ripgrepOf(tools) : [])],
  }
}

/**
 * Decision 0243: with the code that was made of the bundle, where that lies beside it, and without a random start of
 * V8's hash tables: who makes them slow by a file that is read has made one call slow, and calls have a time limit.
 */
function howToStart(tools: string): readonly [program: readonly string[], files: readonly string[]] {
  const [start, code] = ['tools-start.cjs', 'tools.code'].map((name) => join(dirname(tools), name)) as [
    string,
    string,
  ]
  if (!existsSync(code)) return [[...FEW_THREADS, tools], [tools]]
  return [
    ['--no-rehash-snapshot', ...FEW_THREADS, start],
    [tools, start, code],
  ]
}

/** They are sooner started, and sooner stopped; none of them has much to do. Without the one for SIGUSR1 nobody can open a debugger. */
const FEW_THREADS = ['--v8-pool-size=1', '--disable-sigusr1']

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
