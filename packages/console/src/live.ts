import { batch, effect, signal } from '@preact/signals'
import type { LiveAnswer } from '../../provider/src/console/answers.ts'
import { ApiError, type Failure, NO_ANSWER, request } from './api.ts'
import { loadSession, noteSignedOut, session } from './session.ts'

/** Ids of the requests that wait for a person. */
export const waiting = signal<readonly string[]>([])
/** The last record of the audit trail, and a number that changes with every change of an app. */
export const lastRecord = signal(0)
export const generation = signal(0)
/** Ids of what was approved, and is not used yet. */
export const approved = signal<readonly string[]>([])
/** Why nothing is decided; undefined while nobody has said it yet. */
export const trouble = signal<LiveAnswer['trouble'] | undefined>(undefined)
export const connection = signal<'on' | 'lost'>('on')
/** Why it was lost. */
export const lostBecause = signal<Failure>(NO_ANSWER)

const FIRST_MS = 500
const MOST_MS = 5000

/** Whether this tab is the one that asks. */
const leading = signal(false)
const tabs = new BroadcastChannel('cordon-live')
interface Told extends Omit<LiveAnswer, 'trouble'> {
  readonly trouble: LiveAnswer['trouble'] | undefined
  readonly connection: 'on' | 'lost'
  readonly lostBecause: Failure
}

/**
 * Follows the provider for as long as somebody is signed in, also across its restarts. One tab does, and tells the others:
 * a browser has six connections to a host, and with a stream in each of six tabs none would be left to ask anything. When
 * it is closed, the lock goes to the next (decision 0273).
 */
export function startLive(): void {
  tabs.addEventListener('message', ({ data }: MessageEvent<Told | 'how is it?'>) => {
    if (data === 'how is it?') tell()
    else if (session.peek().kind === 'out') loadSession().catch(() => undefined) // somebody has signed in, in another tab
    else
      batch(() => {
        take(data)
        connection.value = data.connection
        lostBecause.value = data.lostBecause
      })
  })
  effect(tell)
  effect(() => {
    if (session.value.kind !== 'in') {
      waiting.value = []
      return
    }
    const stopped = new AbortController()
    const { signal: ended } = stopped
    navigator.locks.request('cordon-live', { signal: ended }, () => lead(ended)).catch(() => undefined) // signed out first
    say('how is it?')
    return () => stopped.abort()
  })
}

function tell(): void {
  const told: Told = {
    waiting: waiting.value,
    last_record: lastRecord.value,
    generation: generation.value,
    approved: approved.value,
    trouble: trouble.value,
    connection: connection.value,
    lostBecause: lostBecause.value,
  }
  if (leading.value) say(told)
}

/** What waits is another list only when it has changed: pages load again for it. */
function take(now: Omit<Told, 'connection' | 'lostBecause'>): void {
  if (now.waiting.join() !== waiting.peek().join()) waiting.value = now.waiting
  if (now.approved.join() !== approved.peek().join()) approved.value = now.approved
  trouble.value = now.trouble
  lastRecord.value = now.last_record
  generation.value = now.generation
}

const say = (what: Told | 'how is it?'): void =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- no window: a channel of our origin alone
  tabs.postMessage(what)

async function lead(stopped: AbortSignal): Promise<void> {
  leading.value = true
  await follow(stopped)
  leading.value = false
}

async function follow(stopped: AbortSignal): Promise<void> {
  let wait = FIRST_MS
  while (!stopped.aborted) {
    try {
      for await (const { event, data } of events(await request('events', { signal: stopped }))) {
        connection.value = 'on'
        wait = FIRST_MS
        if (event === 'now') batch(() => take(JSON.parse(data) as LiveAnswer))
      }
    } catch (error) {
      if (stopped.aborted) return
      noteSignedOut(error)
      if (!(error instanceof ApiError) || error.code !== 'signed_out') lose(error)
    }
    await new Promise((done) => setTimeout(done, wait))
    wait = Math.min(wait * 2, MOST_MS)
  }
}

export function lose(error: unknown): void {
  batch(() => {
    lostBecause.value = error instanceof ApiError ? { code: error.code, message: error.message } : NO_ANSWER
    connection.value = 'lost'
  })
}

interface ServerEvent {
  readonly event: string
  readonly data: string
}

/** Server-sent events by `fetch`, because an `EventSource` cannot send a signature. */
async function* events(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    text += value
    const parts = text.split('\n\n')
    text = parts.pop() ?? ''
    for (const part of parts) yield parseEvent(part)
  }
}

function parseEvent(part: string): ServerEvent {
  const field = (name: string): string =>
    part
      .split('\n')
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
      .join('\n')
  return { event: field('event'), data: field('data') }
}
