import { basename, isAbsolute } from 'node:path'

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
 * SPEC 2.1: the first that such a line says beyond what an import writes (`launchOf`), undefined: nothing. Options of Cordon
 * are a person's word, and in a file of a clone nobody has said them (decision 0561).
 */
export function ownWords([verb, ...rest]: readonly string[], here: string | undefined): string | undefined {
  if (verb !== 'serve') return verb
  for (let i = 0; i < rest.length; i += 2) {
    const [option = '', value] = rest.slice(i, i + 2)
    const isOurs =
      value !== undefined &&
      (option === '--server' ||
        (option === '--cfg' && value === UNATTENDED) ||
        (option === '--workspace' && value === here))
    if (!isOurs) return value === undefined || option.includes('=') ? option : `${option} ${value}`
  }
  return undefined
}
