import { expect, test } from 'vitest'
import { SessionPlace } from '../worker/support.ts'
import { sessionOf } from './support.ts'

test('what is said once is said once, and a session that lasts does not keep all that it ever said', async () => {
  await using where = new SessionPlace({})
  const said: string[] = []
  const session = await sessionOf(where, (text) => said.push(text))
  try {
    session.warn('the first')
    session.warn('the first')
    expect(said).toEqual(['the first'])
    for (let i = 0; i < 1000; i++) session.warn(`another, ${i}`)
    expect(said.length).toBe(1001)
    session.warn('another, 1') // one that is still known
    expect(said.length).toBe(1001)
    session.warn('the first') // and one that is not
    expect(said.slice(1001)).toEqual(['the first'])
  } finally {
    await session.close()
  }
})
