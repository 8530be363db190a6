import { expect, test } from 'vitest'
import { Stopper } from '../src/stop-signal.ts'

test('each who listens is told once, and nobody who stopped listening', () => {
  const told: string[] = []
  const stopper = new Stopper()
  const [first, second] = [(): void => void told.push('first'), (): void => void told.push('second')]
  stopper.addEventListener('abort', first)
  stopper.addEventListener('abort', second)
  stopper.removeEventListener('abort', second)
  expect(stopper.aborted).toBe(false)
  stopper.abort()
  stopper.abort()
  expect([told, stopper.aborted]).toEqual([['first'], true])
})
