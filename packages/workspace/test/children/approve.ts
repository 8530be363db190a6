// Approves one binding after the other, trusts one text with each, and reports what was acknowledged, until it is killed.
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { ApprovalStore, openWorkspace } from '@cordon/workspace'

const [root = '', dataHome = '', name = '', most = '1000000'] = process.argv.slice(2)
const around = {
  env: { XDG_DATA_HOME: dataHome },
  platform: 'linux',
  home: '/nowhere',
  uid: process.getuid?.(),
}
const store = new ApprovalStore(openWorkspace(root, around)!, {
  holder: { pid: process.pid, command: 'approve' },
  uid: process.getuid?.(),
  now: () => new Date(),
})
for (let i = 0; i < Number(most); i++) {
  await store.approve(parseRelPath(`${name}-${i}`), `/target/${name}-${i}` as CanonicalPath)
  process.stdout.write(`${name}-${i}\n`)
  await store.trust([{ path: `${name}-${i}/.cordon.toml`, text: `# ${name}-${i}\n` }])
  process.stdout.write(`trusted ${name}-${i}\n`)
}
