import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { tempDir } from './fixture.ts'

/** The right to mount: root has it, others get it in a user namespace where the kernel permits. */
const UNSHARE = [['-m'], ['-Urm']].find((flags) => spawnSync('unshare', [...flags, 'true']).status === 0)

test.skipIf(UNSHARE === undefined)(
  'a full disk: a clear error for every kind of write, and the earlier state intact',
  () => {
    const mountPoint = join(tempDir(), 'small')
    mkdirSync(mountPoint)
    const script = join(dirname(fileURLToPath(import.meta.url)), 'children/fill.ts')
    const node = [process.execPath, '--conditions=cordon-source', '--no-warnings', script, mountPoint]
    const { stdout, stderr } = spawnSync('unshare', [...UNSHARE!, ...node], {
      encoding: 'utf8',
      timeout: 250_000,
    })
    expect(stderr).toBe('')
    const { errors, ...after } = JSON.parse(stdout) as { errors: string[] }
    expect(
      errors.map((error) => error.replace(/[0-9a-z]{16}/, '<id>').replace(/w-[a-z0-9]{8}/, 'w-<id>')),
    ).toEqual([
      'BLOB_PUT: cannot keep the content in /w/.cordon/blobs: the disk is full',
      'CONVERSATION_APPEND: cannot add to the conversation in /w/.cordon/conversations/<id>/events.jsonl: the disk is full',
      'APPROVALS: cannot change the approvals in /data/cordon/workspace/w-<id>/approvals.json: the disk is full',
      'APPROVALS: cannot change the approvals in /data/cordon/workspace/w-<id>/approvals.json: the disk is full',
      'CONVERSATION_APPEND: cannot add to the conversation in /w/.cordon/conversations/.new-<id>: the disk is full',
    ])
    expect(after).toEqual({ texts: ['kept', 'after'], approved: ['kept'], trusts: ['kept'], left: '' })
  },
)
