// Puts random content again and again and reports each reference that was acknowledged, until it is killed.
import { randomBytes } from 'node:crypto'
import { Blobs, openWorkspace } from '@cordon/workspace'

const [root = '', dataHome = ''] = process.argv.slice(2)
const around = {
  env: { XDG_DATA_HOME: dataHome },
  platform: 'linux',
  home: '/nowhere',
  uid: process.getuid?.(),
}
const holder = { pid: process.pid, command: 'put' }
const { shared } = new Blobs({ workspace: openWorkspace(root, around)!, holder, now: () => new Date() })

async function* content(): AsyncGenerator<Uint8Array> {
  for (let i = Math.random() * 8; i > 0; i--) yield randomBytes(64 * 1024)
}
for (;;) process.stdout.write(`${JSON.stringify(await shared.put(content()))}\n`)
