import type { Decider, Verdict } from '@cordon/host'
import { editText } from './editor.ts'
import { foreign } from './format/text.ts'
import type { World } from './world.ts'

/** SPEC 6.5: the person who decides about calls. Undefined without a terminal: then `ask` is a no. */
export function deciderAt(world: World): Decider | undefined {
  const { respondent, person } = world
  if (!respondent || !person) return undefined
  const line = async (text: string): Promise<string | undefined> => {
    const answer = await world.askLine?.(text)
    return answer?.trim()
  }
  return {
    decides: async ({ tool }) => {
      for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
        const reply = await line(`Run ${tool}? [y/N/a(lways here)/e(dit)/r(eply)] `)
        const verdict = await verdictOf(reply, line)
        if (verdict) return verdict
        world.err.write(
          '  y runs it once, a from now on in this conversation, e edits its arguments first, r says no with a word to the model\n',
        )
      }
      return { kind: 'refuse' }
    },
    edits: (what, text) => editText(world, what === 'arguments' ? 'arguments.json' : 'result.txt', text),
    handsOver: async (tool, text) => {
      world.err.write(`${foreign(text.slice(0, SHOWN), { isTerminal: true })}\n`)
      return person.confirms(`Hand over this result of ${tool} to the model? [y/N] `)
    },
  }
}

const MOST_ATTEMPTS = 3
const SHOWN = 2000

/** Undefined: not understood. Enter, the end of input and Ctrl-C are a no. */
async function verdictOf(
  reply: string | undefined,
  line: (question: string) => Promise<string | undefined>,
): Promise<Verdict | undefined> {
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
      const words = await line('What shall it do instead? ')
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
