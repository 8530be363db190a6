import type { Decider, ShownCall, Verdict } from '@cordon/host'
import { show, visible } from '@cordon/policy'
import { editText } from './editor.ts'
import { formatCall, formatHanded, isCut } from './format/query.ts'
import { wrapMessage } from './format/wrap.ts'
import type { AskLine } from './person.ts'
import type { Stream, World } from './world.ts'

/** SPEC 6.5: the person who decides about calls. Undefined without a terminal: then `ask` is a no. */
export function deciderAt(world: World): Decider | undefined {
  const { respondent, person } = world
  if (!respondent || !person) return undefined
  const line: AskLine = async (text, pasting) => (await world.askLine?.(text, pasting))?.trim()
  return {
    decides: async (call, problem) => {
      if (problem !== undefined) world.err.write(formatProblem(problem, world.err))
      const view = isCut(call, world.err) ? '/v(iew all)' : ''
      for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
        const reply = await line(questionOf(call, view))
        if (/^v(?:iew)?$/i.test(reply ?? '')) world.err.write(formatCall(call, world.err, 'whole'))
        else {
          const verdict = await verdictOf(reply, line)
          const never = whyNotAlways(call)
          if (verdict && !(verdict.kind === 'always' && never !== undefined)) return verdict
          world.err.write(
            never === undefined
              ? '  y runs it once, a from now on in this conversation, e edits its arguments first, r says no with a word to the model\n'
              : `  y runs it once, e edits its arguments first, r says no with a word to the model; ${never}\n`,
          )
        }
      }
      return { kind: 'refuse' }
    },
    edits: async (what, text) => {
      const edited = await editText(world, what === 'arguments' ? 'arguments.json' : 'result.txt', text)
      if (edited.kind === 'text') return edited
      world.err.write(`${edited.kind === 'failed' ? edited.why : 'nothing was changed'}\n`)
      return { kind: 'nothing' }
    },
    handsOver: async (tool, text) => {
      // All of it: what is handed over is what was seen.
      world.err.write(formatHanded(text, world.err))
      return person.confirms(
        `Hand over this result of ${show(tool)} (${text.length} characters) to the model? [y/N] `,
      )
    },
  }
}

/** What is wrong with what was saved. The next `e` opens it as it is. */
const formatProblem = (problem: string, { columns, style }: Stream): string => {
  const lines = wrapMessage(visible(problem).split('\n'), { margin: '  ', indent: '    ', columns })
  return `${style('yellow', 'not run:')}\n${lines.join('\n')}\n`
}

const questionOf = (call: ShownCall, view: string): string => {
  const secret = call.secret === undefined ? '' : `${call.secret}. `
  const always = whyNotAlways(call) === undefined ? 'a(lways here)/' : ''
  return `${secret}Run ${titleOf(call)}? [y/N/${always}e(dit)/r(eply)${view}] `
}

/** SPEC 4.9: where secrets live, `always` is no answer. Undefined: it is one. */
function whyNotAlways({ secret, mode }: ShownCall): string | undefined {
  if (secret !== undefined) return 'what may be secret is asked about each time'
  return mode === 'edit' ? 'its run mode is edit, so it is asked about each time' : undefined
}

/** Whose it is, where it is not ours: two servers may have tools of one name. */
const titleOf = ({ tool, server }: ShownCall): string =>
  server === undefined ? show(tool) : `${show(tool)} of MCP server ${show(server)}`

const MOST_ATTEMPTS = 5

/** Undefined: not understood. Enter, the end of input and Ctrl-C are a no. */
async function verdictOf(reply: string | undefined, line: AskLine): Promise<Verdict | undefined> {
  switch (reply?.toLowerCase()) {
    case 'y':
    case 'yes':
      return { kind: 'run' }
    case 'a':
    case 'always':
      return { kind: 'always' }
    case 'e':
    case 'edit':
      return { kind: 'edit' }
    case 'r':
    case 'reply': {
      const words = await line('What shall it do instead? ', 'text')
      return words ? { kind: 'refuse', reply: words } : { kind: 'refuse' }
    }
    case undefined:
    case '':
    case 'n':
    case 'no':
      return { kind: 'refuse' }
    default:
      return undefined
  }
}
