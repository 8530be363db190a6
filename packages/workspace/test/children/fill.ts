// On a small filesystem of its own: fills it, sees every kind of write fail with a clear error, makes room, and sees that
// everything that was there before still is. Prints the errors. Started by disk-full.test.ts under `unshare -m`.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CanonicalPath, CordonError, parseRelPath } from '@cordon/policy'
import {
  ApprovalStore,
  Blobs,
  createConversation,
  initWorkspace,
  openConversation,
  readConversation,
} from '@cordon/workspace'

const [mountPoint = ''] = process.argv.slice(2)
execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', mountPoint])
const root = join(mountPoint, 'w')
mkdirSync(root)
const uid = process.getuid?.()
const around = { env: { XDG_DATA_HOME: join(mountPoint, 'data') }, platform: 'linux', home: '/nowhere', uid }
const holder = { pid: process.pid, command: 'fill' }
const now = (): Date => new Date('2026-11-15T12:00:00Z')
const workspace = await initWorkspace(root, around, holder)
const shelf = { workspace, holder, now }

const store = new ApprovalStore(workspace, { holder, uid, now })
await store.approve(parseRelPath('kept'), '/kept' as CanonicalPath)
await store.trust([{ path: '.cordon.toml', text: 'kept' }])
const ref = await createConversation(shelf, { keeping: 'shared' })
const writer = await openConversation(shelf, ref, { wait: 0 })
const request = (text: string) => ({ kind: 'request', at: now().toISOString(), text, resources: [] }) as const
await writer.append([request('kept')])

async function* large(): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < 8; i++) yield randomBytes(1024 * 1024)
}

async function errorOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => 'no error',
    (e: unknown) => e,
  )
  return error instanceof CordonError
    ? `${error.code}: ${error.message.replaceAll(mountPoint, '')}`
    : String(error)
}

const errors = [await errorOf(new Blobs(shelf).shared.put(large()))]
const ballast = join(mountPoint, 'ballast')
for (const size of [1 << 20, 1 << 16, 1 << 12, 1])
  try {
    for (let i = 0; ; i++) writeFileSync(`${ballast}-${size}-${i}`, randomBytes(size))
  } catch {
    // full for this size
  }
errors.push(
  await errorOf(writer.append([request('x'.repeat(100_000))])),
  await errorOf(store.approve(parseRelPath('more'), '/more' as CanonicalPath)),
  await errorOf(store.trust([{ path: '.cordon.toml', text: 'more' }])),
  await errorOf(createConversation(shelf, { keeping: 'shared', title: 't' })),
)
rmSync(`${ballast}-${1 << 12}-0`, { force: true })
rmSync(`${ballast}-${1 << 16}-0`, { force: true })
rmSync(`${ballast}-${1 << 20}-0`, { force: true })
await writer.append([request('after')]) // the same writer goes on once there is room
await writer.close()
const texts: string[] = []
for await (const event of readConversation(ref)) if (event.kind === 'request') texts.push(event.text)
const approvals = await store.read()
const approved = approvals.mounts.map((mount) => mount.rule_path)
const trusts = ['kept', 'more'].filter((text) => approvals.trusts('.cordon.toml', text))
const left = execFileSync('find', [
  mountPoint,
  '-name',
  '*.tmp',
  '-o',
  '-name',
  '.put-*',
  '-o',
  '-name',
  '.new-*',
])
process.stdout.write(`${JSON.stringify({ errors, texts, approved, trusts, left: left.toString() })}\n`)
