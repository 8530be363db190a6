import type { ToolQuestion } from '@cordon/host'
import { show } from '@cordon/policy'
import { behindMargin, widthOf } from './wrap.ts'

/**
 * What somebody else asks, in rows that all begin with ours: words of theirs at the start of one, or right before the cursor,
 * would be a question of Cordon's. Who asks also stands in the row where the answer is typed, however long it became.
 */
export function askedBy(
  asker: string,
  question: ToolQuestion,
  columns: number | undefined,
  keeping?: 'can be kept',
): string {
  const { text, options = [] } = question
  const hint = hintOf(question, keeping)
  const inOneRow = `${asker} asks: ${show(text)}`
  const room = columns === undefined ? undefined : columns - ROOM_FOR_AN_ANSWER
  const fits = room === undefined || widthOf(`${inOneRow} ${hint}`) <= room
  if (fits && options.length === 0) return `${inOneRow} ${hint}`
  return [
    ...(fits ? [inOneRow] : [`${asker} asks:`, ...behindMargin(show(text), ['  │ ', MORE], room)]),
    ...options.flatMap((option, i) => behindMargin(`${i + 1}. ${show(option)}`, ['  ', MORE], room)),
    `${asker} asks, you answer: ${hint}`,
  ].join('\n')
}

const MORE = '  ↳ '
const ROOM_FOR_AN_ANSWER = 2

function hintOf(
  { answer_type, options = [], default: preset }: ToolQuestion,
  keeping: 'can be kept' | undefined,
): string {
  switch (answer_type) {
    case 'boolean':
      return `[${preset === true ? 'Y/n' : 'y/N'}${keeping ? '/a(lways yes here)' : ''}] `
    case 'select':
      return `[1-${options.length}${keeping ? ', 1a: always here' : ''}] `
    case 'text':
      return ''
  }
}
