// Appends turns to a conversation and reports each one that was acknowledged, until it is killed.
import { findConversation, openConversation, openWorkspace } from '@cordon/workspace'

const [root = '', dataHome = '', id = '', name = '', most = '1000000', wait = '600000'] =
  process.argv.slice(2)
const around = {
  env: { XDG_DATA_HOME: dataHome },
  platform: 'linux',
  home: '/nowhere',
  uid: process.getuid?.(),
}
const holder = { pid: process.pid, command: 'append' }
const shelf = { workspace: openWorkspace(root, around)!, holder, now: () => new Date() }
const writer = await openConversation(shelf, findConversation(shelf, id), { wait: Number(wait) })
for (let i = 0; i < Number(most); i++) {
  const at = new Date().toISOString()
  const text = `${name}-${i} ${'x'.repeat(Math.floor(Math.random() * 3000))}`
  await writer.append([
    { kind: 'turn', at },
    { kind: 'request', at, text, resources: [] },
  ])
  process.stdout.write(`${name}-${i}\n`)
}
await writer.close()
