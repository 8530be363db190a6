import { existsSync } from 'node:fs'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { AuditLog } from '../../src/audit/log.ts'
import { eventOf } from '../../src/audit/record.ts'
import { cosign } from '../../src/step-up/proof.ts'
import type { Database } from '../../src/storage/database.ts'
import { SigningKey } from '../../src/tokens/key.ts'
import { ConsoleUser } from '../passkey.ts'
import type { StepUpPlace } from './step-up-place.ts'

/** SPEC 7.5: an approval is what a person gave and the trail has, not what stands in the database. */
export function testForged(at: StepUpPlace): void {
  const { file, remove, asked } = at

  test('a row that was only written to the database is no signature', async () => {
    const path = file()
    const id = await asked(path)
    const forge = async (proof: string | null): Promise<string> => {
      await at.place.database.queries
        .updateTable('approvals')
        .set({ state: 'approved', proof })
        .where('id', '=', id)
        .execute()
      return (await remove(path)).code
    }
    expect(await forge(null)).toBe('step_up_denied')
    const stranger = SigningKey.generate()
    const { binding } = (await at.admin.approval(id))!
    const text = Buffer.from(`cordon cosign 1\n${id}\n${binding}\n`)
    const signature = Buffer.from(stranger.sign(text)).toString('base64url')
    expect(await forge(`${stranger.did} ${signature}`)).toBe('step_up_denied')
    // Nor with a second row, for the key: the audit does not have that anybody gave it.
    const { queries } = at.place.database
    await queries
      .insertInto('provider_keys')
      .values({ did: stranger.did, created_at: 1, retired_at: null })
      .execute()
    const proof = `${stranger.did} ${signature}`
    expect(await forge(proof)).toBe('step_up_denied')
    // Nor with the record of another approval.
    await at.admin.decide(await asked(file()), 'approve')
    const { seq } = await queries.selectFrom('audit_head').select('seq').executeTakeFirstOrThrow()
    await queries.updateTable('approvals').set({ record: seq }).where('id', '=', id).execute()
    expect(await forge(proof)).toBe('step_up_denied')
    expect(existsSync(path)).toBe(true)
    await queries.deleteFrom('provider_keys').where('did', '=', stranger.did).execute()
  })

  test('an approval by a passkey that was removed since counts for nothing', async () => {
    const user = new ConsoleUser(at.place.serving)
    expect((await user.register(await at.admin.addPasskey(at.place.serving.origin), 'lost')).status).toBe(200)
    const [path, later] = [file(), file()]
    const [first, second] = [await asked(path), await asked(later)]
    for (const id of [first, second]) expect((await user.approve(id)).status).toBe(200)
    expect((await remove(path)).code).toBe('ok')
    await at.admin.removePasskey('lost')
    const { code, message } = await remove(later)
    expect([code, message]).toEqual([
      'step_up_denied',
      'the passkey that gave this approval was removed since',
    ])
    expect(existsSync(later)).toBe(true)
  })

  test('what was done with an approval that nobody gave is found in the trail', async () => {
    const path = file()
    const id = await asked(path)
    await at.admin.decide(id, 'approve')
    expect((await remove(path)).code).toBe('ok')
    expect((await at.admin.verify()).problems).toEqual([])
    const audit = new AuditLog(at.place.database)
    const intent = (approval: string): Promise<void> =>
      audit.append({
        kind: 'intent',
        op: approval,
        app: 'careful',
        agent: at.agent.key.did,
        command: '/filesystem/file/delete',
        path,
        invocation: 'c',
        approval,
      })
    await intent('0123')
    await intent(id) // a second time
    const told = (which: string): object => ({
      seq: expect.any(Number),
      kind: 'unapproved',
      detail: `it was done with the approval ${which}, which nobody gave, or which was used before`,
    })
    expect((await at.admin.verify()).problems).toEqual([told('0123'), told(id)])
  })

  test('that somebody gave one is found to be forged, without a proof and with the proof of another', async () => {
    const before = (await at.admin.verify()).problems.length
    const audit = new AuditLog(at.place.database)
    const stranger = SigningKey.generate()
    const forge = async (approval: string, proof: object): Promise<void> => {
      const detail = {
        approval,
        app: 'careful',
        command: '/filesystem/file/delete',
        path: '/x',
        binding: 'b',
      }
      await audit.append(eventOf('approval given', 'ann with passkey laptop', { ...detail, ...proof }))
      await audit.append({
        kind: 'intent',
        op: approval,
        app: 'careful',
        agent: at.agent.key.did,
        command: '/filesystem/file/delete',
        path: '/x',
        invocation: 'c',
        approval,
      })
    }
    await forge('none', {})
    await forge('strange', { proof: cosign(stranger, { id: 'strange', binding: 'b' }) })
    const told = (which: string): object => ({
      seq: expect.any(Number),
      kind: 'unapproved',
      detail: `no key of this provider signed the approval ${which}`,
    })
    const { ok, problems } = await at.admin.verify()
    expect([ok, problems.slice(before)]).toEqual([false, [told('none'), told('strange')]])
  })

  test('no approval without the record of who gave it, and of what it is for', async () => {
    const path = file()
    const id = await asked(path)
    const { binding } = (await at.admin.approval(id))!
    const records = async (): Promise<unknown[]> => {
      const rows = await at.place.database.queries.selectFrom('audit_records').select('body').execute()
      return rows.map(({ body }) => JSON.parse(body) as unknown)
    }
    const refused = { kind: 'refused', code: 'step_up_required', path, approval: id }
    await expect.poll(records).toContainEqual(expect.objectContaining(refused))
    await noMoreRecords(at.place.database, 'approval given')
    await expect(at.admin.decide(id, 'approve')).rejects.toThrow('disk full')
    expect((await at.admin.approval(id))!.state).toBe('open')
    expect((await remove(path)).code).toBe('step_up_required')
    await recordsAgain(at.place.database)
    await at.admin.decide(id, 'deny')
    const detail = { approval: id, app: 'careful', command: '/filesystem/file/delete', path, binding }
    const denied = { name: 'approval denied', by: 'the test', detail }
    expect(await records()).toContainEqual(expect.objectContaining(denied))
  })
}

/** As a full disk would, for one kind of record. */
async function noMoreRecords({ queries, engine }: Database, name: string): Promise<void> {
  const wanted = sql.lit(`%"name":"${name}"%`)
  if (engine === 'embedded')
    return void (await sql`create trigger full_disk before insert on audit_records when new.body like ${wanted} begin select raise(abort, 'disk full'); end`.execute(
      queries,
    ))
  await sql`create function full_disk() returns trigger as $$ begin if new.body like ${wanted} then raise exception 'disk full'; end if; return new; end $$ language plpgsql`.execute(
    queries,
  )
  await sql`create trigger full_disk before insert on audit_records for each row execute function full_disk()`.execute(
    queries,
  )
}

const recordsAgain = async ({ queries, engine }: Database): Promise<void> =>
  void (await (
    engine === 'embedded' ? sql`drop trigger full_disk` : sql`drop trigger full_disk on audit_records`
  ).execute(queries))
