import { expect, test } from 'vitest'
import { withWritten } from '../../src/confine/written.ts'

const FILE = '/home/u/shared/f'
const writes = (...argv: string[]) =>
  withWritten({ paths: [{ path: FILE, trouble: 'absent' }], hosts: [], variables: [] }, argv, {
    cwd: '/home/u/w',
    home: '/home/u',
  }).paths[0]!.writes

test.each([
  ['sh', '-c', 'echo 1 > ~/shared/f'],
  ['bash', '-c', 'make 2>>"$HOME/shared/f"; true'],
  ['bash', '-c', 'echo 1 >| ${HOME}/shared/f'],
  ['bash', '-c', 'echo 1 &> ../shared/f'],
  ['sh', '-c', 'date | tee -a ~/shared/f | cat'],
  ['python3', '-c', `open("${FILE}", 'wb')`],
  ['node', '-e', `fs.writeFileSync('${FILE}', '')`],
  ['touch', '-c', FILE],
  ['dd', 'if=a', `of=${FILE}`],
  ['cp', 'a', '../shared/f'],
  ['zip', '-q', FILE, 'a'],
  ['sort', '-o', FILE, 'a'],
  ['x86_64-linux-gnu-gcc-13', 'm.c', `-o${FILE}`],
  ['curl', '-sSLo', FILE, 'https://a.example'],
  ['git', '-C', '.', 'archive', `--output=${FILE}`, 'HEAD'],
])('SPEC 4.7 the command line tells that it is written: %s %s %s', (...argv) => {
  expect(writes(...argv)).toBe('content')
})

test('SPEC 4.8 what is removed or replaced is written in its directory', () => {
  expect(writes('rm', '-f', FILE)).toBe('entry')
  expect(writes('sed', '-i.bak', 's/a/b/', FILE)).toBe('entry')
})

test.each([
  ['cat', FILE],
  ['sed', 's/a/b/', FILE],
  ['cp', FILE, 'a'],
  ['grep', '-o', FILE],
  ['zip', 'a.zip', FILE],
  ['git', 'apply', FILE],
  ['sh', '-c', `cat ~/shared/f > out`],
  ['sh', '-c', `cat < ~/shared/f`],
  ['python3', '-c', `open("${FILE}", "r")`],
  ['node', '-e', `x => "${FILE}"`],
])('SPEC 4.7 and where it does not, it may have been read: %s %s', (...argv) => {
  expect(writes(...argv)).toBeUndefined()
})
