import { readFileSync } from 'node:fs'
import { strangerIn, type Surroundings } from '@cordon/workspace'
import { describe, expect, test } from 'vitest'
import { isPrivateGroup } from '../src/place/owners.ts'

const around = (uid: number, env: Surroundings['env'] = {}): Surroundings => ({
  uid,
  env,
  platform: 'linux',
  home: '/',
})
const of = (uid: number, mode = 0o644, gid = 9_999_999): { uid: number; gid: number; mode: number } => ({
  uid,
  gid,
  mode,
})

describe('SPEC 2.1 whose a file is', () => {
  test('the user’s and root’s are fine, another user’s is not', () => {
    expect(strangerIn(of(1000), around(1000))).toBeUndefined()
    expect(strangerIn(of(0), around(1000))).toBeUndefined()
    expect(strangerIn(of(1001), around(1000))).toEqual({ kind: 'owner', uid: 1001 })
    expect(strangerIn(of(1001), around(0))).toEqual({ kind: 'owner', uid: 1001 })
  })

  test('SUDO_UID counts only when we are root; CORDON_TRUST_UID always (decision 0061)', () => {
    expect(strangerIn(of(1001), around(0, { SUDO_UID: '1001' }))).toBeUndefined()
    expect(strangerIn(of(1001), around(1000, { SUDO_UID: '1001' }))).toEqual({ kind: 'owner', uid: 1001 })
    expect(strangerIn(of(1001), around(1000, { CORDON_TRUST_UID: '1001' }))).toBeUndefined()
    expect(strangerIn(of(1002), around(0, { SUDO_UID: '1001', CORDON_TRUST_UID: '1003' }))).toEqual({
      kind: 'owner',
      uid: 1002,
    })
  })

  test('what everybody may write is refused, whoever owns it, also with the sticky bit', () => {
    for (const mode of [0o646, 0o777, 0o1777])
      expect(strangerIn(of(0, mode), around(0))).toEqual({ kind: 'everybody' })
  })

  test('what a group may write is refused where the group is not known to be one user’s own', () => {
    expect(strangerIn(of(1000, 0o664), around(1000))).toEqual({ kind: 'group', gid: 9_999_999 })
  })

  test('a system without user ids knows no strangers', () => {
    expect(strangerIn(of(5, 0o777), { ...around(0), uid: undefined })).toBeUndefined()
  })
})

/** Real accounts of this machine: a user with a group of their own name, which lists nobody else. */
const table = (file: string): string[][] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':'))
const [passwd, groups] = [table('/etc/passwd'), table('/etc/group')]
const own = passwd.find(
  ([name, , uid, gid]) =>
    uid !== '0' &&
    passwd.filter((other) => other[3] === gid).length === 1 &&
    groups.some((group) => group[0] === name && group[2] === gid && group[3] === ''),
)

test.runIf(own)('SPEC 2.1 group-writable is fine where the group is the user’s own', () => {
  const [uid, gid] = [Number(own![2]), Number(own![3])]
  expect(strangerIn(of(uid, 0o664, gid), around(uid))).toBeUndefined()
  expect(strangerIn(of(uid, 0o664, gid), around(0, { SUDO_UID: String(uid) }))).toBeUndefined()
  // The same group is another user's to somebody else, even on a file of their own.
  expect(strangerIn(of(64_000, 0o664, gid), around(64_000))).toEqual({ kind: 'group', gid })
})

describe('SPEC 2.1, decision 0132: whose a group is', () => {
  const users = 'root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\n'
  const cases: [name: string, passwd: string, group: string, isOwn: boolean][] = [
    ['of the user’s name, with nobody else', users, 'ann:x:1000:\n', true],
    ['that lists the user too', users, 'ann:x:1000:ann\n', true],
    ['that lists somebody else', users, 'ann:x:1000:ann,bob\n', false],
    ['of another name', users, 'staff:x:1000:\n', false],
    ['that is the primary one of two', `${users}eve:x:1002:1000::/:/bin/sh\n`, 'ann:x:1000:\n', false],
    ['with two entries', users, 'ann:x:1000:\nann:x:1000:bob\n', false],
    ['that is not in the list', users, '', false],
    ['that is nobody’s primary one', 'bob:x:1001:1001::/:/bin/sh\n', 'ann:x:1000:\n', false],
    ['where nothing can be read', '', '', false],
  ]
  for (const [name, listed, group, isOwn] of cases)
    test(`a group ${name}`, () => {
      expect(isPrivateGroup(1000, { passwd: listed, group }, around(1000))).toBe(isOwn)
      expect(isPrivateGroup(1000, { passwd: listed, group }, around(1001))).toBe(false)
    })
})
