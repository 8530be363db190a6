import { type Context, show, showWhole } from '@cordon/policy'
import { Access } from '../access.ts'
import { Anchors } from '../anchors.ts'
import { count, failure, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { exists } from '../parents.ts'
import { type Tool, type ToolResult } from '../protocol.ts'
import { ToolError } from '../report.ts'
import { type Captured, capture } from '../unix/capture.ts'
import { type Utility, UTILITIES } from '../unix/utilities.ts'

const LIMITS = { milliseconds: 10_000, bytes: 256 * 1024 }

/**
 * SPEC 1.8: what the arguments name is checked here, in the words of the other tools (decision 0467). The programs open files
 * themselves, so what they meet below a directory, or behind a link that was swapped meanwhile, is for the kernel to hold.
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
        description: 'Its arguments, one word each, as in a shell without quotes: ["-n", "5", "file"].',
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
  describe: ({ util, args = [] }) => `run ${[util, ...args].map(showWhole).join(' ')}`,
  async run({ util, args = [], stdin = '' }, context, io) {
    const { utility, words, root } = checked(util, args, context, io.anchors)
    const output = await capture(util, words, stdin, root, LIMITS)
    if (output.failure === 'ENOENT') throw new ToolError(`${util} is not installed here`)
    if (output.failure !== undefined)
      throw new ToolError(`${util} cannot be started here (${output.failure})`)
    return resultOf(util, utility, output)
  },
})

/** Throws what a call would be refused with before anything is started; arguments that do not fit are not its matter. */
export function refuseUtility(
  { util, args = [] }: Readonly<Record<string, unknown>>,
  context: Context,
): void {
  if (typeof util !== 'string' || !Array.isArray(args)) return
  using anchors = new Anchors()
  checked(util, args.map(String), context, anchors)
}

function checked(
  util: string,
  args: readonly string[],
  context: Context,
  anchors: Anchors,
): { readonly utility: Utility; readonly words: readonly string[]; readonly root: string } {
  const utility = UTILITIES[util]
  if (!utility) throw new ToolError(`there is no utility ${show(util)}`)
  const access = new Access(context)
  const check = utility.operands === 'written' ? mayWrite(access, anchors) : mayRead(access)
  const words = checkArguments(util, utility, args, check)
  context.checkCommand({ program: util, args: words })
  return { utility, words, root: access.root.path }
}

const mayRead =
  (access: Access) =>
  (path: string): void =>
    void access.locate(path, 'read')

/** Decision 0173: what is there is updated, what is not is created, and the rules are asked for that. */
const mayWrite =
  (access: Access, anchors: Anchors) =>
  (path: string): void => {
    const place = access.place(path, 'create')
    access.locate(path, exists(anchors.of(place), place.inside) ? 'update' : 'create')
  }

/** The words the program gets, each checked: every option with its value as one word, everything else in its place. */
function checkArguments(
  util: string,
  utility: Utility,
  args: readonly string[],
  checkPath: (path: string) => void,
): string[] {
  const words: string[] = []
  let operands = 0
  let options = true
  if (args.some((arg) => arg.includes('\0')))
    throw new ToolError(`an argument of ${util} contains a NUL byte`)
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? ''
    if (options && arg === '--') {
      options = false
      words.push(arg)
    } else if (options && arg.startsWith('-') && arg !== '-') {
      const { word, used } = optionAt(util, utility, args, i)
      words.push(...word)
      i += used
    } else {
      words.push(arg)
      checkOperand(util, utility, arg, operands++, checkPath)
    }
  }
  if (operands > (utility.mostOperands ?? Infinity))
    throw new ToolError(`${util} takes at most ${count(utility.mostOperands ?? 0, 'file')} here`)
  if (operands === 0 && utility.otherwise !== undefined) checkPath(utility.otherwise)
  return words
}

/** An option as it may be passed on, and how many of the words after it belong to it. */
function optionAt(
  util: string,
  { options: optionsOf, followed = {} }: Utility,
  args: readonly string[],
  at: number,
): { readonly word: readonly string[]; readonly used: number } {
  const arg = args[at] ?? ''
  const more = Object.hasOwn(followed, arg) ? (followed[arg] ?? 0) : 0
  const options = optionsOf()
  if (options.test(arg)) return { word: args.slice(at, at + 1 + more), used: more }
  // `-n 5` is `-n5`, `--lines 5` is `--lines=5`: joined, so that what was checked is what the program reads.
  const value = args[at + 1]
  const joined = /^-[A-Za-z0-9]$/.test(arg) ? `${arg}${value}` : `${arg}=${value}`
  if (value !== undefined && options.test(joined)) return { word: [joined], used: 1 }
  throw new ToolError(`${util} ${show(arg)} is not permitted here`)
}

function checkOperand(
  util: string,
  { operands, script }: Utility,
  arg: string,
  index: number,
  checkPath: (path: string) => void,
): void {
  if (script && index === 0) {
    if (script.refuse.test(arg)) throw new ToolError(`${util}: ${script.because}`)
  } else if (operands !== 'text' && arg !== '-') checkPath(arg)
}

/** SPEC 6.5: a program that failed is an error, with its exit and all that it said. */
function resultOf(util: string, { answers = [] }: Utility, output: Captured): ToolResult {
  const { stdout, stderr, code, ended } = output
  const printed = stdout.toString('utf8')
  const notes = [...endOf(util, output), ...(stderr === '' ? [] : [`It complained:\n${stderr.trimEnd()}`])]
  const isAnswer = code === 0 || (code !== null && answers.includes(code))
  if (ended === 'too much' || (ended === 'by itself' && isAnswer))
    return success(text(printed), ...(notes.length > 0 ? [text(notes.join('\n'))] : []))
  return failure([...notes, ...(printed === '' ? [] : [`It had printed:\n${printed}`])].join('\n'))
}

function endOf(util: string, { code, signal, ended }: Captured): readonly string[] {
  switch (ended) {
    case 'too long':
      return [`${util} was stopped after ${LIMITS.milliseconds / 1000} seconds.`]
    case 'too much':
      return [`The output was cut to ${count(LIMITS.bytes, 'byte')}.`]
    case 'by itself':
      if (signal !== null) return [`${util} was ended by ${signal}.`]
      return code === 0 ? [] : [`${util} ended with exit code ${code}.`]
  }
}
