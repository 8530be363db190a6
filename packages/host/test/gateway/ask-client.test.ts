import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { Server, type ServerContext } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { askClient } from '../../src/gateway/ask-client.ts'

/** A call that a server is answering, behind which a person has been asked and not answered yet. */
class OpenCall {
  readonly asked: string[] = []
  readonly #answers: (() => void)[] = []

  get context(): ServerContext {
    const elicitInput = ({ message }: { readonly message: string }): Promise<unknown> => {
      this.asked.push(message)
      return new Promise((resolve) => this.#answers.push(() => resolve({ action: 'decline' })))
    }
    return { mcpReq: { signal: new AbortController().signal, elicitInput } } as unknown as ServerContext
  }

  /** The person has read all of it. */
  answerAll(): void {
    for (const answer of this.#answers.splice(0)) answer()
  }
}

async function connected(current: () => ServerContext | undefined): Promise<Server> {
  const client = new Client(
    { name: 'gateway', version: '1' },
    { capabilities: { elicitation: { form: {} } } },
  )
  askClient('hostile', client, { elicitation: { form: {} } }, current)
  const server = new Server({ name: 'hostile', version: '1' }, { capabilities: {} })
  const [here, there] = InMemoryTransport.createLinkedPair()
  await Promise.all([server.connect(there), client.connect(here)])
  return server
}

const question = (message: string) => ({
  message,
  requestedSchema: { type: 'object' as const, properties: {} },
})

test('decision 0232: of a server that asks without end two questions are open at once', async () => {
  const call = new OpenCall()
  const server = await connected(() => call.context)
  const flood = Array.from({ length: 50 }, (_, n) => server.elicitInput(question(`question ${n}`)))
  const refused = await Promise.allSettled(flood.slice(2))
  expect(new Set(refused.map((each) => each.status === 'rejected' && String(each.reason)))).toEqual(
    new Set([expect.stringContaining('too many questions at once')]),
  )
  expect(call.asked).toEqual(['MCP server hostile asks: question 0', 'MCP server hostile asks: question 1'])
  call.answerAll()
  expect(await Promise.all(flood.slice(0, 2))).toEqual([{ action: 'decline' }, { action: 'decline' }])
  const later = server.elicitInput(question('later'))
  await expect.poll(() => call.asked).toHaveLength(3)
  call.answerAll()
  expect(await later).toEqual({ action: 'decline' })
})

test('decision 0232: out of a call nobody is asked', async () => {
  const server = await connected(() => undefined)
  await expect(server.elicitInput(question('now?'))).rejects.toThrow(
    'a server may ask only while it answers a call',
  )
})
