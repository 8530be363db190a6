/**
 * Half-written files that are open across turns of the event loop are removed when the process ends by
 * `process.exit` or by a signal that nobody else handles. What no code can catch (SIGKILL, or a signal in
 * the middle of a synchronous write) is left to the next sweep, which sees that the writer is dead.
 */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const removals = new Set<() => void>()

/** Returns what ends the guard. */
export function guardTemp(remove: () => void): () => void {
  if (removals.size === 0) listen()
  removals.add(remove)
  return () => {
    if (removals.delete(remove) && removals.size === 0) unlisten()
  }
}

function listen(): void {
  process.on('exit', removeAll)
  // First in line: a program's `once` listener is still counted when ours asks whether there is one.
  for (const signal of SIGNALS) process.prependListener(signal, onSignal)
}

function unlisten(): void {
  process.off('exit', removeAll)
  for (const signal of SIGNALS) process.off(signal, onSignal)
}

/** With another listener the program decides what the signal means, and the write may well go on. */
function onSignal(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return
  removeAll()
  unlisten()
  process.kill(process.pid, signal)
}

function removeAll(): void {
  for (const remove of removals) {
    try {
      remove()
    } catch {
      // The process is ending; the next sweep takes what could not be removed now.
    }
  }
}
