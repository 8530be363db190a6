// Changes the configuration in a conversation and reports each change that was acknowledged, until it is killed.
import { findConversation, openConversation, openWorkspace } from '@cordon/workspace'

const [root = '', dataHome = '', id = '', from = '0', most = '900'] = process.argv.slice(2)
const around = {
  env: { XDG_DATA_HOME: dataHome },
  platform: 'linux',
  home: '/nowhere',
  uid: process.getuid?.(),
}
const shelf = {
  workspace: openWorkspace(root, around)!,
  holder: { pid: process.pid, command: 'seal' },
  now: () => new Date(),
}
process.stdout.write('started\n')
for (let n = Number(from); n < Number(from) + Number(most); n++) {
  const writer = await openConversation(shelf, findConversation(shelf, id), { wait: 600_000 })
  const at = new Date().toISOString()
  const delta = { profiles: { p: { access: { fs: [{ path: `p${n}` }] } } } }
  await writer.append([
    { kind: 'turn', at },
    { kind: 'config', at, delta },
  ])
  process.stdout.write(`${n}\n`)
  await writer.close()
}
