import { expect, test } from 'vitest'
import { closeWhatExpired } from '../../src/provider.ts'
import { ConsoleUser } from '../passkey.ts'
import type { StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: run last: a clock that was ahead is a floor under everything that follows. */
export function testTimes(at: StepUpPlace): void {
  const { file, remove, asked } = at

  test('it expires, open or signed', async () => {
    const [open, signed] = [file(), file()]
    const ids = [await asked(open), await asked(signed)]
    await at.admin.decide(ids[1]!, 'approve')
    at.place.shift = 61_000
    try {
      await expect(at.admin.decide(ids[0]!, 'approve')).rejects.toThrow(
        `the approval ${ids[0]} is expired already`,
      )
      const again = await remove(signed)
      expect(again.code).toBe('step_up_required')
      expect(again.error['approval']).not.toBe(ids[1])
    } finally {
      at.place.shift = 0
    }
  })

  test('what has expired stays so, when the clock is set back afterwards', async () => {
    const [open, signed] = [file(), file()]
    const ids = [await asked(open), await asked(signed)]
    await at.admin.decide(ids[1]!, 'approve')
    const user = new ConsoleUser(at.place.serving)
    const link = await at.admin.addPasskey(at.place.serving.origin)
    await closeWhatExpired(at.place.database, at.place.clock() + 601_000) // as every provider does, every few seconds
    await expect(at.admin.decide(ids[0]!, 'approve')).rejects.toThrow(
      `the approval ${ids[0]} is expired already`,
    )
    expect((await remove(signed)).code).toBe('step_up_required')
    expect((await at.admin.approval(ids[1]!))!.state).toBe('expired')
    expect((await user.register(link, 'late')).body.error.code).toBe('link_used')
  })

  test('signed at the last moment, the agent has as long as for any other', async () => {
    at.place.stopClock()
    const path = file()
    const id = await asked(path)
    at.place.shift = 59_000
    await at.admin.decide(id, 'approve')
    at.place.shift = 118_000
    expect((await remove(path)).code).toBe('ok')
    const late = await asked(file())
    await at.admin.decide(late, 'approve')
    at.place.shift += 61_000
    expect(await at.admin.approval(late)).toMatchObject({ state: 'expired', decidedBy: 'the test' })
  })
}
