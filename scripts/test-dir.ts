import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Everything that tests make lies in one directory, which is gone when they are done, however they ended. */
export default function setUp(): () => void {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'cordon-tests-'))
  chmodSync(dir, 0o1777) // the tests are several users
  process.env['TMPDIR'] = dir
  return () => rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}
