// Everything at once, until it is killed: appends with blobs, puts, forks, removals and collections. Reports what was
// acknowledged, one JSON object a line.
import { randomBytes } from 'node:crypto'
import { utimesSync } from 'node:fs'
import {
  type BlobRef,
  Blobs,
  collectBlobs,
  findConversation,
  forkConversation,
  LockHeldError,
  openConversation,
  openWorkspace,
  removeConversation,
  titleConversation,
  UnreadableConversationError,
} from '@cordon/workspace'

const [root = '', dataHome = '', id = '', name = ''] = process.argv.slice(2)
const around = {
  env: { XDG_DATA_HOME: dataHome },
  platform: 'linux',
  home: '/nowhere',
  uid: process.getuid?.(),
}
const holder = { pid: process.pid, command: `churn ${name}` }
const shelf = { workspace: openWorkspace(root, around)!, holder, now: () => new Date() }
const { shared } = new Blobs(shelf)
const ref = findConversation(shelf, id)

const report = (acknowledged: object): void => void process.stdout.write(`${JSON.stringify(acknowledged)}\n`)

async function putSome(): Promise<BlobRef> {
  return shared.put(
    (async function* () {
      for (let i = Math.random() * 4; i > 0; i--) yield randomBytes(50_000)
    })(),
  )
}

const makeOld = (blob: BlobRef): void => utimesSync(shared.pathOf(blob.$blob), 0, 0)

const steps: readonly ((n: number) => Promise<void>)[] = [
  async (n) => {
    const writer = await openConversation(shelf, ref, { wait: 10_000 })
    const blob = await putSome()
    const at = shelf.now().toISOString()
    const text = `${name}-${n}`
    const resources = [{ uri: 'file:///x', blob }]
    await writer.append([
      { kind: 'turn', at },
      { kind: 'request', at, text, resources },
    ])
    report({ event: text, blob })
    await writer.close()
  },
  async () => report({ blob: await putSome() }), // recent, so it stays
  async () => makeOld(await putSome()), // garbage, for the collections of both
  async () => report({ fork: (await forkConversation(shelf, ref)).id }),
  async () => removeConversation(shelf, await forkConversation(shelf, ref)),
  async (n) => titleConversation(shelf, ref, `title ${n}`),
  async () => void (await collectBlobs(shelf, { action: 'delete' })),
]

report({ started: name })
for (let n = 0; ; n++) {
  const step = n % 2 === 0 ? steps[0]! : steps[Math.floor(Math.random() * steps.length)]!
  try {
    await step(n)
  } catch (error) {
    // Two of these run: a collection may find the other one collecting, or making a fork.
    if (!(error instanceof LockHeldError) && !(error instanceof UnreadableConversationError)) throw error
  }
}
