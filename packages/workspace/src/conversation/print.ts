import { type Resource } from '../resources/resource.ts'
import { type StoredEvent } from './events.ts'

/** One event as a person reads it, in Markdown; undefined for what is not part of the talk. */
export function printEvent(event: StoredEvent): string | undefined {
  switch (event.kind) {
    case 'request':
      return section('You', event.text, event.resources)
    case 'attach':
      return section('Attached', '', event.resources)
    case 'detach':
      return `> removed ${event.uri}\n`
    case 'response':
      return section(event.model === undefined ? 'Assistant' : `Assistant (${event.model})`, event.text, [])
    case 'tool_call':
      return section(`Call ${event.tool}`, fence(JSON.stringify(event.arguments, undefined, 2)), [])
    case 'tool_result':
      return section(`Result (${event.outcome})`, fence(event.text), event.resources)
    case 'inquiry':
      return section('Question', answered(event.question, event.answer), [])
    case 'note':
      return `> ${event.text}\n`
    case 'config':
    case 'turn':
    case 'unknown':
      break
  }
  return undefined
}

function section(title: string, text: string, resources: readonly Resource[]): string {
  const attached = resources.map(
    ({ uri, mimeType }) => `- ${uri}${mimeType === undefined ? '' : ` (${mimeType})`}\n`,
  )
  const body = text === '' ? '' : `${text}\n`
  return `## ${title}\n\n${body}${body !== '' && attached.length > 0 ? '\n' : ''}${attached.join('')}`
}

const answered = (question: string, answer: unknown): string =>
  answer === undefined
    ? question
    : `${question}\n\n${typeof answer === 'string' ? answer : JSON.stringify(answer)}`

/** Longer than any fence inside, so that the content cannot end it. */
function fence(text: string): string {
  if (text === '') return ''
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((ticks) => ticks.length))
  const mark = '`'.repeat(longest + 1)
  return `${mark}\n${text}\n${mark}`
}
