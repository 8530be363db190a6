import { type Resource } from '../resources/resource.ts'
import { type StoredEvent } from './events.ts'

/** A conversation as a person reads it, in Markdown, part by part. What was asked and never answered says so. */
export async function* printTalk(events: AsyncIterable<StoredEvent>): AsyncGenerator<string> {
  let isWaiting = false
  for await (const event of events) {
    if (event.kind === 'turn' && isWaiting) yield UNANSWERED
    isWaiting = event.kind === 'turn' ? false : (WAITS[event.kind] ?? isWaiting)
    const text = printEvent(event)
    if (text !== undefined) yield text
  }
  if (isWaiting) yield UNANSWERED
}

/** Whether the model is to speak next. */
const WAITS: Readonly<Record<string, boolean>> = {
  request: true,
  tool_call: true,
  tool_result: true,
  response: false,
}

const UNANSWERED = '> no answer came: the turn failed, or was interrupted\n'

/** How an answer ended, where it was not by itself. */
const ENDED: Readonly<Record<string, string>> = {
  interrupted: 'interrupted here',
  broken: 'the answer broke off here',
  length: 'the answer was cut short here',
  'content-filter': 'the answer was cut short here',
  cut: 'the answer was cut short here',
}

/** One event; undefined for what is not part of the talk. */
function printEvent(event: StoredEvent): string | undefined {
  switch (event.kind) {
    case 'request':
      if (event.by === 'cordon') return `> resumed; Cordon said to the model: ${event.text}\n`
      return section('You', event.text, event.resources)
    case 'attach':
      return section('Attached', '', event.resources)
    case 'detach':
      return `> removed ${event.uri}\n`
    case 'response': {
      const title = event.model === undefined ? 'Assistant' : `Assistant (${event.model})`
      const ended = Object.hasOwn(ENDED, event.stop ?? '') ? `\n> ${ENDED[event.stop!]}\n` : ''
      return `${section(title, event.text, [])}${ended}`
    }
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
