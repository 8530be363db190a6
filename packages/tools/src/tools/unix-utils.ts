import { show } from '@cordon/policy'
import { Access } from '../access.ts'
import { count, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { type ContentBlock, type Tool } from '../protocol.ts'
import { ToolError } from '../report.ts'
import { type Captured, capture } from '../unix/capture.ts'
import { type Utility, UTILITIES } from '../unix/utilities.ts'

const LIMITS = { milliseconds: 10_000, bytes: 256 * 1024 }

/**
 * SPEC 1.8: only that its arguments stay in the workspace is checked here. The programs open files
 * themselves, so which of them they may read is for the OS sandbox to hold.
 */
export const unixUtils: Tool = defineTool({
  name: 'unix_utils',
  description: DESCRIPTIONS.unix_utils,
  parameters: {
    type: 'object',
    properties: {
      util: { type: 'string', enum: Object.keys(UTILITIES), description: 'The program.' },
      args: {
        type: 'array',
        items: { type: 'string', maxLength: 10_000 },
        maxItems: 200,
        description: 'Its arguments, one word each; an option and its value in one word (-n5, --lines=5).',
      },
      stdin: {
        type: 'string',
        maxLength: 4 * 1024 * 1024,
        description: 'What it reads when no file is named.',
      },
    },
    required: ['util'],
    additionalProperties: false,
  },
  describe: ({ util, args = [] }) => `run ${[util, ...args].map(show).join(' ')}`,
  async run({ util, args = [], stdin = '' }, context) {
    const utility = UTILITIES[util]
    if (!utility) throw new ToolError(`there is no utility ${show(util)}`)
    const access = new Access(context)
    checkArguments(util, utility, args, (path) => access.place(path, 'read'))
    context.checkCommand({ program: util, args })
    const output = await capture(util, args, stdin, access.root.path, LIMITS)
    if (output.failure !== undefined)
      throw new ToolError(`${util} cannot be started here (${output.failure})`)
    return success(...showOutput(util, output))
  },
})

function checkArguments(
  util: string,
  utility: Utility,
  args: readonly string[],
  mustBeInside: (path: string) => void,
): void {
  let operands = 0
  let options = true
  for (const arg of args) {
    if (arg.includes('\0')) throw new ToolError(`an argument of ${util} contains a NUL byte`)
    if (options && arg === '--') options = false
    else if (options && arg.startsWith('-') && arg !== '-') {
      if (!utility.options.test(arg))
        throw new ToolError(
          `${util} ${show(arg)} is not permitted: only options that read, with their values in the same word`,
        )
    } else {
      operands++
      if (utility.operands === 'paths' && arg !== '-') mustBeInside(arg)
    }
  }
  if (operands > (utility.mostOperands ?? Infinity))
    throw new ToolError(`${util} takes at most ${count(utility.mostOperands ?? 0, 'file')} here`)
}

function showOutput(util: string, { stdout, stderr, code, ended }: Captured): ContentBlock[] {
  const notes: string[] = []
  if (ended === 'too long') notes.push(`${util} was stopped after ${LIMITS.milliseconds / 1000} seconds.`)
  if (ended === 'too much') notes.push(`The output was cut to ${count(LIMITS.bytes, 'byte')}.`)
  if (ended === 'by itself' && code !== 0) notes.push(`${util} ended with exit code ${code}.`)
  if (stderr !== '') notes.push(`It complained: ${stderr.trimEnd()}`)
  return [text(stdout.toString('utf8')), ...(notes.length > 0 ? [text(notes.join('\n'))] : [])]
}
