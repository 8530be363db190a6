import { expect, test } from 'vitest'
import { News } from '../../src/gateway/news.ts'

test('SPEC 5.5 what a client does not read is said once, and costs no memory', async () => {
  const news = new News()
  const sent: string[] = []
  const releases: (() => void)[] = []
  const send = (what: string) => () =>
    new Promise<void>((resolve) => {
      sent.push(what)
      releases.push(resolve)
    })
  for (let i = 0; i < 10_000; i++) {
    news.tell('tools', send('tools'))
    news.tell(`updated ${i}`, send(`updated ${i}`))
  }
  expect(sent).toEqual(['tools'])
  for (let i = 0; i < 1000; i++) {
    releases.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  // The first was on its way when it was said again, so it is said once more.
  expect(sent.filter((what) => what === 'tools')).toEqual(['tools', 'tools'])
  expect(sent.length).toBeLessThanOrEqual(300)
  news.tell('tools', send('later'))
  expect(sent.at(-1)).toBe('later')
})
