/** After a trap the engine's memory may be anything, so it is never asked again: every new question is a no until a restart. */
let damaged: unknown

export class CedarFailure extends Error {}

/** Every call into Cedar's WebAssembly goes through here. */
export function withCedar<T>(call: () => T): T {
  if (damaged !== undefined)
    throw new CedarFailure('the policy engine has failed; restart the provider', { cause: damaged })
  try {
    return call()
  } catch (error) {
    if (error instanceof Error && TRAPS.has(error.name)) damaged = error
    throw new CedarFailure('the policy engine cannot work with this', { cause: error })
  }
}

/** Of WebAssembly and of a stack that overflowed inside it; what Cedar itself refuses is a plain `Error`. */
const TRAPS: ReadonlySet<string> = new Set(['RuntimeError', 'RangeError'])
