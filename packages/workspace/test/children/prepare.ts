// Prepares the user-local place of each directory, one after the other.
import { openWorkspace, prepareLocal } from '@cordon/workspace'

const [dataHome = '', ...roots] = process.argv.slice(2)
const around = {
  env: { XDG_DATA_HOME: dataHome },
  platform: 'linux',
  home: '/nowhere',
  uid: process.getuid?.(),
}
for (const root of roots)
  await prepareLocal(openWorkspace(root, around)!, { pid: process.pid, command: 'prepare' })
