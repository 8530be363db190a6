/** The console: how soon it can be used beside a bare page of the same server, and the audit page of a long trail. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { send } from '../place.ts'
import { BrowserPlace, startBrowser } from './browser.ts'
import { chainOn, type ChainHead } from '../../src/audit/record.ts'
import { median } from '../../../../bench/measure.ts'

const LOADS = 15
const ROWS = [1000, 1_000_000]

const browser = await startBrowser()
if (!browser) process.exit(1)
const at = await BrowserPlace.start(browser)
const person = await at.person()
await person.register('bench')
await person.click('Sign out')
await person.page.getByRole('button', { name: 'Sign in' }).waitFor()

// As on a first visit: everything is loaded again.
await person.cdp.send('Network.enable')
await person.cdp.send('Network.setCacheDisabled', { cacheDisabled: true })

/** From the beginning of the navigation to a button that can be pressed; of the bare page, to its text. */
const load = async (path: string, there: string): Promise<number> => {
  const started = performance.now()
  await person.open(path)
  await person.page.waitForFunction((selector) => document.querySelector(selector) !== null, there, {
    polling: 'raf',
  })
  return performance.now() - started
}
const [bare, page]: [number[], number[]] = [[], []]
for (let i = 0; i < LOADS; i++) {
  bare.push(await load('/healthz', 'body'))
  page.push(await load('/console/', 'button'))
}
const ratio = median(page) / median(bare)
console.log(
  `interactive: ${median(page).toFixed(0)} ms, a bare page ${median(bare).toFixed(0)} ms: ${ratio.toFixed(2)}× (at most 2)`,
)

await person.click('Sign in')
await person.page.getByRole('heading', { name: 'Overview' }).waitFor()
const asker = await at.place.agent(
  'bench',
  'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
)
const many = join(at.place.files, 'many')
mkdirSync(many)
for (let i = 0; i < 10_000; i++) writeFileSync(join(many, `file-${i}`), '')
const { error } = await send(asker, '/filesystem/dir/delete_recursive', { path: many })
const opened: number[] = []
for (let i = 0; i < LOADS; i++) opened.push(await load(String(error['url']), '.paths li'))
console.log(`approval of 10,000 files: ${median(opened).toFixed(0)} ms (at most 1000)`)

const { queries } = at.place.database
let head: ChainHead = await queries
  .selectFrom('audit_records')
  .select(['seq', 'hash'])
  .orderBy('seq', 'desc')
  .executeTakeFirstOrThrow()
const firstPages: number[] = []
for (const rows of ROWS) {
  while (head.seq < rows) {
    const bodies = Array.from({ length: Math.min(2000, rows - head.seq) }, (_, i) => ({
      kind: 'intent' as const,
      op: `op-${head.seq + i}`,
      app: 'bench',
      agent: 'did:key:bench',
      command: '/filesystem/file/read' as const,
      path: `/srv/files/${head.seq + i}`,
      invocation: 'bafy',
    }))
    const records = chainOn(head, Date.now(), bodies)
    await queries.insertInto('audit_records').values(records).execute()
    head = records.at(-1)!
  }
  await queries
    .updateTable('audit_head')
    .set(head.hash === '' ? {} : { seq: head.seq, hash: head.hash })
    .execute()
  const times: number[] = []
  for (let i = 0; i < LOADS; i++) times.push(await load('/console/audit', '.trail > li:nth-child(50)'))
  firstPages.push(median(times))
  console.log(`audit page of ${rows.toLocaleString('en')} records: ${median(times).toFixed(0)} ms`)
}
const growth = firstPages[1]! / firstPages[0]!
console.log(`audit page, 1,000,000 beside 1,000 records: ${growth.toFixed(2)}× (at most 1.5)`)
await browser.close()
await at.close()
if (ratio > 2 || growth > 1.5 || median(opened) > 1000) process.exitCode = 1
