import { ToolError } from '../report.ts'

/** What the host tells: the keys of all changes that are open, by their names, and which is this call's own. */
interface ToldKeys {
  readonly own?: string
  readonly open: Readonly<Record<string, string>>
  /** Those of them whose hosts are dead: nobody else works with them. */
  readonly left?: readonly string[]
}

/** Without a host nothing is secret; the seal then only binds a journal to its directory. */
const WITHOUT_HOST: ToldKeys = { own: 'none', open: { none: '0'.repeat(64) } }

/** The keys that journals are sealed with, each good for one call (decision 0446). */
export class Keys {
  readonly #told: ToldKeys
  readonly #closed = new Set<string>()

  /** `told`: `options.journal_keys`, which only the host can set. */
  constructor(told: unknown) {
    this.#told = (told as ToldKeys | undefined) ?? WITHOUT_HOST
    if (this.#told.own !== undefined) this.close(this.#told.own) // until there is a journal of it
  }

  get own(): string {
    if (this.#told.own === undefined)
      throw new ToolError('the host gave no key for a change of several files')
    return this.#told.own
  }

  /** The calls that are over, as their temporary files name them. */
  get ended(): ReadonlySet<string> {
    return callsOf(this.#told.left ?? [])
  }

  /** Undefined: no change that is open has that name. */
  find(name: string): Buffer | undefined {
    return Object.hasOwn(this.#told.open, name) ? Buffer.from(this.#told.open[name] ?? '', 'hex') : undefined
  }

  /** Its journal is there, or may be. */
  use(name: string): void {
    this.#closed.delete(name)
  }

  /** There is no journal of it any more. */
  close(name: string): void {
    this.#closed.add(name)
  }

  /** Those the host can forget. */
  get closed(): readonly string[] {
    return [...this.#closed]
  }
}

/** How the temporary files of the call with this key name it: by the random part, the last 16 digits. Without a host, not. */
export const callOf = (key: string): string | undefined => /[0-9a-f]{16}$/.exec(key)?.[0]

/** The calls with these keys. */
export const callsOf = (keys: readonly string[]): ReadonlySet<string> =>
  new Set(keys.flatMap((key) => callOf(key) ?? []))
