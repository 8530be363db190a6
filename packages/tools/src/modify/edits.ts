import { parseArguments } from '../arguments/validate.ts'
import { ToolError } from '../report.ts'
import { type Infer } from '../schema.ts'
import { replaceExactly } from './replace.ts'
import { applyHunks, hunkLines, parseUnifiedDiff } from './unified-diff.ts'

export const MODIFY_PARAMETERS = {
  type: 'object',
  properties: {
    edits: {
      type: 'array',
      minItems: 1,
      maxItems: 2000,
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'The file, relative to the workspace.' },
          old: {
            type: 'string',
            description: 'The exact text to replace; it must be in the file exactly once.',
          },
          new: { type: 'string', description: 'What to put in its place.' },
          all: { type: 'boolean', description: 'Replace every occurrence.' },
        },
        required: ['path', 'old', 'new'],
        additionalProperties: false,
      },
      description: 'Replacements, in order; several may be in one file.',
    },
    diff: {
      type: 'string',
      description: 'Instead of edits: a unified diff of files that exist, with exact context.',
    },
  },
  required: [],
  additionalProperties: false,
} as const

/** What is to be done to one file's text. Several of one file are done in order, each to what the one before made. */
export interface FileEdit {
  readonly path: string
  readonly apply: (text: string) => string
  /** How many steps `apply` could take at the most, and how many characters it could make. */
  readonly workOn: (text: string) => number
  /** What was asked for, in the lines of a diff, for who cannot see the file. */
  readonly lines: readonly string[]
  /** Not at one place but at all. */
  readonly isEverywhere: boolean
}

/** What `fs_modify_file` would do with these arguments. Throws what the tool would say. */
export const parseEdits = (args: unknown): FileEdit[] =>
  editsOf(parseArguments({ ...MODIFY_PARAMETERS }, args, () => false))

export function editsOf({ edits, diff }: Infer<typeof MODIFY_PARAMETERS>): FileEdit[] {
  if ((edits === undefined) === (diff === undefined)) throw new ToolError('give either edits or diff')
  if (diff !== undefined)
    return parseUnifiedDiff(diff).map((patch) => ({
      path: patch.path,
      apply: (text) => applyHunks(text, patch),
      workOn: (text) => {
        const lines = text.split('\n').length
        return patch.hunks.reduce((work, { old }) => work + lines * (old.length + 1), text.length)
      },
      lines: patch.hunks.flatMap(hunkLines),
      isEverywhere: false,
    }))
  return (edits ?? []).map((edit) => ({
    path: edit.path,
    apply: (text) => replaceExactly(edit.path, text, edit),
    workOn: (text) => workOf(text, edit),
    lines: diffLines(edit.old, edit.new),
    isEverywhere: edit.all === true,
  }))
}

const workOf = (
  text: string,
  { old, new: next, all }: { readonly old: string; readonly new: string; readonly all?: boolean },
): number =>
  text.length * Math.max(old.length, 1) +
  (all === true ? (text.length / Math.max(old.length, 1)) * next.length : 0)

/** What both begin and end with is context; the rest goes out and comes in. */
function diffLines(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail))
    tail++
  const marked = (mark: string, lines: readonly string[]): string[] => lines.map((line) => mark + line)
  return [
    ...marked(' ', old.slice(0, head)),
    ...marked('-', old.slice(head, old.length - tail)),
    ...marked('+', now.slice(head, now.length - tail)),
    ...marked(' ', old.slice(old.length - tail)),
  ]
}
