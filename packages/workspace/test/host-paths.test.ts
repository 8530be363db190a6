import { expect, test } from 'vitest'
import { HostPaths } from '../src/conversation/host-paths.ts'

const paths = new HostPaths({
  root: '/home/ann/pröject',
  homes: ['/home/ann'],
  places: [{ path: '/opt/fork', shown: 'fork' }],
})

test.each([
  ['/home/ann/pröject/src/a.ts', './src/a.ts'],
  ['/home//ann/./pröject/a', './a'],
  ['file:///home/ann/pr%C3%B6ject/a', 'file://./a'],
  ['file:///home/ann/pr%c3%b6ject/a', 'file://./a'],
  ['file:///h%6fme%2Fann%2fx', 'file://~%2fx'],
  ['/opt/fork/b and /opt/forks', 'fork/b and /opt/forks'],
  ['/home/anna/x', '/home/anna/x'],
])('SPEC 6.1 %s, in whichever spelling, is %s', (text, shown) => {
  expect(paths.hide(text)).toBe(shown)
  expect(() => paths.assertAbsent(shown)).not.toThrow()
})
