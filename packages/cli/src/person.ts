import { createInterface } from 'node:readline/promises'
import type { Answer, Person, Respondent, ToolQuestion } from '@cordon/host'
import { show } from '@cordon/policy'

/** Streams a person could be behind. */
export interface Terminal {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
}

/** Undefined without a terminal on both sides: then nobody can be asked, and the answer to all is no. */
export function personAt({ input, output }: Terminal): Person | undefined {
  if (!input.isTTY || !output.isTTY) return undefined
  return { confirms: async (question) => isYes(await askLine({ input, output }, question)) }
}

/** The same person, asked by a tool (SPEC 6.5). Every text of the tool's is shown, not trusted. */
export function respondentAt({ input, output }: Terminal): Respondent | undefined {
  if (!input.isTTY || !output.isTTY) return undefined
  return {
    answer: async (tool, question) => {
      const reply = await askLine({ input, output }, promptFor(tool, question))
      return reply === undefined ? undefined : answerFrom(question, reply.trim())
    },
  }
}

function promptFor(tool: string, { text, answer_type, options = [], default: preset }: ToolQuestion): string {
  const asked = `${tool} asks: ${show(text)}`
  switch (answer_type) {
    case 'boolean':
      return `${asked} [${preset === true ? 'Y/n' : 'y/N'}] `
    case 'select':
      return `${asked}\n${options.map((option, i) => `  ${i + 1}. ${show(option)}\n`).join('')}Which? `
    case 'text':
      return `${asked} `
  }
}

/** What cannot be understood stays as it is, and is refused where answers are checked. */
function answerFrom({ answer_type, options = [], default: preset }: ToolQuestion, reply: string): Answer {
  if (reply === '' && preset !== undefined) return preset
  switch (answer_type) {
    case 'boolean':
      return isYes(reply)
    case 'select':
      return /^\d+$/.test(reply) ? (options[Number(reply) - 1] ?? reply) : reply
    case 'text':
      return reply
  }
}

/** Only `y` and `yes` are a yes; Enter, anything else, end of input and Ctrl-C are a no. */
const isYes = (reply: string | undefined): boolean => /^y(?:es)?$/i.test(reply?.trim() ?? '')

/** One line; undefined at the end of input and after Ctrl-C. */
async function askLine({ input, output }: Terminal, question: string): Promise<string | undefined> {
  // Everything but the last line is printed first: readline redraws what it is given.
  const end = question.lastIndexOf('\n') + 1
  output.write(question.slice(0, end))
  const lines = createInterface({ input, output, terminal: true })
  const stopped = new AbortController()
  lines.once('SIGINT', () => stopped.abort())
  lines.once('close', () => stopped.abort())
  // After Ctrl-Z and fg readline leaves its input paused: nothing would be waited for, and we would end with 0.
  lines.on('SIGCONT', () => lines.resume())
  try {
    return await lines.question(question.slice(end), { signal: stopped.signal })
  } catch (error) {
    if (!stopped.signal.aborted) throw error
    output.write('\n')
    return undefined
  } finally {
    lines.close()
  }
}
