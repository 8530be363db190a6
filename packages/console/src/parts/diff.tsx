import type { JSX } from 'preact'
import { Text } from './text.tsx'

const KINDS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'place' }

/** Line by line; the sign stays in the text, so that colour is not what tells them apart. */
export function Diff({ text, isNew }: { text: string; isNew: boolean }): JSX.Element {
  if (text === '')
    return <p>{isNew ? 'An empty file is made.' : 'Nothing: the content is the same as now.'}</p>
  const lines = text.replace(/\n$/, '').split('\n').slice(2)
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label="what would change">
      {lines.map((line, i) => (
        <code key={i} class={KINDS[line[0] ?? ''] ?? ''}>
          <Text line>{line}</Text>
        </code>
      ))}
    </pre>
  )
}
