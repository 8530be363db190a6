/** A tool in TypeScript: counts the words of a file. The check and its error come from @cordon/policy. */
import { readFileSync } from 'node:fs'
import { json } from 'node:stream/consumers'
import { CordonError, DeniedError, parseContext } from '@cordon/policy'

interface Call {
  readonly context: unknown
  readonly tool: { readonly name: string; readonly arguments: { readonly path?: unknown } }
}

const print = (result: object): void => console.log(JSON.stringify(result))

try {
  const { context, tool } = (await json(process.stdin)) as Call
  const { path } = tool.arguments
  if (typeof path !== 'string') throw new Error('path must be a string')
  const cordon = parseContext(context, { tool: tool.name })
  if (cordon.data.action === 'format_arguments') {
    print({ type: 'success', content: [{ type: 'text', text: `count the words of ${path}` }] })
  } else {
    // The path exactly as it was given; what comes back is the one to open.
    const text = readFileSync(cordon.checkRead(path), 'utf8')
    const words = text.split(/\s+/).filter(Boolean).length
    print({ type: 'success', content: [{ type: 'text', text: `${words} words` }] })
  }
} catch (error) {
  // The explanation names the rule that decided and the edit that would allow it.
  const failure =
    error instanceof DeniedError
      ? {
          message: error.explanation,
          denied: { capability: error.denied.capability, target: error.denied.target },
        }
      : { message: String(error instanceof CordonError ? error.message : error) }
  print({ type: 'error', ...failure, trace: [], transient: false })
  process.exitCode = 1
}
