import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { admitByLink } from '../../src/attachment/by-link.ts'

/** SPEC 3.2, 4.9: `mount` is a link to an approved target, which a program that writes the target has led on. */
function scene(): {
  readonly base: string
  readonly root: string
  admits: (path: string) => Promise<string>
} {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-by-link-')))
  onTestFinished(() => rmSync(base, { recursive: true }))
  const root = join(base, 'root')
  for (const dir of ['root', 'target', 'keys']) mkdirSync(join(base, dir))
  symlinkSync(join(base, 'target'), join(root, 'mount'))
  const approvals = async (): Promise<{ lookup: () => 'approved' }> => ({ lookup: () => 'approved' })
  const terms = { root, approvals, isSecret: undefined, person: undefined }
  return {
    base,
    root,
    admits: (path) =>
      admitByLink('mount/x', { named: join(root, 'mount/x'), path }, terms).then(
        () => 'admitted',
        (error: unknown) => (error as Error).message,
      ),
  }
}

test('the attack: what a link led to when it was followed counts, not where it leads by now', async () => {
  const { base, admits } = scene()
  expect(await admits(join(base, 'target/x'))).toBe('admitted')
  expect(await admits(join(base, 'keys/x'))).toBe(
    `cannot attach mount/x: a link leads out of the workspace, to ${base}/keys/x; name that path itself to attach it`,
  )
})
