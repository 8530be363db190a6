/** Why nothing is decided now. */
export interface Trouble {
  readonly kind: 'stopping' | 'clock' | 'audit' | 'recording' | 'database'
  /** For a person; what is between backticks is a command. */
  readonly why: string
}

/** Of what is served, as much as is looked at; the page has this file's types, and none of Node's. */
interface Looked {
  readonly provider: {
    readonly registry: { current(): Promise<{ readonly now: number }> }
    readonly audit: {
      canRecord(): Promise<boolean>
      readonly broken: { readonly message: string } | undefined
    }
    readonly clock: () => number
  }
  readonly isOpen: () => boolean
}

/** SPEC 7.2. The database answers and takes records, and the chain is whole as far as this process knows. */
export async function troubleOf({ provider, isOpen }: Looked): Promise<Trouble | undefined> {
  if (!isOpen()) return { kind: 'stopping', why: 'it is stopping' }
  const { audit, registry, clock } = provider
  try {
    const behind = (await registry.current()).now - clock()
    if (behind > MOST_BEHIND_MS)
      return {
        kind: 'clock',
        why: `the clock is ${Math.ceil(behind / 1000)} s behind what it was; if it is right now, run \`cordon provider clock accept\``,
      }
    if (await audit.canRecord()) return undefined
    return audit.broken
      ? { kind: 'audit', why: audit.broken.message }
      : { kind: 'recording', why: 'nothing can be recorded' }
  } catch {
    return NO_DATABASE
  }
}

export const NO_DATABASE: Trouble = { kind: 'database', why: 'the database does not answer' }

/** Hosts that share a database do not agree to the second. */
const MOST_BEHIND_MS = 10_000
