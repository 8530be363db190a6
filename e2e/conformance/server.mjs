// What the official conformance suite expects of a server, on standard input and output: it runs behind the gateway.
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

const text = (value) => ({ type: 'text', text: value })
const image = { type: 'image', data: PNG, mimeType: 'image/png' }
const resource = (uri, value, mimeType = 'text/plain') => ({
  type: 'resource',
  resource: { uri, mimeType, text: value },
})
const elicited = ({ action, content }) =>
  text(`Elicitation completed: action=${action}, content=${JSON.stringify(content ?? {})}`)
const form = (message, properties, required = []) => ({
  mode: 'form',
  message,
  requestedSchema: { type: 'object', properties, required },
})
const titled = [
  { const: 'value1', title: 'First Option' },
  { const: 'value2', title: 'Second Option' },
  { const: 'value3', title: 'Third Option' },
]

const TOOLS = {
  test_simple_text: () => [text('This is a simple text response for testing.')],
  test_image_content: () => [image],
  test_audio_content: () => [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  test_embedded_resource: () => [
    resource('test://embedded-resource', 'This is an embedded resource content.'),
  ],
  test_multiple_content_types: () => [
    text('Multiple content types test:'),
    image,
    resource('test://mixed-content-resource', '{"test":"data","value":123}', 'application/json'),
  ],
  test_tool_with_logging: async (_, { mcpReq }) => {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
      await pause()
    }
    return [text('Tool with logging executed successfully')]
  },
  test_tool_with_progress: async (_, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {}
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 100 },
        })
      await pause()
    }
    return [text(String(progressToken))]
  },
  test_error_handling: () => {
    throw new Error('This tool intentionally returns an error for testing')
  },
  test_sampling: async ({ prompt }, { mcpReq }) => {
    const { content } = await mcpReq.requestSampling({
      messages: [{ role: 'user', content: text(prompt) }],
      maxTokens: 100,
    })
    return [text(`LLM response: ${content.text}`)]
  },
  test_elicitation: async ({ message }, { mcpReq }) => [
    elicited(
      await mcpReq.elicitInput(
        form(message, { username: { type: 'string' }, email: { type: 'string' } }, ['username', 'email']),
      ),
    ),
  ],
  test_elicitation_sep1034_defaults: async (_, { mcpReq }) => [
    elicited(
      await mcpReq.elicitInput(
        form('Please review and update the form fields with defaults', {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        }),
      ),
    ),
  ],
  test_elicitation_sep1330_enums: async (_, { mcpReq }) => [
    elicited(
      await mcpReq.elicitInput(
        form('Please select options from the enum fields', {
          untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          titledSingle: { type: 'string', oneOf: titled },
          legacyEnum: { type: 'string', enum: ['opt1', 'opt2', 'opt3'], enumNames: ['One', 'Two', 'Three'] },
          untitledMulti: {
            type: 'array',
            items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          },
          titledMulti: { type: 'array', items: { anyOf: titled } },
        }),
      ),
    ),
  ],
  json_schema_2020_12_tool: (args) => [text(JSON.stringify(args))],
}

const SCHEMA_2020_12 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50))
const user = (content) => ({ messages: [{ role: 'user', content }] })

const PROMPTS = {
  test_simple_prompt: () => user(text('This is a simple prompt for testing.')),
  test_prompt_with_arguments: ({ arg1, arg2 }) =>
    user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  test_prompt_with_embedded_resource: ({ resourceUri }) => ({
    messages: [
      { role: 'user', content: resource(resourceUri, 'Embedded resource content for testing.') },
      { role: 'user', content: text('Please process the embedded resource above.') },
    ],
  }),
  test_prompt_with_image: () => ({
    messages: [
      { role: 'user', content: image },
      { role: 'user', content: text('Please analyze the image above.') },
    ],
  }),
}
const ARGUMENTS = {
  test_prompt_with_arguments: ['arg1', 'arg2'],
  test_prompt_with_embedded_resource: ['resourceUri'],
}

const server = new Server(
  { name: 'conformance', version: '1' },
  { capabilities: { tools: {}, logging: {}, completions: {}, prompts: {}, resources: { subscribe: true } } },
)
server.setRequestHandler('tools/list', () => ({
  tools: Object.keys(TOOLS).map((name) => ({
    name,
    description: name,
    inputSchema: name === 'json_schema_2020_12_tool' ? SCHEMA_2020_12 : { type: 'object' },
  })),
}))
server.setRequestHandler('tools/call', async ({ params }, context) => {
  try {
    return { content: await TOOLS[params.name](params.arguments ?? {}, context) }
  } catch (error) {
    return { content: [text(error.message)], isError: true }
  }
})
server.setRequestHandler('resources/list', () => ({
  resources: [
    { uri: 'test://static-text', name: 'text', description: 'text', mimeType: 'text/plain' },
    { uri: 'test://static-binary', name: 'binary', description: 'binary', mimeType: 'image/png' },
    { uri: 'test://watched-resource', name: 'watched', description: 'watched', mimeType: 'text/plain' },
  ],
}))
server.setRequestHandler('resources/templates/list', () => ({
  resourceTemplates: [
    { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
  ],
}))
server.setRequestHandler('resources/read', ({ params: { uri } }) => {
  if (uri === 'test://static-binary') return { contents: [{ uri, mimeType: 'image/png', blob: PNG }] }
  const id = /^test:\/\/template\/(\w+)\/data$/.exec(uri)?.[1]
  if (id !== undefined)
    return {
      contents: [
        {
          uri,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }
  return {
    contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }
})
server.setRequestHandler('resources/subscribe', () => ({}))
server.setRequestHandler('resources/unsubscribe', () => ({}))
server.setRequestHandler('prompts/list', () => ({
  prompts: Object.keys(PROMPTS).map((name) => ({
    name,
    description: name,
    arguments: (ARGUMENTS[name] ?? []).map((each) => ({ name: each, description: each, required: true })),
  })),
}))
server.setRequestHandler('prompts/get', ({ params }) => PROMPTS[params.name](params.arguments ?? {}))
server.setRequestHandler('completion/complete', () => ({
  completion: { values: ['paris', 'park'], total: 2, hasMore: false },
}))
await server.connect(new StdioServerTransport())
