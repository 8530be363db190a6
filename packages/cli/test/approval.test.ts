import type { Approval } from '@cordon/provider'
import { expect, test } from 'vitest'
import { formatApproval } from '../src/format/provider.ts'

test('SPEC 7.5 at the terminal, too, blanks and look-alikes are shown as what they are', () => {
  const asked: Approval = {
    id: 'x',
    app: 'bot',
    agent: 'did:key:z6Mk',
    command: '/filesystem/file/move',
    binding: '',
    request: {
      path: '/w/report ',
      destination: '/w/\u13a0\u13cf',
      files: 1,
      directories: 0,
      bytes: 1,
      paths: ['/w/a  b'],
      diff: '--- a\n+++ b\n@@ -1,1 +1,1 @@\n-x\n+x \n',
    },
    state: 'open',
    openedAt: 0,
    expiresAt: 0,
    decidedBy: undefined,
    noUntil: undefined,
  }
  expect(formatApproval(asked)).toBe(`agent   bot (did:key:z6Mk)
action  /filesystem/file/move
path    "/w/report\\u{20}"
to      "/w/\\u{13a0}\\u{13cf}"
touches 1 file, 1 byte
  "/w/a\\u{20}\\u{20}b"
  --- a
  +++ b
  @@ -1,1 +1,1 @@
  -x
  "+x\\u{20}"
  
until   1970-01-01T00:00:00Z`)
})
