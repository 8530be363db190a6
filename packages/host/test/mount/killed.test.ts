import { spawnSync } from 'node:child_process'
import { readdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { MountFlag } from '../../src/mount/plan.ts'
import { Lab, mount, noMount } from './lab.ts'

let lab: Lab
let x: string
let y: string

beforeEach(() => {
  lab = new Lab()
  x = lab.place('x')
  y = lab.place('y')
})
afterEach(() => rmSync(lab.base, { recursive: true }))

const CHILD = join(import.meta.dirname, '../children/mount-killed.ts')

/** True when it was killed; false when it came to its end. */
function killedBefore(effect: number, flags: readonly MountFlag[]): boolean {
  const job = JSON.stringify({ root: lab.root, home: lab.home, flags, killed: effect })
  const { signal, status, stderr } = spawnSync(process.execPath, ['--conditions=cordon-source', CHILD, job], {
    encoding: 'utf8',
  })
  if (signal === 'SIGKILL') return true
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return false
}

interface Access {
  readonly read: boolean
  readonly update: boolean
}

async function accessOf(tool: string, path: string): Promise<Access> {
  return { read: await lab.allows(tool, 'read', path), update: await lab.allows(tool, 'update', path) }
}

const NONE = { read: false, update: false }

test('SPEC 3.3 killed at any effect of a mount, nothing is granted, and the same command completes it', async () => {
  const flags = [mount(`fs_modify_file:a/fork=${x}:rw`)]
  let kills = 0
  while (killedBefore(kills + 1, flags)) {
    kills++
    // Without a link the name is an ordinary path. With one, there is no access before the last effect is done.
    const linked = lab.tree().includes(`a/fork -> ${x}`)
    expect({ kills, linked }).toEqual({ kills, linked: kills > 2 })
    if (linked)
      expect({ kills, ...(await accessOf('fs_modify_file', 'a/fork/file')) }).toEqual({ kills, ...NONE })
    expect(await accessOf('fs_modify_file', 'src')).toEqual({ read: true, update: true })
    await lab.change(flags)
    expect(await accessOf('fs_modify_file', 'a/fork/file')).toEqual({ read: true, update: true })
    expect(await accessOf('fs_read_file', 'a/fork/file')).toEqual(NONE)
    expect((await lab.mounts()).map(({ state }) => state)).toEqual(['ok'])
    expect(readdirSync(join(lab.root, '.cordon/conversations')).length).toBe(1)
    rmSync(lab.base, { recursive: true })
    lab = new Lab()
    x = lab.place('x')
    flags[0] = mount(`fs_modify_file:a/fork=${x}:rw`)
  }
  expect(kills).toBe(4) // mkdir, link, append, approve
})

test('SPEC 3.4 killed at any effect of an unmount, the same command completes it', async () => {
  const flags = [noMount('fork')]
  let kills = 0
  for (;;) {
    await lab.change([mount(`fork=${x}`)])
    if (!killedBefore(kills + 1, flags)) break
    kills++
    const access = await accessOf('fs_read_file', 'fork/file')
    // Before the first effect nothing has happened yet; from then on there is no access.
    expect({ kills, ...access }).toEqual({ kills, read: kills === 1, update: false })
    // Not even through a link that somebody puts there again: the approval was the first to go.
    if (lab.tree().length === 0) {
      symlinkSync(x, join(lab.root, 'fork'))
      expect({ kills, ...(await accessOf('fs_read_file', 'fork/file')) }).toEqual({ kills, ...NONE })
    }
    await lab.change(flags)
    expect(lab.tree()).toEqual([])
    expect(await lab.mounts()).toEqual([])
  }
  expect(kills).toBe(3) // revoke, unlink, append
})

test('SPEC 3.4 killed while a mount is replaced, the old rules never reach the new target', async () => {
  const flags = [noMount('fork'), mount(`fs_read_file:fork=${y}`)]
  let kills = 0
  for (;;) {
    await lab.change([mount(`fs_modify_file:fork=${x}:rw`)])
    if (!killedBefore(kills + 1, flags)) break
    kills++
    if (kills > 1)
      expect({ kills, ...(await accessOf('fs_modify_file', 'fork/file')) }).toEqual({ kills, ...NONE })
    await lab.change(flags)
    expect(await accessOf('fs_modify_file', 'fork/file')).toEqual(NONE)
    expect(await accessOf('fs_read_file', 'fork/file')).toEqual({ read: true, update: false })
    await lab.change([noMount('fork')])
  }
  expect(kills).toBe(5) // revoke, unlink, link, append, approve
})
