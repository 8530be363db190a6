import type { Author } from '../audit/change.ts'
import { type Said, eventOf } from '../audit/record.ts'
import type { Trouble } from '../health.ts'
import type { Provider } from '../provider.ts'
import type { ConsoleProcess } from '../sessions/console-process.ts'
import type { ConsoleAssets } from './assets.ts'
import type { Site } from './site.ts'

/** What every part of the console works with. */
export interface ConsoleContext {
  readonly provider: Provider
  readonly process: ConsoleProcess
  /** Known when the provider listens. */
  readonly site: () => Site
  /** Undefined: this provider was started without its page. */
  readonly assets: ConsoleAssets | undefined
  /** SPEC 7.2: why nothing is decided now; undefined when it is. */
  readonly trouble: () => Promise<Trouble | undefined>
  readonly isOpen: () => boolean
  readonly version: string
  readonly unexpected: (error: unknown) => void
}

/** What a person does here is in the audit, with the passkey that did it. */
export async function recordEvent(
  { provider }: Pick<ConsoleContext, 'provider'>,
  name: string,
  who: Signer,
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await provider.audit.append(eventBy(name, who, detail))
}

/** A passkey, by the name that people know it by. */
export interface Signer {
  readonly name: string
  /** Its id: a name may have been another one's before. */
  readonly passkey: string
}

export const eventBy = (
  name: string,
  { name: by, passkey }: Signer,
  detail: Readonly<Record<string, unknown>>,
): Said => eventOf(name, `passkey ${by}`, { passkey, ...detail })

export const authorOf = ({ name, passkey }: Signer): Author => ({
  by: `passkey ${name}`,
  evidence: { passkey },
})
