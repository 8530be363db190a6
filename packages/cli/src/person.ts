import { type Person } from '@cordon/host'

/** Streams a person could be behind. */
export interface Terminal {
  readonly input: NodeJS.ReadStream
  readonly output: NodeJS.WriteStream
}

/** Undefined without a terminal on both sides: then nobody can be asked, and the answer to all is no. */
export function personAt({ input, output }: Terminal): Person | undefined {
  if (!input.isTTY || !output.isTTY) return undefined
  return { confirms: (question) => confirms({ input, output }, question) }
}

/** Only `y` and `yes` are a yes; Enter, anything else, end of input and Ctrl-C are a no. */
async function confirms({ input, output }: Terminal, question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises')
  // Everything but the last line is printed first: readline redraws what it is given.
  const end = question.lastIndexOf('\n') + 1
  output.write(question.slice(0, end))
  const lines = createInterface({ input, output, terminal: true })
  const stopped = new AbortController()
  lines.once('SIGINT', () => stopped.abort())
  lines.once('close', () => stopped.abort())
  try {
    const reply = await lines.question(question.slice(end), { signal: stopped.signal })
    return /^y(?:es)?$/i.test(reply.trim())
  } catch (error) {
    if (!stopped.signal.aborted) throw error
    output.write('\n')
    return false
  } finally {
    lines.close()
  }
}
