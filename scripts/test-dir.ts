import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Everything that tests make lies in one directory, which is gone when they are done, however they ended. */
export default function setUp(): () => void {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'cordon-tests-'))
  chmodSync(dir, 0o1777) // the tests are several users
  process.env['TMPDIR'] = dir
  return () => {
    spawnSync('chmod', ['-R', 'u+rwX', dir]) // some tests take their own rights away
    spawnSync('rm', ['-rf', dir], { stdio: 'inherit' })
  }
}
