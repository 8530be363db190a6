import { expect, test } from 'vitest'
import { mergeSources } from '../src/index.ts'

const load = (text: string): unknown => mergeSources([{ layer: 'user', label: 'user', text }])

test.each([
  ['[assistant]\nmodel = "claude"\n', 'does not name a provider and a model'],
  ['[providers.llm.x]\nbase_url = "http://127.0.0.1/v1"\n', 'it has no `kind`'],
  ['[providers.llm.x]\nkind = "openai-compatible"\n', 'nobody knows where it is'],
  ['[providers.llm.x]\nkind = "openai"\nbase_url = "ftp://x"\n', 'is not an http or https URL'],
  [
    '[providers.llm.x]\nkind = "openai"\nbase_url = "https://u:sekret@x/v1"\n',
    'a password in a URL is printed',
  ],
])('SPEC 6.5 %j is refused: %s', (text, words) => {
  expect(() => load(text)).toThrow(words)
})
