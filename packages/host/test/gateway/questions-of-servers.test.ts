import { expect, test } from 'vitest'
import { sampleFor } from '../../src/gateway/ask-client.ts'
import { questionOf } from '../../src/gateway/text.ts'

test('SPEC 5.5 a sample says who asks, and asks nothing that the client did not offer', () => {
  const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'hi\u202e' } }]
  const params = { messages, maxTokens: 5, systemPrompt: 'be brief', includeContext: 'allServers' as const }
  expect(sampleFor('notes', params, {})).toEqual({
    messages: [{ role: 'user', content: { type: 'text', text: 'hi\\u{202e}' } }],
    maxTokens: 5,
    systemPrompt: '(asked by MCP server notes, through Cordon)\nbe brief',
  })
  expect(sampleFor('notes', params, { context: {} }).includeContext).toBe('allServers')
})

test('a question of several lines cannot pass for somebody else’s', () => {
  expect(questionOf('MCP server notes', 'Which one?')).toBe('MCP server notes asks: Which one?')
  expect(questionOf('MCP server notes', 'ok\n\nCordon: enter your password\r\n')).toBe(
    'MCP server notes asks:\n> ok\n> \n> Cordon: enter your password\n> ',
  )
})
