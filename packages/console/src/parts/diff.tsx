import type { Signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo, useRef } from 'preact/hooks'
import { Text } from './text.tsx'

const KINDS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'place' }

/** Until somebody asks for all of them: tens of thousands keep a browser busy. */
const FIRST = 1000

/** Without the two that name the file. */
const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n').slice(2)

/** Lines that are not shown before somebody asks. */
export const linesBelow = (text: string): number => Math.max(0, linesOf(text).length - FIRST)

interface DiffProps {
  readonly text: string
  readonly isNew: boolean
  /** Whoever says what is not shown must know it. */
  readonly isWhole: Signal<boolean>
}

/** Line by line; the sign stays in the text, so that colour is not what tells them apart. */
export function Diff({ text, isNew, isWhole }: DiffProps): JSX.Element {
  const list = useRef<HTMLPreElement>(null)
  const lines = useMemo(() => linesOf(text), [text])
  const shown = isWhole.value ? lines.length : FIRST
  // Made once: the page around it is made again every second, for its clock.
  const drawn = useMemo(
    () => (
      <pre class="diff" tabIndex={0} role="region" aria-label="what would change" ref={list}>
        {lines.slice(0, shown).map((line, i) => (
          <code key={i} class={KINDS[line[0] ?? ''] ?? ''}>
            <Text line>{line}</Text>
          </code>
        ))}
      </pre>
    ),
    [lines, shown],
  )
  if (text === '')
    return <p>{isNew ? 'An empty file is made.' : 'Nothing: the content is the same as now.'}</p>
  const showAll = (): void => {
    list.current?.focus() // the button goes
    isWhole.value = true
  }
  return (
    <>
      {drawn}
      {lines.length > shown && (
        <button type="button" onClick={showAll}>
          Show all {lines.length.toLocaleString('en')} lines
        </button>
      )}
    </>
  )
}
