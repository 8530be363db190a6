import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { HostPaths, unfinishedMark } from '../src/conversation/host-paths.ts'

const paths = new HostPaths({
  root: '/home/ann/pröject',
  homes: ['/home/ann'],
  places: [{ path: '/opt/fork', shown: 'fork' }],
})

test.each([
  ['/home/ann/pröject/src/a.ts', './src/a.ts'],
  ['/home//ann/./pröject/a', './a'],
  ['file:///home/ann/pr%C3%B6ject/a', 'file:///a'],
  ['file:///home/ann/pr%c3%b6ject/a', 'file:///a'],
  ['file:///h%6fme%2Fann%2fx', '~%2fx'],
  ['file:///home/ann/p.png, file:/home/ann/p.png', '~/p.png, ~/p.png'],
  ['FILE://localhost/home/ann/pröject/a file:/home/ann/pröject', 'file:///a file:///'],
  ['{"at":"\\/home\\/ann\\/x"}', '{"at":"~\\/x"}'],
  ['"\\\\/home\\\\/ann"', '"~"'],
  ['"\\u002fhome\\u002Fann"', '"~"'],
  ['%252Fhome%252fann%252Fpr%25C3%25B6ject', '.'],
  ['&#47;home&#x2F;ann', '~'],
  ['/opt/fork/b and /opt/forks', 'fork/b and /opt/forks'],
  ['/home/anna/x', '/home/anna/x'],
])('SPEC 6.1 %s, in whichever spelling, is %s', (text, shown) => {
  expect(paths.hide(text)).toBe(shown)
  expect(() => paths.assertAbsent(shown)).not.toThrow()
})

test.each([
  ['file:///home/ann/pr%C3%B6ject/src/a%20b.ts#L3', 'file:///src/a%20b.ts#L3'],
  ['file:/home/ann/pröject', 'file:///'],
  ['FILE://localhost/home//ann/./pröject/x/../a', 'file:///a'],
  ['file:///%68ome%2Fann/pröject/a', 'file:///a'],
  ['file:///opt/fork/b', 'file:///fork/b'],
  ['file:///home/ann/p.png', expect.stringMatching(/^external:[0-9a-f]{64}\/p\.png$/)],
  ['file:///src/a.ts', 'file:///src/a.ts'],
  ['https://home/ann', 'https://home/ann'],
])('SPEC 6.3: %s is %s in the workspace', (uri, expected) => {
  expect(paths.workspaceUri(uri)).toEqual(expected)
})

test('SPEC 6.1: a home of one component is found behind a host, too', () => {
  const root = new HostPaths({ root: '/w', homes: ['/me'] })
  expect(root.hide('file://localhost/me/x file:/me/x src/me/x')).toBe('~/x ~/x src/me/x')
})

test('SPEC 6.1: what stands behind a hidden path may be one again', () => {
  const nested = new HostPaths({ root: '/w/opt/x', homes: [], places: [{ path: '/b/a', shown: '/w' }] })
  expect(nested.hide('/b/a/opt/x/y')).toBe('./y')
})

test('SPEC 6.1: paths folded into each other, to keep us busy, are not unfolded to the end', () => {
  const folded = (depth: number): string =>
    `a ${'/srv/'.repeat(depth)}/srv/ws${'/ws'.repeat(depth)}, which is all of it`
  const outside = new HostPaths({ root: '/srv/ws', homes: [] })
  expect(outside.hide(folded(3))).toBe('a ., which is all of it')
  expect(outside.hide(folded(40_000)).slice(0, 80)).toMatch(
    /^\[\d+ characters are left out: paths of this machine are folded/,
  )
  const spelledOddly = folded(40_000).replace('/srv/ws', '/srv//ws')
  expect(outside.mark(spelledOddly).slice(0, 80)).toMatch(/^\[\d+ characters are left out/)
})

test('SPEC 6.1: the door of the log lets no path through, in values and in names', () => {
  for (const event of [{ text: 'in /home/ann/x' }, { '/opt/fork/a': 1 }, ['file:///home/ann/pr%C3%B6ject']])
    expect(() => paths.assertAbsent(event)).toThrow('an event must not hold a path of this machine')
})

test('SPEC 6.1: a workspace in the home is itself, whichever was named first', () => {
  const inside = new HostPaths({
    root: '/h/a/w',
    homes: ['/h/a'],
    places: [{ path: '/h/a/w/b/c', shown: 'c' }],
  })
  expect(inside.hide('/h/a/w/b/c/d /h/a/w/b /h/a')).toBe('c/d ./b ~')
})

test.each([
  ['x=/home/ann/pröject/a', 'x=<cordon:workspace>/a'],
  ['/home/ann and /opt/fork/b', '<cordon:home> and <cordon:mount fork>/b'],
  ['/home//ann', '~'],
  ['<cordon:home>', '<cordon:cordon:home>'],
])('SPEC 6.1: a content keeps a mark for a path: %s is %s', (content, marked) => {
  expect(paths.mark(content)).toBe(marked)
  expect(() => paths.assertAbsent(marked)).not.toThrow()
})

test('SPEC 6.1: what was marked is what it was, whatever else stands there', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '/home/ann',
      '/home/ann/pröject',
      '/opt/fork',
      '<cordon:',
      'cordon:',
      'home',
      '>',
      '<',
      '~',
      './',
      '\n',
    ),
    fc.string({ maxLength: 3 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const content = pieces.join('')
      fc.pre(paths.hide(content) === content || isUsual(content))
      const marked = paths.mark(content)
      expect(() => paths.assertAbsent(marked)).not.toThrow()
      expect(paths.unmark({ a: [marked] })).toEqual({ a: [content] })
    }),
    { numRuns: 3000 },
  )
})

/** Every path in it is written in the usual way. */
const isUsual = (content: string): boolean => !/\/\.?\/|[%\\&]/.test(content)

test('decision 0372: a key is found in pieces, whichever way they are cut', () => {
  const key = 'sk-sk-secret'
  const hiding = new HostPaths({ root: '/w', homes: [], keys: [key, 'short'] })
  const text = `a ${key} sk-sk-sk-secret sk- ${key}${key} short sk-sk-secre`
  const whole = hiding.conceal(text)
  expect(whole).toBe('a <cordon:key> sk-<cordon:key> sk- <cordon:key><cordon:key> short sk-sk-secre')
  for (let size = 1; size < text.length; size++) {
    let [kept, shown] = ['', '']
    for (let at = 0; at < text.length; at += size) {
      const next = kept + text.slice(at, at + size)
      kept = hiding.unfinished(next)
      shown += hiding.conceal(next.slice(0, next.length - kept.length))
    }
    expect(shown + hiding.conceal(kept)).toBe(whole)
  }
  expect(hiding.unmark(hiding.mark(`x ${key}`))).toBe('x <cordon:key>')
})

test('SPEC 6.1: a mark is found in pieces', () => {
  for (const text of ['a <cordon:ho', 'a <', 'a <cordon:', '<cordon:mount x'])
    expect(unfinishedMark(text)).toBe(text.slice(text.indexOf('<')))
  for (const text of ['', 'a', 'a <b', 'a <cordon:home> b', `<cordon:${'x'.repeat(300)}`])
    expect(unfinishedMark(text)).toBe('')
})
