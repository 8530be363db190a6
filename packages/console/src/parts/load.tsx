import { type Signal, useSignal, useSignalEffect } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { ApiError, type Failure, NO_ANSWER } from '../api.ts'
import { connection, trouble } from '../live.ts'
import { noteSignedOut } from '../session.ts'

export interface Loaded<T> {
  readonly data: Signal<T | undefined>
  readonly error: Signal<Failure | undefined>
  readonly reload: () => Promise<void>
}

/** Loads when the page is shown, when a signal that `load` reads changes, and when the provider is back. */
export function useLoad<T>(load: () => Promise<T>): Loaded<T> {
  const data = useSignal<T | undefined>(undefined)
  const error = useSignal<Failure | undefined>(undefined)
  const run = async (loading: Promise<T>): Promise<void> => {
    try {
      data.value = await loading
      error.value = undefined
    } catch (thrown) {
      noteSignedOut(thrown)
      error.value = failureOf(thrown)
    }
  }
  useSignalEffect(() => {
    if (connection.value === 'on') void run(load())
  })
  return { data, error, reload: () => run(load()) }
}

/** What went wrong with what somebody did here. That nobody answered is true until somebody does again. */
export function useFailure(): Signal<Failure | undefined> {
  const failure = useSignal<Failure | undefined>(undefined)
  useSignalEffect(() => {
    const isBack = connection.value === 'on' && trouble.value === null
    if (isBack && PASSING.has(failure.peek()?.code ?? '')) failure.value = undefined
  })
  return failure
}

const PASSING: ReadonlySet<string> = new Set([NO_ANSWER.code, 'unavailable'])

export const failureOf = (thrown: unknown): Failure => ({
  code: thrown instanceof ApiError ? thrown.code : '',
  message: messageOf(thrown),
})

export const messageOf = (thrown: unknown): string =>
  thrown instanceof ApiError ? thrown.message : 'something in this page failed; load it again'

/** What the provider says, as a sentence of this page: the first letter large, and what is between backticks as code. */
export function sentence(message: string): JSX.Element {
  const parts = message.split('`')
  return (
    <>
      {parts.map((part, i) =>
        i % 2 === 1 ? (
          <code key={i}>{part}</code>
        ) : i === 0 ? (
          part.charAt(0).toUpperCase() + part.slice(1)
        ) : (
          part
        ),
      )}
    </>
  )
}

export function Show<T>({
  loaded,
  children,
}: {
  loaded: Loaded<T>
  children: (data: T) => ComponentChildren
}): JSX.Element {
  const { data, error, reload } = loaded
  if (error.value !== undefined && data.value === undefined)
    return (
      <Notice kind="bad" title="This could not be loaded">
        <p>{sentence(error.value.message)}</p>
        {error.value.code !== 'not_found' && (
          <button type="button" onClick={() => void reload()}>
            Try again
          </button>
        )}
      </Notice>
    )
  if (data.value === undefined) return <p class="quiet loading">Loading…</p>
  return <>{children(data.value)}</>
}

export function Notice({
  kind,
  title,
  children,
}: {
  kind: 'good' | 'bad' | 'warn' | 'plain'
  title: ComponentChildren
  children?: ComponentChildren
}): JSX.Element {
  return (
    <div class={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <strong>{title}</strong>
      {children}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  /** That there is nothing is how it should be. */
  readonly good?: boolean
  readonly children?: ComponentChildren
}

export const Empty = ({ title, good = false, children }: EmptyProps): JSX.Element => (
  <div class={good ? 'empty good' : 'empty'}>
    <svg viewBox="0 0 48 48" aria-hidden="true">
      <circle cx="24" cy="24" r="19" />
      <path d={good ? 'M16 25l6 6 11-13' : 'M16 24h16'} />
    </svg>
    <strong>{title}</strong>
    {children}
  </div>
)
