import type { CallToolResult } from '@modelcontextprotocol/client'
import type { ToolConfig } from '@cordon/config'
import { type Gateway, localOffer } from '../gateway/gateway.ts'
import type { OfferedAs } from '../gateway/session.ts'
import { callLocal, describeLocal, type LocalCall, type LocalHolder } from '../gateway/local.ts'

/** A tool of the workspace or of one of its servers, that can be called now. */
export interface OfferedTool {
  readonly name: string
  /** As the configuration names it. */
  readonly source: string
  readonly config: Pick<ToolConfig, 'run' | 'runIsWritten' | 'result' | 'timeout_secs' | 'max_output_bytes'>
  readonly perform: (call: LocalCall) => Promise<CallToolResult>
  /** SPEC 1.9: what a call would do, in its own words. Absent: it does not know how to say it. */
  readonly describe?: Describe
}

type Describe = (call: Pick<LocalCall, 'arguments' | 'signal'>) => Promise<string | undefined>

/** Everything but our own: what the workspace and its servers offer. */
export interface Offering {
  tools(): Promise<readonly OfferedAs[]>
  /** Undefined: no tool has this name. */
  find(name: string): Promise<OfferedTool | undefined>
  close(): Promise<void>
}

/** The protocol's library is loaded where there are servers, and only there: it is half of a start. */
export async function openOffering(gateway: Gateway): Promise<Offering> {
  if (gateway.servers.length === 0) return new LocalOffering(gateway)
  const { ServerOffering } = await import('./server-offering.ts')
  return new ServerOffering(gateway)
}

class LocalOffering implements Offering {
  readonly #gateway: Gateway
  readonly #holder: LocalHolder

  constructor(gateway: Gateway) {
    this.#gateway = gateway
    this.#holder = {
      gateway,
      local: gateway.openTools(),
      warn: (text) => gateway.options.audience.warn(text),
    }
  }

  tools(): Promise<readonly OfferedAs[]> {
    return Promise.resolve(localOffer(this.#gateway).map((tool) => ({ tool, source: 'local' })))
  }

  find(name: string): Promise<OfferedTool | undefined> {
    const tool = this.#gateway.localTools.get(name)
    const perform = (call: LocalCall): Promise<CallToolResult> => callLocal(name, this.#holder, call)
    return Promise.resolve(
      tool && {
        name,
        source: 'local',
        config: tool.config,
        perform,
        ...describing(name, this.#gateway, this.#holder),
      },
    )
  }

  close(): Promise<void> {
    return this.#holder.local.close()
  }
}

/** Asked for, and not one of ours: those are a function of their arguments (`showCall`). */
export const describing = (
  name: string,
  { localTools }: Gateway,
  holder: LocalHolder,
): { readonly describe?: Describe } => {
  const tool = localTools.get(name)
  return tool?.config.format_arguments && !tool.shipped
    ? { describe: (call) => describeLocal(name, holder, call) }
    : {}
}
