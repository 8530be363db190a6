// Approves one binding after the other, trusts one text with each, and reports what was acknowledged, until it is killed.
import { type CanonicalPath, parseRelPath } from '@cordon/policy'
import { ApprovalStore, LockHeldError, openWorkspace } from '@cordon/workspace'

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
/** On a slow disk the others may have the lock for longer than the store waits. */
async function patiently(change: () => Promise<void>): Promise<void> {
  for (;;)
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof LockHeldError)) throw error
    }
}

for (let i = 0; i < Number(most); i++) {
  const target = `/target/${name}-${i}` as CanonicalPath
  await patiently(() => store.approve(parseRelPath(`${name}-${i}`), target))
  process.stdout.write(`${name}-${i}\n`)
  const text = { path: `${name}-${i}/.cordon.toml`, text: `# ${name}-${i}\n` }
  await patiently(() => store.trust([text]))
  process.stdout.write(`trusted ${name}-${i}\n`)
}
