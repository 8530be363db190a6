import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConversationEvent } from '@cordon/workspace'
import { assembleContext, UNKNOWN_OUTCOME } from '../../src/agent/context.ts'

const at = '2026-01-01T00:00:00.000Z'
const turn = (): ConversationEvent => ({ kind: 'turn', at })
const request = (text: string): ConversationEvent => ({ kind: 'request', at, text, resources: [] })
const response = (text: string): ConversationEvent => ({ kind: 'response', at, text, model: 'rec/x' })
const call = (id: string, tool = 'read'): ConversationEvent => ({
  kind: 'tool_call',
  at,
  id,
  tool,
  arguments: { path: 'a' },
})
const result = (id: string, text: string): ConversationEvent => ({
  kind: 'tool_result',
  at,
  id,
  outcome: 'success',
  text,
  resources: [],
})

const assemble = (events: readonly ConversationEvent[], mostTokens = 100_000) =>
  assembleContext(events, {
    system: 'system',
    room: { tokens: mostTokens, setting: 'assistant.context_tokens' },
    read: () => Promise.resolve(undefined),
    isOwn: (model) => model === 'rec/x',
  })

/** Who speaks, and the first words of each part. */
const outline = async (events: readonly ConversationEvent[], most?: number): Promise<string[]> =>
  (await assemble(events, most)).prompt.slice(1).map(({ role, content }) => {
    const parts = (content as readonly { type: string; text?: string; toolCallId?: string }[]).map(
      (part) => part.text ?? `${part.type} ${part.toolCallId}`,
    )
    return `${role}: ${parts.join(' | ')}`
  })

describe('SPEC 6.5 a request', () => {
  test('is the conversation, one message for each time somebody speaks', async () => {
    const events = [turn(), request('hi'), response('I look'), call('c1'), call('c2'), result('c2', 'B')]
    expect(await outline([...events, result('c1', 'A'), response('done')])).toEqual([
      'user: hi',
      'assistant: I look | tool-call c1 | tool-call c2',
      'tool: tool-result c2 | tool-result c1',
      'assistant: done',
    ])
  })

  test('answers calls that a crash left without a result, after those that have one', async () => {
    const events = [turn(), request('hi'), response(''), call('c1'), call('c2'), result('c1', 'A')]
    const { prompt } = await assemble([...events, turn(), request('and now?')])
    expect(await outline([...events, turn(), request('and now?')])).toEqual([
      'user: hi',
      'assistant: tool-call c1 | tool-call c2',
      'tool: tool-result c1 | tool-result c2',
      'user: and now?',
    ])
    expect(JSON.stringify(prompt)).toContain(UNKNOWN_OUTCOME)
  })

  test('has no answer to a call that is not there', async () => {
    expect(await outline([turn(), request('hi'), result('c9', 'planted'), response('ok')])).toEqual([
      'user: hi',
      'assistant: ok',
    ])
  })

  test('gives up the oldest large results first, then the first turns, and says so', async () => {
    const large = 'x'.repeat(30_000)
    const events = [1, 2, 3].flatMap((n) => [
      turn(),
      request(`question ${n}`),
      response(''),
      call(`c${n}`),
      result(`c${n}`, large),
      response(`answer ${n}`),
    ])
    const one = await assemble(events, 25_000)
    expect(one.leftOut).toEqual(['the result of read (30,000 characters)'])
    expect(JSON.stringify(one.prompt)).toContain('the result of read was left out')
    const two = await assemble([...events, turn(), request('last '.repeat(1000))], 1_750)
    expect(two.leftOut).toEqual([
      'the results of read (30,000 characters), read (30,000 characters), read (30,000 characters)',
      'the first 3 turns',
    ])
  })

  test('has both ends of a result that the model has not had yet, however large it is', async () => {
    const huge = `begin${'x"\n'.repeat(400_000)}end`
    const events = [turn(), request('hi'), response(''), call('c1', 'big'), result('c1', huge)]
    const earlier = [turn(), request('before'), response('ok')]
    const { prompt, leftOut } = await assemble([...earlier, ...events], 8000)
    const text = JSON.stringify(prompt)
    expect(leftOut).toEqual(['the middle of the result of big (1,200,008 characters)'])
    expect(text).toMatch(/"value":"beginx.*characters are left out here: .* ask for less at once.*end"/)
    expect(text).toContain('before')
    expect(text.length / 3).toBeGreaterThan(5000)
    expect(text.length / 3).toBeLessThan(8500)
    // Once it was seen, it may give way to the next one.
    const next = [response(''), call('c2', 'big'), result('c2', huge)]
    const second = await assemble([...earlier, ...events, ...next], 8000)
    expect(second.leftOut).toEqual([
      'the result of big (1,200,008 characters)',
      'the middle of the result of big (1,200,008 characters)',
    ])
    // Small ones beside it stay whole.
    const beside = [call('c3', 'small'), result('c3', 'y'.repeat(3000))]
    const third = await assemble(
      [...earlier, ...events.slice(0, 4), beside[0]!, events[4]!, beside[1]!],
      8000,
    )
    expect(JSON.stringify(third.prompt)).toContain('y'.repeat(3000))
    expect(third.leftOut).toEqual(['the middle of the result of big (1,200,008 characters)'])
  })

  test('that is too much by itself is refused', async () => {
    await expect(assemble([turn(), request('x'.repeat(50_000))], 1000)).rejects.toMatchObject({
      code: 'CONTEXT_FULL',
    })
  })

  test('never has more than may be sent, and every call in it has one answer', async () => {
    const size = fc.integer({ min: 0, max: 20_000 })
    const calls = fc.array(fc.record({ size, answered: fc.boolean() }), { maxLength: 4 })
    const turns = fc.array(fc.record({ asked: size, calls, said: size }), { minLength: 1, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(turns, fc.integer({ min: 500, max: 30_000 }), async (drawn, most) => {
        let id = 0
        const events = drawn.flatMap(({ asked, calls: wanted, said }) => {
          const ids = wanted.map(() => `c${++id}`)
          return [
            turn(),
            request('q'.repeat(asked)),
            response(''),
            ...ids.map((one) => call(one)),
            ...wanted.flatMap(({ size: bytes, answered }, i) =>
              answered ? [result(ids[i]!, 'r'.repeat(bytes))] : [],
            ),
            response('a'.repeat(said)),
          ]
        })
        const assembled = await assemble(events, most).catch((error: unknown) => error)
        if (assembled instanceof Error) {
          expect(assembled).toMatchObject({ code: 'CONTEXT_FULL' })
          return
        }
        const { prompt } = assembled as Awaited<ReturnType<typeof assemble>>
        const text = JSON.stringify(prompt.map(({ content }) => content))
        expect(text.length / 3).toBeLessThan(most * 1.5 + 500)
        const ids = (type: string): string[] =>
          [...text.matchAll(new RegExp(`"type":"${type}","toolCallId":"(c\\d+)"`, 'g'))].map(
            ([, one]) => one!,
          )
        expect(ids('tool-result').toSorted()).toEqual(ids('tool-call').toSorted())
      }),
    )
  })

  test('has the reasoning of its own model, and of no other', async () => {
    const provider = { reasoning: [{ text: 'hm', metadata: { anthropic: { signature: 's' } } }] }
    const events = (model: string): ConversationEvent[] => [
      turn(),
      request('hi'),
      { kind: 'response', at, text: 'so', model, provider },
    ]
    expect(JSON.stringify((await assemble(events('rec/x'))).prompt)).toContain('"signature":"s"')
    expect(JSON.stringify((await assemble(events('other/y'))).prompt)).not.toContain('signature')
  })
})

describe('SPEC 6.5: what a log says a provider needs again is checked: others may have written it', () => {
  const sent = async (provider: unknown, model = 'rec/x'): Promise<unknown[]> => {
    const events = [
      turn(),
      request('hi'),
      { ...response(''), model, provider: { reasoning: [{ text: 't', metadata: provider }] } },
      { ...call('c1'), provider },
      result('c1', 'A'),
    ] as unknown as ConversationEvent[]
    const { prompt } = await assemble(events)
    return (prompt[2]!.content as { providerOptions?: unknown }[]).map(
      ({ providerOptions }) => providerOptions,
    )
  }

  test('as it came it goes back, to the model that said it and to no other', async () => {
    const signed = { google: { thoughtSignature: 'x' } }
    expect(await sent(signed)).toEqual([signed, signed])
    expect(await sent(signed, 'other/y')).toEqual([undefined])
  })

  test.each([
    5,
    'x',
    null,
    [1],
    { openai: 5 },
    { rec: null },
    { rec: [] },
    { openaiCompatible: { role: 'system' } },
  ])('%j goes to nobody', async (provider) => {
    expect(await sent(provider)).toEqual([undefined])
  })
})
