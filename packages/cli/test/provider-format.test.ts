import type { Approval } from '@cordon/provider'
import { expect, test } from 'vitest'
import { approvalJson, formatApproval, formatServing } from '../src/format/provider.ts'

test('SPEC 7.5 at the terminal, too, blanks and look-alikes are shown as what they are, links as links', () => {
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
      links: 1,
      bytes: 1,
      bytesNow: 7,
      paths: ['/w/a  b', '/w/c'],
      kinds: 'ld',
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
touches 1 file (1 link among them, not what they lead to), from 7 to 1 byte
  link       "/w/a\\u{20}\\u{20}b"
  directory  /w/c
  --- a
  +++ b
  @@ -1,1 +1,1 @@
  -x
  "+x\\u{20}"
  
until   1970-01-01T00:00:00Z`)
  const tree = { ...asked, command: '/filesystem/dir/delete_recursive' } as Approval
  expect(formatApproval(tree)).toContain('\n  directory  "/w/report\\u{20}"\n  link       ')
  expect(approvalJson(asked)).toMatchObject({ links: 1, bytes_now: 7, path_kinds: ['link', 'directory'] })
})

test('SPEC 7.7 where browsers look and where it listens: another port is said, unless a proxy does TLS', () => {
  const url = 'https://0.0.0.0:7420'
  const told = 'listening on https://0.0.0.0:7420\nconsole at https://files.example.com'
  expect(formatServing({ url, origin: 'https://files.example.com' })).toBe(
    `${told}/console/\nwarning: browsers look for the console at port 443, and this listens on port 7420: give --port 443, or --origin https://files.example.com:7420, unless something leads from one to the other\n`,
  )
  expect(formatServing({ url, origin: 'https://files.example.com:7420' })).toBe(`${told}:7420/console/\n`)
  const plain = 'http://127.0.0.1:7420'
  expect(formatServing({ url: plain, origin: 'https://files.example.com' })).toBe(
    `listening on ${plain}\nconsole at https://files.example.com/console/\n`,
  )
})
