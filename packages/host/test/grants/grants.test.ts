import { expect, test } from 'vitest'
import { parseQuestion } from '../../src/why/question.ts'
import { why } from '../../src/why/why.ts'
import { play } from './actor.ts'
import { configOf } from './cases.ts'
import { GrantsPlace } from './place.ts'
import { tally } from './tally.ts'

/** `npm run soak:grants` plays 50,000 others. */
const CASES = 2000

test(
  'SPEC 4.12 what why says is what the shipped tools do, an error changes nothing, and the suggested edit is the least that helps',
  { timeout: 1_800_000 },
  async () => {
    const counts = await tally(1, CASES, 3)
    expect(Object.values(counts).reduce((sum, count) => sum + count)).toBe(CASES)
    // Not a test of nothing: each kind of outcome comes up often.
    for (const kind of ['done', 'refused', 'fixed', 'impossible'] as const)
      expect(counts[kind], kind).toBeGreaterThan(CASES / 20)
  },
)

/** One leads into the other, and grants more there. */
const ONE_IN_THE_OTHER = [
  { path: 'fork', external: true, delete: true, execute: true },
  { path: 'in/deep', external: true, read: true },
]

/** Each was wrong once. */
const FOUND = [
  {
    name: 'unix_utils is told the edit for what the caller named, not for another name of the same place',
    tool: 'unix_utils',
    rules: [{ path: 'll', read: true, create: true, execute: true }, { path: 'l' }],
    paths: ['l/to-f'],
    arguments: { util: 'touch', args: ['--', 'l/to-f'] },
    verdict: 'fixed',
  },
  {
    name: 'what leaves a mount by its name may be where another leads',
    tool: 'start',
    rules: [
      { path: 'fork', external: true, read: true },
      { path: 'note', external: true, read: true, execute: true },
    ],
    paths: ['fork/up/one/note'],
    arguments: { path: 'fork/up/one/note' },
    verdict: 'done',
  },
  {
    name: 'but not over a link in a directory outside that no rule shows',
    tool: 'start',
    rules: [
      { path: 'fork/n', external: true, update: true },
      { path: 'note', external: true, read: true, execute: true },
    ],
    paths: ['fork/up/one/note'],
    arguments: { path: 'fork/up/one/note' },
    verdict: 'refused',
  },
  {
    name: 'unix_utils asks by name, as every shipped tool: what another mount grants there does not count',
    tool: 'unix_utils',
    rules: ONE_IN_THE_OTHER,
    paths: ['fork/n/f'],
    arguments: { util: 'cat', args: ['--', 'fork/n/f'] },
    verdict: 'fixed',
  },
  {
    name: 'a shipped tool asks by name, so that it does not reach through one mount what another grants there',
    tool: 'fs_read_file',
    rules: ONE_IN_THE_OTHER,
    paths: ['fork/n/f'],
    arguments: { path: 'fork/n/f' },
    verdict: 'fixed',
  },
  {
    name: 'what only the kernel withholds from content, it does not withhold from times',
    tool: 'unix_utils',
    rules: [
      { path: 'fork/n', external: true, read: true, update: true, delete: true },
      { path: 'in/deep', external: true, read: true, delete: true },
    ],
    paths: ['fork/n/f'],
    arguments: { util: 'touch', args: ['--', 'fork/n/f'] },
    verdict: 'done',
  },
  {
    name: 'a search in one file that the kernel closes, because another mount of it does, is an error',
    tool: 'fs_grep_files',
    rules: [
      { path: 'in/deep', external: true, delete: true },
      { path: 'fork/n', external: true, read: true, delete: true },
    ],
    paths: ['fork/n/f'],
    arguments: { pattern: 'old', path: 'fork/n/f' },
    verdict: 'refused',
  },
  {
    name: 'a directory that a later rule closes again is not looked into for unfinished changes',
    tool: 'fs_modify_file',
    rules: [
      { path: 'd/e', read: true, create: true, update: true, delete: true },
      { path: 'd/e' },
      { path: 'f', update: true },
    ],
    paths: ['f'],
    arguments: { edits: [{ path: 'f', old: 'old', new: 'new' }] },
    verdict: 'done',
  },
  {
    name: 'directories that are made on the way to what is granted are not moved aside afterwards',
    tool: 'fs_create_file',
    rules: [{ path: 'a/new' }, { path: 'a/new/x/y', create: true }],
    paths: ['a/new/x/y'],
    arguments: { path: 'a/new/x/y', content: 'made', overwrite: true },
    verdict: 'done',
  },
  {
    name: 'a link whose directory no rule shows is not there, and why says so',
    tool: 'fs_create_file',
    rules: [{ path: 'a/b/c/f', update: true }],
    paths: ['ll/c/f'],
    arguments: { path: 'll/c/f', content: 'made', overwrite: true },
    verdict: 'fixed',
  },
  {
    name: 'two mounts of one place: the kernel sees the place, and the tool that writes holds the names',
    tool: 'fs_modify_file',
    rules: [
      { path: 'fork', external: true, read: true },
      { path: 'in/deep', external: true, update: true },
    ],
    paths: ['in/deep/f'],
    arguments: { edits: [{ path: 'in/deep/f', old: 'old', new: 'new' }] },
    verdict: 'done',
  },
  {
    name: 'what is read under the guard is withheld by the rule around it, and the edit does not lift the guard',
    tool: 'fs_read_file',
    rules: [{ path: '.git', update: true }],
    paths: ['.git/hooks/pre'],
    arguments: { path: '.git/hooks/pre' },
    verdict: 'fixed',
  },
  {
    name: 'the kernel reads what it starts: execute alone is refused, and the edit has read beside it',
    tool: 'start',
    rules: [{ path: 'a', execute: true }],
    paths: ['a/f'],
    arguments: { path: 'a/f' },
    verdict: 'fixed',
  },
  {
    name: 'the link of a mount that another tool has is not removed by one that sees a link like any other',
    tool: 'fs_delete_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    others: [{ path: 'fork', external: true, read: true }],
    paths: ['fork'],
    arguments: { path: 'fork' },
    verdict: 'refused',
  },
  {
    name: 'nor moved',
    tool: 'fs_move_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    others: [{ path: 'in/deep', external: true, read: true }],
    paths: ['in/deep', 'deep'],
    arguments: { from: 'in/deep', to: 'deep' },
    verdict: 'refused',
  },
  {
    name: 'a link is removed by what its directory grants: a rule for its name would open what it leads to',
    tool: 'fs_delete_file',
    rules: [{ path: 'a', delete: true }],
    paths: ['d/to-file'],
    arguments: { path: 'd/to-file' },
    verdict: 'fixed',
  },
  {
    name: 'a link is moved by what its directory grants',
    tool: 'fs_move_file',
    rules: [{ path: 'a', create: true }],
    paths: ['l', 'a/l'],
    arguments: { from: 'l', to: 'a/l' },
    verdict: 'fixed',
  },
  {
    name: 'nothing is moved onto a link, and why says so',
    tool: 'fs_move_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    paths: ['a/f', 'd/to-file'],
    arguments: { from: 'a/f', to: 'd/to-file', overwrite: true },
    verdict: 'refused',
  },
  {
    name: 'nor onto one that leads to nothing, where no rule is: no edit is suggested that would not help',
    tool: 'fs_move_file',
    rules: [{ path: 'a', create: true, update: true, delete: true }],
    paths: ['a/f', 'd/to-nothing'],
    arguments: { from: 'a/f', to: 'd/to-nothing', overwrite: true },
    verdict: 'refused',
  },
  {
    name: 'a link that leads through a directory and out of it again is followed where no rule shows that one',
    tool: 'unix_utils',
    rules: [{ path: 'll', read: true }],
    paths: ['ll/c/f'],
    arguments: { util: 'cat', args: ['--', 'll/c/f'] },
    verdict: 'done',
  },
  {
    name: 'a link that leads through a covered directory leads nowhere, and why says so',
    tool: 'start',
    rules: [
      { path: '.', read: true, create: true, update: true },
      { path: 'd' },
      { path: 'a/b/c', read: true, execute: true },
    ],
    paths: ['ll/c/f'],
    arguments: { path: 'll/c/f' },
    verdict: 'refused',
  },
  {
    name: 'what a shipped tool starts is not led through a covered directory either',
    tool: 'unix_utils',
    rules: [{ path: '.', read: true }, { path: 'd' }],
    paths: ['ll/c/f'],
    arguments: { util: 'cat', args: ['--', 'll/c/f'] },
    verdict: 'refused',
  },
  {
    name: 'a shipped tool takes the name of such a link apart by itself',
    tool: 'fs_read_file',
    rules: [{ path: '.', read: true }, { path: 'd' }],
    paths: ['ll/c/f'],
    arguments: { path: 'll/c/f' },
    verdict: 'done',
  },
  {
    name: 'a directory with a mount point in it is not moved, and why says so',
    tool: 'fs_move_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    others: [{ path: 'in/deep', external: true, read: true }],
    paths: ['in', 'moved'],
    arguments: { from: 'in', to: 'moved' },
    verdict: 'refused',
  },
  {
    name: 'a directory with a rule in it is moved when that one grants it, too',
    tool: 'fs_move_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }, { path: 'a/b' }],
    paths: ['a', 'moved'],
    arguments: { from: 'a', to: 'moved' },
    verdict: 'fixed',
  },
  {
    name: 'what is read by the link of a mount that another tool has is read with a mount of its own',
    tool: 'fs_read_file',
    rules: [{ path: '.', create: true }],
    others: [{ path: 'note', external: true, read: true }],
    paths: ['note'],
    arguments: { path: 'note' },
    verdict: 'fixed',
  },
  {
    name: 'a directory is not read as a file, and why says so',
    tool: 'fs_read_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    paths: ['a'],
    arguments: { path: 'a' },
    verdict: 'refused',
  },
  {
    name: 'a file is not listed, and why says so',
    tool: 'fs_list_files',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    paths: ['f'],
    arguments: { path: 'f' },
    verdict: 'refused',
  },
  {
    name: 'a directory is not replaced by a file, and why says so',
    tool: 'fs_create_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    paths: ['a'],
    arguments: { path: 'a', content: 'made', overwrite: true },
    verdict: 'refused',
  },
  {
    name: 'a directory is not edited, and why says so',
    tool: 'fs_modify_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    paths: ['a'],
    arguments: { edits: [{ path: 'a', old: 'old', new: 'new' }] },
    verdict: 'refused',
  },
  {
    name: 'nothing is made below a file, and why says so',
    tool: 'fs_create_file',
    rules: [{ path: '.', read: true, create: true, update: true, delete: true }],
    paths: ['f/x'],
    arguments: { path: 'f/x', content: 'made', overwrite: true },
    verdict: 'refused',
  },
] as const

for (const { name, verdict, ...each } of FOUND)
  test(`SPEC 4.12 ${name}`, async () => {
    const place = new GrantsPlace()
    try {
      expect(await play(place, each)).toBe(verdict)
    } finally {
      await place.remove()
    }
  })

test('SPEC 4.7 a rule for the place itself does not say whether it can be removed under another name', async () => {
  const place = new GrantsPlace()
  try {
    place.reset()
    const everything = { read: true, create: true, update: true, delete: true }
    const rules = [
      { path: 'fork', external: true, read: true },
      { path: 'in/deep', external: true, ...everything },
    ]
    place.configure(configOf({ tool: 'start', rules }))
    const { project, policies } = await place.compile('start')
    const asked = (capability: string, target: string): boolean =>
      why(project, policies, 'start', parseQuestion(capability, target), {
        cwd: place.root,
        home: place.home,
        env: {},
      }).allowed
    expect(asked('delete', 'fork/n/f')).toBe(true)
    expect(asked('delete', 'fork/n')).toBe(false)
  } finally {
    await place.remove()
  }
})
