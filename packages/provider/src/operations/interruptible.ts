/** The same pieces, until the signal says stop: a client that sends nothing does not hold an operation. */
export async function* interruptible(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pieces = source[Symbol.asyncIterator]()
  // Each wait has a promise of its own: a race with one that lasts would keep every piece until the end.
  let stop: (reason: Error) => void = () => {}
  const stopped = (): void => stop(signal.reason as Error)
  signal.addEventListener('abort', stopped)
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
        stop = reject
        if (signal.aborted) stopped()
        pieces.next().then(resolve, reject)
      })
      if (next.done === true) return
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', stopped)
    // Not waited for: what was stopped may be waiting itself.
    void pieces.return?.().catch(() => undefined)
  }
}
