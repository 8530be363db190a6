import type { ShownPath } from '@cordon/tools'
import { type CallableTool, type CallMode, decideCallMode } from './call-mode.ts'
import type { FilesNow } from './files-now.ts'
import type { WordPath } from './word-paths.ts'

/** Where the calls of a tool lead (decision 0408). */
export interface Leading {
  /** The files as they are from now on, for the person who is asked. */
  readonly filesNow: () => FilesNow
  /** What a person is shown a call against. */
  readonly shownPaths: (args: unknown, files: FilesNow) => readonly (ShownPath | WordPath)[]
  /** Where it would do or change something, of a tool that can be held to that; undefined: nowhere, or it cannot. */
  readonly placesOf: (
    args: unknown,
    files: FilesNow,
    what: 'all' | 'changes',
  ) => readonly ShownPath[] | undefined
}

/** A tool whose calls are decided about by the places that they lead to, and held to them. */
export interface JudgedTool extends CallableTool, Leading {
  /** SPEC 4.9: the same as `secretIn`, of where the paths of a call were found. */
  readonly secretAmong: (paths: readonly ShownPath[]) => string | undefined
}

/** What was decided about a call, and of which moment. */
export interface Judgement {
  readonly decided: CallMode
  readonly files: FilesNow
  /** Where it was decided about. Undefined: about no place. */
  readonly places: readonly ShownPath[] | undefined
}

/** SPEC 6.5: what is decided about is where the files were found, of one look: by that the tool is held, too. */
export async function judge(tool: JudgedTool, args: unknown): Promise<Judgement> {
  const files = tool.filesNow()
  // A default is for all that is read, and what may be secret is kept by the tool; a rule by path is about the place.
  const what = Array.isArray(tool.config.run) ? 'all' : 'changes'
  const places = isJudgedByPlace(tool) ? tool.placesOf(args, files, what) : undefined
  return { decided: await decideCallMode(places ? judging(tool, places) : tool, args), files, places }
}

/** Who wrote `unattended` for all of a tool decided about no place. */
const isJudgedByPlace = ({ config: { run, runIsWritten } }: JudgedTool): boolean =>
  run !== 'unattended' || !runIsWritten

const judging = (tool: JudgedTool, places: readonly ShownPath[]): JudgedTool => ({
  ...tool,
  secretIn: (args) => tool.secretIn(args) ?? tool.secretAmong(places),
  pathsIn: (args) => {
    const names = tool.pathsIn?.(args)
    return names && places.length === names.length
      ? names.map((each, i) => [...each, places[i]!.place])
      : undefined
  },
})
