import { type CallToolResult, ProtocolError } from '@modelcontextprotocol/client'
import { performCall, subjectOf } from '../gateway/call.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { LocalCall } from '../gateway/local.ts'
import { errorResult } from '../gateway/results.ts'
import { GatewaySession, type OfferedAs } from '../gateway/session.ts'
import { describing, type OfferedTool, type Offering } from './offering.ts'

/** With MCP servers: the session that a client of the gateway has, for ourselves. */
export class ServerOffering implements Offering {
  readonly #session: GatewaySession

  constructor(gateway: Gateway) {
    this.#session = new GatewaySession(gateway, SILENT)
  }

  tools(): Promise<readonly OfferedAs[]> {
    return this.#session.offers()
  }

  async find(name: string): Promise<OfferedTool | undefined> {
    const route = await this.#session.route(name)
    if (!route) return undefined
    const perform = async (call: LocalCall): Promise<CallToolResult> => {
      try {
        return await performCall(route, this.#session, call)
      } catch (error) {
        if (ProtocolError.isInstance(error)) return errorResult(error.message)
        if (call.signal.aborted) return errorResult('it was stopped')
        throw error
      }
    }
    return {
      ...subjectOf(route, this.#session),
      perform,
      ...(route.kind === 'local' ? describing(name, this.#session.gateway, this.#session) : {}),
    }
  }

  close(): Promise<void> {
    return this.#session.close()
  }
}

/** We ask for the tools whenever we need them, and can be asked for nothing. */
export const SILENT = {
  toolsChanged: () => undefined,
  promptsChanged: () => undefined,
  resourcesChanged: () => undefined,
  resourceUpdated: () => undefined,
  capabilities: () => undefined,
  logged: () => undefined,
}
