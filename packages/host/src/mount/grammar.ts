import { quote, show } from '@cordon/policy'
import { MountError } from './errors.ts'

export type MountMode = 'ro' | 'rw'

/** `[TOOL:]NAME=PATH[:MODE]`, taken apart and not yet looked up anywhere. */
export interface MountRequest {
  readonly text: string
  /** Undefined: all enabled local tools. */
  readonly tool: string | undefined
  readonly name: string
  readonly path: string
  readonly mode: MountMode
}

/** SPEC 3.3. Pure; throws MountError. */
export function parseMount(text: string): MountRequest {
  const wrong = (message: string): MountError => new MountError([{ text, message }])
  // The first `=`: a path may contain more of them, and so may a Windows path contain `:`.
  const equals = text.indexOf('=')
  if (equals < 0) throw wrong(`expected ${SHAPE}, and there is no =`)
  const { tool, name } = splitLeft(text.slice(0, equals))
  const { path, mode } = peelMode(text.slice(equals + 1))
  if (tool !== undefined && !isMountable(tool))
    throw wrong(`${quote(tool)} is not a tool name; before the : stand only a-z, 0-9 and _`)
  if (name === '') throw wrong(`expected ${SHAPE}, and the NAME is empty`)
  if (path === '') throw wrong(`expected ${SHAPE}, and the PATH is empty`)
  if (mode === 'rw' && tool === undefined)
    throw wrong(
      `\`:rw\` requires a TOOL: prefix\n  fix: say who may write: ${show(`fs_modify_file:${text}`)}; each tool in a command of its own`,
    )
  return { text, tool, name, path, mode: mode ?? 'ro' }
}

/** Whether a tool of this name can be named in a mount. */
export const isMountable = (tool: string): boolean => /^[a-z_][a-z0-9_]*$/.test(tool)

const SHAPE = '[TOOL:]NAME=PATH[:ro|:rw]'

function splitLeft(left: string): { tool: string | undefined; name: string } {
  const colon = left.indexOf(':')
  return colon < 0
    ? { tool: undefined, name: left }
    : { tool: left.slice(0, colon), name: left.slice(colon + 1) }
}

/** Only these two, and only at the end: `C:\x` keeps its drive, and a path may end in `:x`. */
function peelMode(right: string): { path: string; mode: MountMode | undefined } {
  const mode = (['ro', 'rw'] as const).find((each) => right.endsWith(`:${each}`))
  return { path: mode === undefined ? right : right.slice(0, -3), mode }
}
