import { lstatSync } from 'node:fs'
import {
  type AccessPolicy,
  Context,
  CordonError,
  DeniedError,
  type Location,
  type Meant,
  show,
} from '@cordon/policy'
import { parseArguments, refuseUtility, reportError, requireFile, type ToolFailure } from '@cordon/tools'
import { loadPatternTest } from '../execute/patterns.ts'
import type { LocalTool } from '../execute/tool.ts'
import { type Touched, touchedBy } from '../execute/touched.ts'
import { editProblem } from './shown.ts'
import type { FilesNow } from '../execute/files-now.ts'
import { takenAs } from '../execute/shown-paths.ts'

/** What is known of a call before it runs, and before anybody is asked about it. */
export interface Foreseen {
  /** It cannot succeed, and this is what it would say. */
  readonly refusal: string | undefined
  /** What a rule refuses, if that is why. */
  readonly denied?: ToolFailure['denied']
  /** It replaces a file that is there. */
  readonly replaces: boolean
}

export const NOTHING_FORESEEN: Foreseen = { refusal: undefined, replaces: false }

interface ForeseenWith {
  readonly root: string
  readonly policy: AccessPolicy | undefined
  readonly files: FilesNow
}

/**
 * SPEC 6.5, decision 0366: nobody is asked about a call that cannot succeed. Only looks; whoever runs the call checks all of it
 * again, so that at worst somebody is asked in vain.
 */
export async function foresee(
  tool: Pick<LocalTool, 'name' | 'parameters' | 'shipped'>,
  args: unknown,
  world: ForeseenWith,
): Promise<Foreseen> {
  try {
    const given = parseArguments(tool.parameters, args, await loadPatternTest(tool.parameters))
    if (!tool.shipped || !world.policy) return NOTHING_FORESEEN
    const context = new Context({ root: world.root, action: 'run', access: world.policy, tool: tool.name })
    if (tool.name === 'unix_utils') refuseUtility(given, context)
    const places = touchedBy(tool.name, given).map((touched) =>
      placeOf(context, touched, world, takenAs(tool.name, touched)),
    )
    const replaced = places.find(({ isReplaced }) => isReplaced)
    if (replaced && given['overwrite'] === false)
      return { refusal: `${show(replaced.name)} exists and was not replaced`, replaces: false }
    const problem = tool.name === 'fs_modify_file' ? editProblem(given, world.files) : undefined
    return { refusal: problem, replaces: replaced !== undefined }
  } catch (error) {
    if (!(error instanceof CordonError)) throw error
    const report = reportError(error, tool.name, { arguments: args, root: world.root })
    if (report.type !== 'error') return { refusal: error.message, replaces: false }
    return { refusal: report.message, denied: report.denied, replaces: false }
  }
}

interface Foretold {
  readonly name: string
  readonly isReplaced: boolean
}

/** Throws as the tool would. */
function placeOf(context: Context, { path, want }: Touched, { files }: ForeseenWith, as: Meant): Foretold {
  if (want !== 'write') {
    const { absolute, relative } = context.locate(path, want)
    if (want !== 'read' && !isThere(absolute)) throw new MissingError(`${show(relative)} does not exist`)
    return { name: relative, isReplaced: false }
  }
  const [create, update] = (['create', 'update'] as const).map((each) => attempt(context, path, each, as))
  const file = files(path, as)
  const { kind = 'missing' } = file?.look() ?? {}
  const needed = kind === 'missing' ? create : update
  const name = file?.path ?? path
  if (as === 'entry' && kind !== 'missing') requireFile(kind, name)
  if (needed instanceof Error) throw needed
  return { name, isReplaced: kind === 'file' }
}

function attempt(
  context: Context,
  path: string,
  want: 'create' | 'update',
  as: Meant,
): Location | DeniedError {
  try {
    return context.locate(path, want, as)
  } catch (error) {
    if (error instanceof DeniedError) return error
    throw error
  }
}

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

class MissingError extends CordonError {
  readonly code = 'FILE_NOT_FOUND'
}
