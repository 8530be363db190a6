import { mkdtempSync, mkdirSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  CommandDeniedError,
  Context,
  DeniedError,
  EnvDeniedError,
  NetDeniedError,
  parseAccessPolicy,
  parseContext,
  ParseError,
  parseNetTarget,
  parseRelPath,
} from '@cordon/policy'
import { afterAll, expect, test } from 'vitest'

const top = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-errors-')))
afterAll(() => rmSync(top, { recursive: true }))
const root = join(top, 'ws')
mkdirSync(root)
mkdirSync(join(top, 'out'))
symlinkSync(join(top, 'out'), join(root, 'fork'))
symlinkSync('..', join(root, 'up'))
symlinkSync('loop', join(root, 'loop'))
symlinkSync('/etc', join(top, 'out', 'etc'))

const open = (access: object | null): Context => parseContext({ root, action: 'run', access })

function thrown(ask: () => unknown): Error {
  try {
    ask()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('expected an error')
}

const explanationOf = (ask: () => unknown): string => {
  const error = thrown(ask)
  if (error instanceof DeniedError || error instanceof NetDeniedError || error instanceof EnvDeniedError)
    return error.explanation
  throw error
}

const MOUNT = { path: 'fork', external: true, approved_target: join(top, 'out'), read: true }

test.each([
  ['', 'invalid path: "" (it is empty)'],
  ['a\0b', 'invalid path: "a\\u0000b" (it contains a NUL byte)'],
  ['\ud800', 'invalid path: "\\ud800" (it is not valid Unicode)'],
  ['/etc/passwd', 'path is outside the workspace: /etc/passwd (absolute paths are not permitted)'],
  ['../x', 'path escapes the workspace: ../x'],
  ['../\u001b[2J', 'path escapes the workspace: "../\\u001b[2J"'],
  ['../\u202e', 'path escapes the workspace: "../\\u{202e}"'],
  ['up', 'path escapes the workspace: up'],
  ['fork/etc/x', 'path escapes the workspace: fork/etc/x (it leaves the approved target of the mount fork)'],
  ['loop', 'cannot resolve path: loop (more than 40 links, or a loop of them)'],
  ['x'.repeat(300), `invalid path: "${'x'.repeat(300)}" (a component is too long)`],
  ['src/a', 'access denied: read on src/a'],
])('SPEC 1.4 the message for %j', (path, message) => {
  expect(thrown(() => open({ fs: [MOUNT] }).checkRead(path)).message).toBe(message)
})

test('SPEC 1.4 a very long path is clipped in the message', () => {
  const { message } = thrown(() => parseRelPath('x'.repeat(1_048_576)))
  expect(message).toBe(
    `invalid path: "${'x'.repeat(512)}… (1048576 characters)" (it is longer than 4096 characters)`,
  )
})

test('SPEC 1.3 typed errors tell bad input from a bad target', () => {
  const context = open({ fs: [MOUNT] })
  const faults = ['', '/x', '../x', 'up', 'loop', 'a'].map((path) => thrown(() => context.checkRead(path)))
  expect(faults.map((error) => [error.name, 'fault' in error && error.fault])).toEqual([
    ['InvalidPathError', 'input'],
    ['OutsideError', 'input'],
    ['EscapeError', 'input'],
    ['EscapeError', 'target'],
    ['UnresolvableError', 'target'],
    ['DeniedError', 'target'],
  ])
})

test('SPEC 1.4 fs: no rule covers the path', () => {
  const context = open({ fs: [{ path: 'docs', read: true, write: true }, { path: 'x' }, MOUNT] })
  expect(explanationOf(() => context.checkRead('src/a "b"'))).toBe(
    [
      'access denied: read on "src/a \\"b\\""',
      '  because: no rule covers that path',
      '  granted: docs (read, create, update, delete), fork (read)',
      '  to allow it:',
      `    cordon config set conversation.tools.TOOL.access.fs '+{ path = "src/a \\"b\\"", read = true }'`,
      '    (in the workspace, with the name of the tool for TOOL)',
    ].join('\n'),
  )
})

test('SPEC 1.4 fs: a rule withholds it, and the edit restates what it grants', () => {
  const { fs } = parseAccessPolicy({ fs: [{ path: 'src', read: true }] })
  const access = { fs: fs.map((rule) => ({ ...rule, origin: '.cordon/config.toml:3:1' })), net: [], env: [] }
  const context = new Context({ root, action: 'run', access, tool: 'edit' })
  expect(explanationOf(() => context.checkUpdate('src/a'))).toBe(
    [
      'access denied: update on src/a',
      '  because: the rule src at .cordon/config.toml:3:1 withholds it',
      '  granted: src (read)',
      '  to allow it:',
      `    cordon config set conversation.tools.edit.access.fs '+{ path = "src/a", read = true, update = true }'`,
    ].join('\n'),
  )
})

test('SPEC 4.10 fs: of what is guarded it is said, and no rule that lifts the guard; the guard grants nothing', () => {
  const around = { path: '.', read: true, write: true }
  const context = open({ fs: [around, { path: '.husky', read: true, guard: 'told' }] })
  for (const want of ['create', 'update', 'delete'] as const)
    expect(explanationOf(() => context.locate('.husky/pre-commit', want))).toBe(
      [
        `access denied: ${want} on .husky/pre-commit`,
        '  because: .husky is guarded: the host obeys it, or runs it by itself later',
        '  granted: . (read, create, update, delete)',
      ].join('\n'),
    )
  // Executing is withheld by what lies around it, and a rule for it lifts no guard.
  expect(explanationOf(() => context.checkExecute('.husky/pre-commit'))).toContain(
    `'+{ path = ".husky/pre-commit", read = true, execute = true }'`,
  )
})

test('SPEC 4.10 fs: what the host knows to be guarded is so, whichever rule decided', () => {
  const [rule] = parseAccessPolicy({ fs: [{ path: '.', read: true }] }).fs
  const denied = { target: '.envrc', rule, grants: [rule!], guarded: '.envrc' }
  expect(new DeniedError({ ...denied, capability: 'update' }).explanation).toBe(
    'access denied: update on .envrc\n  because: .envrc is guarded: the host obeys it, or runs it by itself later\n  granted: . (read)',
  )
  expect(new DeniedError({ ...denied, capability: 'execute' }).explanation).toContain('config set')
})

test('SPEC 1.4 fs: a read-only mount is made writable by the command that made it', () => {
  expect(explanationOf(() => open({ fs: [MOUNT] }).checkUpdate('fork/a'))).toBe(
    [
      'access denied: update on fork/a',
      '  because: the rule fork withholds it',
      '  granted: fork (read)',
      '  to allow it:',
      '    cordon mount add TOOL:fork="$(readlink -f fork)":rw',
      '    (at the root of the workspace, with the name of the tool for TOOL)',
    ].join('\n'),
  )
})

test('SPEC 1.4 fs: a tombstone is revived by approval, or by mending its link', () => {
  expect(explanationOf(() => open({ fs: [{ path: 'fork', external: true }] }).checkRead('fork/a'))).toBe(
    [
      'access denied: read on fork/a',
      '  because: the rule fork has no approved target: `cordon mount ls` says what it lacks',
      '  granted: nothing',
    ].join('\n'),
  )
})

test('SPEC 1.3 fs: a mount point cannot be removed by any rule', () => {
  expect(explanationOf(() => open({ fs: [MOUNT] }).checkDelete('fork'))).toBe(
    [
      'access denied: delete on fork',
      '  because: a mount point is not removed or moved by a tool',
      '  no rule can allow it',
    ].join('\n'),
  )
})

test('SPEC 1.4 fs: many grants are counted', () => {
  const fs = Array.from({ length: 10 }, (_, i) => ({ path: `d${i}`, read: true }))
  expect(explanationOf(() => open({ fs }).checkRead('x')).split('\n')[2]).toBe(
    '  granted: d0 (read), d1 (read), d2 (read), d3 (read), d4 (read), d5 (read), d6 (read), d7 (read), and 2 more',
  )
})

test('SPEC 1.4 net: no rule covers the place; secrets of the URL are not repeated', () => {
  const context = open({ net: [{ host: 'a.com', allow: true }, { host: 'b.com' }] })
  const ask = () => context.checkNet('https://user:pass@evil.com:8443/x?token=1#y')
  expect(thrown(ask).message).toBe(
    'network access denied: https://evil.com:8443/x (no rule covers https://evil.com:8443)',
  )
  expect(explanationOf(ask)).toBe(
    [
      'network access denied: https://evil.com:8443/x',
      '  because: no rule covers https://evil.com:8443',
      '  granted: a.com',
      '  to allow it:',
      `    cordon config set conversation.tools.TOOL.access.net '+{ host = "evil.com", scheme = "https", port = 8443, path_prefix = "/x", allow = true }'`,
      '    (in the workspace, with the name of the tool for TOOL)',
    ].join('\n'),
  )
})

test('SPEC 1.4 net: a rule says no, and the edit grants that path and nothing else', () => {
  const rule = { host: 'h.org', scheme: 'https', port: 443, path_prefix: '/admin' }
  expect(explanationOf(() => open({ net: [rule] }).checkNet('https://h.org/admin/x'))).toBe(
    [
      'network access denied: https://h.org/admin/x',
      '  because: the rule https://h.org:443/admin says no',
      '  granted: nothing',
      '  to allow it:',
      `    cordon config set conversation.tools.TOOL.access.net '+{ host = "h.org", scheme = "https", port = 443, path_prefix = "/admin/x", allow = true }'`,
      '    (in the workspace, with the name of the tool for TOOL)',
    ].join('\n'),
  )
})

test('SPEC 1.5 a URL that cannot be read', () => {
  expect(thrown(() => parseNetTarget('https:\\\\evil')).message).toBe(
    'invalid URL: "https:\\\\\\\\evil" (it contains a space, a control character or a backslash)',
  )
})

test('SPEC 1.4 env: no rule, a rule that says no, and a name that no rule can have', () => {
  const context = open({ env: [{ name: 'AWS_*', read: true }, { name: 'AWS_SECRET' }] })
  expect(explanationOf(() => context.checkEnv('HOME'))).toBe(
    [
      'environment access denied: HOME',
      '  because: no rule names it',
      '  granted: AWS_*',
      '  to allow it:',
      `    cordon config set conversation.tools.TOOL.access.env '+{ name = "HOME", read = true }'`,
      '    (in the workspace, with the name of the tool for TOOL)',
    ].join('\n'),
  )
  expect(thrown(() => context.checkEnv('AWS_SECRET')).message).toBe(
    'environment access denied: AWS_SECRET (the rule AWS_SECRET says no)',
  )
  expect(explanationOf(() => context.checkEnv('A=B'))).toBe(
    [
      'environment access denied: A=B',
      '  because: it is not a variable name',
      '  granted: AWS_*',
      '  no rule can allow it',
    ].join('\n'),
  )
})

test('SPEC 1.7 commands: the line that was refused, shortened', () => {
  const context = open({ commands: { git: { args: [['status']] } } })
  const args = ['push', 'a b', '\u001b', ...Array.from({ length: 9 }, () => 'x')]
  const error = thrown(() => context.checkCommand({ program: 'git', args }))
  expect(error).toBeInstanceOf(CommandDeniedError)
  expect(error.message).toBe(
    'command denied: git push a b "\\u001b" x x x x … (its arguments match none of the allowed lists)',
  )
})

test('SPEC 1.9 every problem of a context is reported at once', () => {
  const error = thrown(() => parseContext({ root: 'x', access: { fs: [{}], env: [1] } }))
  expect(error).toBeInstanceOf(ParseError)
  expect(error.message).toBe(
    'invalid context: root: must be an absolute path; action: is required; access.fs[0].path: is required; access.env[0]: expected a rule, got 1',
  )
})

test('SPEC 1.9 a context survives its own JSON, and origins stay at home', () => {
  const wire = {
    root,
    action: 'format_arguments',
    access: {
      fs: [
        { path: '.', read: true, execute: true },
        MOUNT,
        { path: 'gone', external: true },
        { path: '.env' },
      ],
      net: [{ host: 'h.org', scheme: 'https', port: 1, path_prefix: '/a', allow: true }],
      env: [{ name: 'A*', read: true }],
      commands: { git: { args: [['log', '**']], envs: ['GIT_*'] }, ls: {} },
    },
    workspace_id: 'w',
    conversation_id: 'c',
  }
  const context = parseContext(wire)
  expect(JSON.parse(JSON.stringify(context))).toEqual(wire)
  const { access } = context.data
  const named = { ...access!, fs: access!.fs.map((rule) => ({ ...rule, origin: '/home/me/x.toml:1' })) }
  expect(JSON.stringify(new Context({ ...context.data, access: named }))).toBe(JSON.stringify(context))
})

test('SPEC 1.4 a rule that a later one of the same path supersedes is not among what is granted', () => {
  const policy = open({
    fs: [
      { path: 'docs', read: true },
      { path: 'docs', read: true, update: true },
      { path: 'src', read: true },
      { path: 'src' },
    ],
  })
  expect(explanationOf(() => policy.checkCreate('docs/x'))).toContain('  granted: docs (read, update)\n')
})
