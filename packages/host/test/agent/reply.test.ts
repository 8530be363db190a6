import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../src/agent/errors.ts'
import { openModel } from '../../src/agent/models.ts'
import { SAYINGS } from '../../src/agent/failures.ts'
import type { RecordedStep } from '../../src/agent/recorded/script.ts'
import { RecordedModel } from '../../src/agent/recorded/server.ts'
import { readReply, type Reply } from '../../src/agent/reply.ts'

const closing: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of closing.splice(0)) await one[Symbol.asyncDispose]()
})

interface Heard {
  readonly reply: Reply | undefined
  readonly error: unknown
  readonly texts: string[]
  readonly reasoning: string[]
  readonly retries: string[]
  readonly waited: number[]
  readonly broken: Reply[]
  readonly requests: RecordedModel['requests']
}

type Kind = 'openai-compatible' | 'anthropic'

/** One question to a recorded model, through the libraries and the loopback. */
async function ask(
  kind: Kind,
  script: readonly RecordedStep[],
  onText?: (text: string, stop: AbortController) => void,
): Promise<Heard> {
  const model = await RecordedModel.start(script)
  closing.push(model)
  const stop = new AbortController()
  const heard = {
    texts: [] as string[],
    reasoning: [] as string[],
    retries: [] as string[],
    waited: [] as number[],
  }
  const broken: Reply[] = []
  const config = { kind, base_url: model.url, models: {} }
  const choice = { id: 'rec/x', provider: 'rec', model: 'x', config }
  const { model: opened, redact } = await openModel(choice, { env: {}, cwd: '/' })
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] }]
  const hands = {
    listening: {
      text: (text: string) => {
        heard.texts.push(text)
        onText?.(text, stop)
      },
      reasoning: (text: string) => void heard.reasoning.push(text),
      retry: (failure: string) => void heard.retries.push(failure),
    },
    signal: stop.signal,
    wait: async (seconds: number) => void heard.waited.push(seconds),
    onBroken: async (part: Reply) => void broken.push(part),
    redact,
  }
  const [reply, error] = await readReply(opened, 'rec/x', { prompt }, hands).then(
    (found) => [found, undefined] as const,
    (thrown: unknown) => [undefined, thrown] as const,
  )
  return { reply, error, ...heard, broken, requests: model.requests }
}

const failureIn = (error: unknown): string | undefined =>
  error instanceof ModelError ? error.failure : undefined

describe.each<Kind>(['openai-compatible', 'anthropic'])('SPEC 6.5 a reply over %s', (kind) => {
  test('comes piece by piece, with its calls and what it took', async () => {
    const { reply, texts } = await ask(kind, [
      { text: 'I look at it.', calls: [{ tool: 'fs_read_file', arguments: { path: 'a' } }] },
    ])
    expect(texts.length).toBeGreaterThan(2)
    expect(texts.join('')).toBe('I look at it.')
    expect(reply).toMatchObject({
      text: 'I look at it.',
      calls: [{ tool: 'fs_read_file', input: '{"path":"a"}' }],
      callsLeftOut: 0,
      stop: 'tool-calls',
      usage: { input: 100, cached: 0, output: 20 },
    })
  })

  test.each([
    [
      { input: 1e308, output: -7 },
      { input: 0, cached: 0, output: 0 },
    ],
    [
      { input: 1.5, output: 3 },
      { input: 0, cached: 0, output: 3 },
    ],
  ])('says %j, which is no number of tokens: that is not known', async (tokens, usage) => {
    const { reply } = await ask(kind, [{ text: 'so', tokens }])
    expect(reply?.usage).toEqual(usage)
  })

  test('is asked for again while the provider is busy, as long as it says', async () => {
    const busy = { fault: { kind: 'status', status: 429, retryAfter: 7 } } as const
    const down = { fault: { kind: 'status', status: 503 } } as const
    const { reply, retries, waited } = await ask(kind, [busy, down, { text: 'yes' }])
    expect(retries).toEqual(['overloaded', 'overloaded'])
    expect(waited).toEqual([7, 2])
    expect(reply?.text).toBe('yes')
  })

  test('ends in an error when the provider stays busy: five tries', async () => {
    const busy = { fault: { kind: 'status', status: 529 } } as const
    const { error, requests } = await ask(kind, [busy, busy, busy, busy, busy, { text: 'late' }])
    expect(failureIn(error)).toBe('overloaded')
    expect(requests).toHaveLength(5)
  })

  test.each([
    [401, '', 'key refused'],
    [403, '', 'key refused'],
    [404, 'model: x', 'unknown model'],
    [404, 'not found', 'wrong address'],
    [413, '', 'too much context'],
    [400, 'prompt is too long: 200001 tokens > 200000 maximum', 'too much context'],
    [400, 'nonsense', 'refused'],
  ])('status %d %s is %s, and asked once', async (status, body, failure) => {
    const { error, requests } = await ask(kind, [{ fault: { kind: 'status', status, body } }, { text: 'no' }])
    expect(failureIn(error)).toBe(failure)
    expect(requests).toHaveLength(1)
  })

  test('that breaks off is an error, and what had come is kept', async () => {
    const text = 'one two three four five six seven eight nine ten'
    const { error, broken, requests } = await ask(kind, [
      { text, pace: 5, fault: { kind: 'cut' } },
      { text: 'again' },
    ])
    expect(failureIn(error)).toBe('broken off')
    expect((error as Error).message).toContain(
      'rec/x: the connection ended in the middle of the answer\n  fix: ',
    )
    expect(broken).toHaveLength(1)
    expect(text.startsWith(broken[0]!.text)).toBe(true)
    expect(broken[0]).toMatchObject({ stop: 'broken', calls: [] })
    expect(requests).toHaveLength(1) // what a person has seen is not asked for a second time
  })

  test('that is not understood in the middle is an error', async () => {
    const { error } = await ask(kind, [{ text: 'one two three four', fault: { kind: 'malformed' } }])
    expect(failureIn(error)).toBe('malformed')
  })

  test('that is stopped is as far as it came', async () => {
    const { reply, error } = await ask(
      kind,
      [{ text: 'one two three four five', pace: 5, fault: { kind: 'hang' } }],
      (text, stop) => text.includes('two') && stop.abort(),
    )
    expect(error).toBeUndefined()
    expect(reply).toMatchObject({ stop: 'interrupted', text: expect.stringMatching(/^one two/) })
  })

  test('of 10,000 calls has 64, and says so', async () => {
    const calls = Array.from({ length: 10_000 }, (_, i) => ({ tool: 'x', arguments: { i } }))
    const { reply } = await ask(kind, [{ calls }])
    expect(reply?.calls).toHaveLength(64)
    expect(reply?.callsLeftOut).toBe(9936)
  })

  test('without an end is cut', async () => {
    const { reply } = await ask(kind, [{ text: 'word '.repeat(300_000) }])
    expect(reply?.stop).toBe('cut')
    expect(reply!.text.length).toBeLessThan(1_100_000)
  })

  test('that only thinks, without an end, is cut', async () => {
    const { reply } = await ask(kind, [{ reasoning: 'hm '.repeat(400_000) }])
    expect(reply).toMatchObject({ stop: 'cut', text: '' })
  })

  test('sends calls as they were written, also what is no JSON', async () => {
    const { reply } = await ask(kind, [{ calls: [{ tool: 'x', arguments: '{"a": ' }] }])
    expect(reply?.calls.map(({ input }) => input)).toEqual(['{"a": '])
  })
})

test('SPEC 6.5: nobody there is said to be nobody there', async () => {
  const model = await RecordedModel.start([])
  const { url } = model
  const waited: number[] = []
  await model[Symbol.asyncDispose]()
  const config = { kind: 'openai-compatible' as const, base_url: url, models: {} }
  const { model: opened, redact } = await openModel(
    { id: 'rec/x', provider: 'rec', model: 'x', config },
    { env: {}, cwd: '/' },
  )
  const hands = {
    listening: { text: () => {}, reasoning: () => {}, retry: () => {} },
    signal: new AbortController().signal,
    wait: async (seconds: number) => void waited.push(seconds),
    onBroken: async () => {},
    redact,
  }
  const asked = readReply(opened, 'rec/x', { prompt: [] }, hands)
  await expect(asked).rejects.toMatchObject({ code: 'MODEL_FAILED', failure: 'nobody there' })
  expect(waited).toEqual([1])
})

/** As the servers wrote them. */
const SAID: readonly (readonly [who: string, status: number, body: string, failure: string])[] = [
  ['OpenAI', 400, 'context_length_exceeded', 'too much context'],
  ['Anthropic', 400, 'prompt is too long: 200001 tokens > 200000 maximum', 'too much context'],
  [
    'Anthropic',
    400,
    'input length and `max_tokens` exceed context limit: 190000 + 16000 > 200000, decrease input length or `max_tokens` and try again',
    'too much context',
  ],
  [
    'Google',
    400,
    'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    'too much context',
  ],
  [
    'vLLM',
    400,
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens. Please reduce the length of the messages.",
    'too much context',
  ],
  [
    'llama.cpp',
    400,
    'the request exceeds the available context size (4096 tokens), try increasing it',
    'too much context',
  ],
  ['llama.cpp', 500, 'exceed_context_size_error', 'too much context'],
  ['others', 400, 'too many tokens', 'too much context'],
  ['Google', 400, 'API key not valid. Please pass a valid API key.', 'key refused'],
  ['Ollama', 400, 'registry.ollama.ai/library/gemma:2b does not support tools', 'no tools'],
  [
    'vLLM',
    400,
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    'no tools',
  ],
  ['llama.cpp', 500, 'tools param requires --jinja flag', 'no tools'],
  ['OpenRouter', 404, 'No endpoints found that support tool use.', 'no tools'],
  [
    'llama.cpp',
    500,
    'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
    'file refused',
  ],
  ['vLLM', 400, 'x is not a multimodal model', 'file refused'],
  ['vLLM', 400, 'At most 0 image(s) may be provided in one request.', 'file refused'],
  ['Ollama', 400, 'this model does not support images', 'file refused'],
  ['OpenAI', 400, 'Invalid content type. image_url is only supported by certain models.', 'file refused'],
  ['Anthropic', 400, 'Could not process PDF', 'file refused'],
]

test.each(SAID)('SPEC 6.5: %s, %d: %s is %s', async (_who, status, body, failure) => {
  const { error, requests } = await ask('openai-compatible', [{ fault: { kind: 'status', status, body } }])
  expect(failureIn(error)).toBe(failure)
  expect(requests).toHaveLength(1)
})

test('every row of the table has words that a server wrote', () => {
  for (const { who, words } of SAYINGS)
    expect([words, SAID.some(([by, , body]) => by === who && words.test(body))]).toEqual([words, true])
})

test('SPEC 6.5: a page where an API was expected is a wrong address; 502 is no busy provider', async () => {
  const page = '<html>404 Not Found: this model of a page</html>'
  const lost = await ask('openai-compatible', [{ fault: { kind: 'status', status: 404, page } }])
  expect(failureIn(lost.error)).toBe('wrong address')
  const down = { fault: { kind: 'status', status: 502, page: 'Bad Gateway' } } as const
  const { retries, reply } = await ask('openai-compatible', [down, { text: 'yes' }])
  expect({ retries, text: reply?.text }).toEqual({ retries: ['out of order'], text: 'yes' })
})

test('SPEC 6.5: retry-after may be a date', async () => {
  const soon = new Date(Date.now() + 40_000).toUTCString()
  const busy = { fault: { kind: 'status', status: 429, retryAfter: soon } } as const
  const { waited } = await ask('openai-compatible', [busy, { text: 'yes' }])
  expect(waited).toHaveLength(1)
  expect(waited[0]).toBeGreaterThan(20)
  expect(waited[0]).toBeLessThanOrEqual(40)
})

test('SPEC 6.5: a file that is refused is named, with the command that takes it out', () => {
  const { message } = new ModelError('file refused', 'rec/x', 'no images', [
    'file:///a%20b.png',
    'external:00/c.pdf',
  ])
  expect(message).toBe(
    "rec/x: the model, or its server, does not take an attached file: no images\n  fix: another model may take it; or without it: cordon attachment rm 'a b.png' && cordon attachment rm c.pdf",
  )
})

test('SPEC 6.5: signed reasoning is kept for who signed it', async () => {
  const { reply, reasoning } = await ask('anthropic', [{ reasoning: 'I think', text: 'so' }])
  expect(reasoning).toEqual(['I think'])
  expect(reply?.provider).toMatchObject({
    reasoning: [{ text: 'I think', metadata: { anthropic: { signature: 'c2lnbmVk' } } }],
  })
})

test('what only the provider can read counts like text: too much of it is neither kept nor waited for', async () => {
  const kept = await ask('anthropic', [{ redacted: 'x'.repeat(1000), text: 'done' }])
  expect(kept.reply).toMatchObject({ text: 'done', stop: 'stop' })
  expect(JSON.stringify(kept.reply?.provider)).toContain('x'.repeat(1000))
  const { reply } = await ask('anthropic', [{ redacted: 'x'.repeat(3_000_000), text: 'done' }])
  expect(reply).toMatchObject({ text: '', stop: 'cut' })
  expect(JSON.stringify(reply).length).toBeLessThan(1000)
})
