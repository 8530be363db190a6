import { once } from 'node:events'
import { createServer } from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Admin } from '../src/admin.ts'
import { TestPlace } from './place.ts'

/** Attacks on the console that need no browser. */
let place: TestPlace
let admin: Admin
beforeAll(async () => {
  place = await TestPlace.start()
  admin = await Admin.open({ choice: place.choice, dir: place.dataDir, by: 'the test', clock: place.clock })
})
afterAll(async () => {
  await admin.close()
  await place.close()
})

const answers = async (url: string): Promise<string> =>
  fetch(`${url}/healthz`).then(
    (answer) => answer.text(),
    (error: Error) => (error.cause as NodeJS.ErrnoException).code ?? error.message,
  )

const hasIpv6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
)
if (!hasIpv6) console.warn('skipped: this machine has no ::1')

describe.skipIf(!hasIpv6)('SPEC 7.7 who is at localhost', () => {
  test('the console is at both loopback addresses, and ends at both', async () => {
    const serving = await place.serve()
    const { port } = new URL(serving.url)
    const both = [`http://127.0.0.1:${port}`, `http://[::1]:${port}`]
    expect(await Promise.all(both.map(answers))).toEqual(['ok\n', 'ok\n'])
    await serving.stop()
    expect(await Promise.all(both.map(answers))).toEqual(['ECONNREFUSED', 'ECONNREFUSED'])
  })

  test('somebody else at ::1 would be the console for a browser: then it does not start', async () => {
    const before = await place.serve()
    const port = Number(new URL(before.url).port) // free at both, when it has gone
    await before.stop()
    const other = createServer((_, answer) => answer.end('not the console'))
    other.listen(port, '::1')
    await once(other, 'listening')
    await expect(place.serve({ port })).rejects.toThrow(
      `cannot listen on ::1 port ${port}: listen EADDRINUSE: address already in use ::1:${port}\n` +
        '  browsers take whoever listens there for the console: both addresses of localhost must be ours\n' +
        '  fix: another --port, or --origin with the name and port that browsers use',
    )
    expect(await answers(`http://127.0.0.1:${port}`)).toBe('ECONNREFUSED') // nor half of it
    const named = await place.serve({ port, origin: 'https://files.example.com' })
    await named.stop()
    other.close()
  })
})
