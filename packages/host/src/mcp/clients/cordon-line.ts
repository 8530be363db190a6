import { basename, isAbsolute } from 'node:path'
import { CordonError } from '@cordon/policy'
import { findProgram } from '@cordon/sandbox'
import type { Surroundings } from '@cordon/workspace'

/** What an import writes where the client asks before a call, so that Cordon does not ask as well (decision 0241). */
export const UNATTENDED = 'conversation.tools.*.run=unattended'

/** A command line that starts Cordon as an MCP server. */
export interface CordonLine {
  readonly program: string
  /** What follows `mcp`. */
  readonly words: readonly string[]
}

/** `cordon mcp serve|wrap …`, by whatever path, or `node /…/cordon.cjs` before it; undefined: it is no such line. */
export function cordonLine(line: readonly string[]): CordonLine | undefined {
  const [first = '', second = ''] = line
  const isBehindNode = basename(first) === 'node' && isAbsolute(second)
  const [program = '', mcp, ...words] = isBehindNode ? line.slice(1) : line
  if (!/^cordon(?:\.cjs)?$/.test(basename(program)) || mcp !== 'mcp') return undefined
  return ['serve', 'wrap'].includes(words[0] ?? '') ? { program, words } : undefined
}

/**
 * SPEC 2.1: the first option of such a line that an import would not write (`launchOf`), undefined: there is none. Options of
 * Cordon are a person's word, and in a file of a clone nobody has said them (decision 0561). What `wrap` confines by default
 * needs none.
 */
export function ownWords([verb, ...rest]: readonly string[], here: string | undefined): string | undefined {
  const options = verb === 'wrap' && rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
  for (let i = 0; i < options.length; i += 2) {
    const [option = '', value] = options.slice(i, i + 2)
    const isOurs =
      (option === '--workspace' && here !== undefined && value === here) ||
      (verb === 'serve' && option === '--server' && value !== undefined) ||
      (verb === 'serve' && option === '--cfg' && value === UNATTENDED)
    if (!isOurs) return value === undefined || option.includes('=') ? option : `${option} ${value}`
  }
  return undefined
}

/** What a client that asks for `cordon` finds, with a PATH like ours; undefined: nothing. */
export function cordonOnPath(cwd: string, { env }: Surroundings): string | undefined {
  try {
    return findProgram('cordon', cwd, env['PATH'] ?? '')
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}
