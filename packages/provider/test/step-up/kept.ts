import type { CompiledQuery, Selectable } from 'kysely'
import { expect, test } from 'vitest'
import type { Command } from '../../src/commands.ts'
import { listSummaries, requireApproval } from '../../src/step-up/approvals.ts'
import type { Database } from '../../src/storage/database.ts'
import type { Schema } from '../../src/storage/schema.ts'
import { send } from '../place.ts'
import type { StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: what was asked is found, listed and kept within bounds. */
export function testKept(at: StepUpPlace): void {
  const { file, asked } = at
  const rowOf = (id: string): Promise<Selectable<Schema['approvals']>> =>
    at.place.database.queries
      .selectFrom('approvals')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()

  test('what was asked for the same request before is not read again', async () => {
    const path = file()
    const id = await asked(path)
    const { queries } = at.place.database
    const row = await rowOf(id)
    for (const [i, state] of (['used', 'open', 'approved', 'denied'] as const).entries())
      await queries
        .insertInto('approvals')
        .values({ ...row, id: `old${at.next()}`, state, expires_at: i, decided_at: i })
        .execute()
    const read: CompiledQuery[] = []
    const watched: Database = {
      ...at.place.database,
      lockRow: (query) => {
        read.push(query.compile())
        return at.place.database.lockRow(query)
      },
    }
    const { app, agent: by, command, binding } = row
    const request = { path, files: 1, directories: 0, bytes: 1, paths: [path] }
    const again = { app, agent: by, command: command as Command, binding, meaning: row.meaning!, request }
    await expect(
      requireApproval(watched, again, at.place.clock(), { origin: 'http://localhost' }),
    ).rejects.toMatchObject({ detail: { approval: id } })
    const { rows } = await queries.executeQuery<Record<string, unknown>>(read[0]!)
    expect(rows.map((found) => ({ ...found }))).toEqual([
      { id, state: 'open', binding, expires_at: row.expires_at, proof: null, record: null },
    ])
  })

  test('what waits is in the list, first, however much was asked since', async () => {
    const path = file()
    const id = await asked(path)
    const { queries } = at.place.database
    const row = await rowOf(id)
    const later = Array.from({ length: 210 }, (__, i) => ({
      ...row,
      id: `later${i}`,
      binding: `later${i}`,
      state: 'used' as const,
      opened_at: row.opened_at + 1 + i,
    }))
    await queries.insertInto('approvals').values(later).execute()
    const lists = [await at.admin.approvals(), await listSummaries(at.place.database, at.place.clock())]
    for (const list of lists) {
      expect(list.map((each) => each.id)).toContain(id)
      const states = list.map(({ state }) => state === 'open')
      expect(states.lastIndexOf(true)).toBe(states.indexOf(false) - 1)
    }
    await queries
      .deleteFrom('approvals')
      .where(
        'id',
        'in',
        later.map((each) => each.id),
      )
      .execute()
  })

  test('what one app asks does not fill the database: the newest is kept, and what still counts', async () => {
    const busy = await at.place.agent(`busy${at.next()}`, [{ name: 'filesystem:delete-step-up' }])
    const ask = async (): Promise<string> =>
      String((await send(busy, '/filesystem/file/delete', { path: file() })).error['approval'])
    const { queries } = at.place.database
    const first = await ask()
    await at.admin.decide(first, 'deny')
    const row = await rowOf(first)
    const expires_at = at.place.clock() - 1000
    const asked20 = Array.from({ length: 20 }, (__, i) => ({
      ...row,
      id: `${busy.id}-${String(i).padStart(2, '0')}`,
      state: 'open' as const,
      size: 2 ** 20,
      opened_at: row.opened_at + 1 + i,
      expires_at,
    }))
    await queries.insertInto('approvals').values(asked20).execute()
    const last = await ask()
    const kept = await queries
      .selectFrom('approvals')
      .select('id')
      .where('app', '=', busy.id)
      .orderBy('opened_at')
      .execute()
    const newest = asked20.slice(4).map(({ id }) => id)
    expect(kept.map(({ id }) => id).sort()).toEqual([first, last, ...newest].sort())
  })

  test('one app cannot flood a person', async () => {
    const flood = await at.place.agent(`flood${at.next()}`, [{ name: 'filesystem:delete-step-up' }])
    const codes = []
    for (let i = 0; i < 18; i++)
      codes.push((await send(flood, '/filesystem/file/delete', { path: file() })).code)
    expect(codes.slice(0, 16)).toEqual(Array.from({ length: 16 }, () => 'step_up_required'))
    expect(codes.slice(16)).toEqual(['too_many_approvals', 'too_many_approvals'])
  })
}
