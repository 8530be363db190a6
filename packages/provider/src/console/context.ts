import { randomUUID } from 'node:crypto'
import type { Provider } from '../provider.ts'
import type { ConsoleAssets } from './assets.ts'
import type { Site } from './site.ts'

/** What every part of the console works with. */
export interface ConsoleContext {
  readonly provider: Provider
  /** Known when the provider listens. */
  readonly site: () => Site
  /** Undefined: this provider was started without its page. */
  readonly assets: ConsoleAssets | undefined
  /** SPEC 7.2: the database answers, and the chain is whole as far as this process knows. */
  readonly isReady: () => Promise<boolean>
  readonly isOpen: () => boolean
  readonly version: string
  readonly unexpected: (error: unknown) => void
}

/** What a person does here is in the audit, with the passkey that did it. */
export async function recordEvent(
  { provider }: Pick<ConsoleContext, 'provider'>,
  name: string,
  by: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  await provider.audit.append({
    kind: 'event',
    op: randomUUID(),
    at: provider.clock(),
    name,
    by: `passkey ${by}`,
    detail,
  })
}
