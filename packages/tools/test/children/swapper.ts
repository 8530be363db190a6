/**
 * The attacker of SPEC 6.4: swaps a directory and a file in it for links to the outside and back, as fast
 * as it can, until it is killed. `node swapper.ts <workspace> <outside>`
 */
import { renameSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

const [root = '', outside = ''] = process.argv.slice(2)

const attempt = (act: () => void): void => {
  try {
    act()
  } catch {
    // The tool was in the way; the next round tries again.
  }
}

function swap(path: string, target: string): void {
  const aside = `${path}.real`
  attempt(() => renameSync(path, aside))
  attempt(() => symlinkSync(target, path))
  attempt(() => unlinkSync(path))
  attempt(() => renameSync(aside, path))
}

process.stdout.write('ready\n')
for (;;) {
  swap(join(root, 'dir'), outside)
  swap(join(root, 'dir/leaf'), join(outside, 'leaf'))
}
