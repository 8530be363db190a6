import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { cordon, CORDON, type Ended, temporary, trust } from './harness/cordon.ts'
import { cordonAtTerminal } from './harness/terminal.ts'

let here: { cwd: string; home: string }
/** Outside the workspace, under names that must never be seen in it. */
let secret: string

beforeEach(() => {
  here = { cwd: temporary(), home: temporary() }
  mkdirSync(join(here.cwd, '.cordon'))
  secret = join(here.home, 'Kunde-Meyer/Vertrag-geheim')
  mkdirSync(secret, { recursive: true })
})

const sha256 = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex')
const run = (...args: string[]): Ended => cordon(here, 'attachment', ...args)
const ok = (stdout: string): Ended => ({ code: 0, stdout, stderr: '' })
const conversations = (): string[] => {
  const dir = join(here.cwd, '.cordon/conversations')
  return existsSync(dir) ? readdirSync(dir) : []
}

interface Listed {
  readonly uri: string
  readonly checksum: string
  readonly size: number
  readonly mime_type: string
  readonly origin: string
  readonly external: boolean
}
const listed = (...args: string[]): Listed[] =>
  (JSON.parse(run('ls', '--json', ...args).stdout) as { attachments: Listed[] }).attachments

/** As bytes: what is printed need not be text. */
function printed(...args: string[]): Buffer {
  const env = { PATH: process.env['PATH'], HOME: here.home }
  const { stdout, status } = spawnSync(process.execPath, [CORDON, 'attachment', 'print', ...args], {
    cwd: here.cwd,
    env,
    maxBuffer: 64 * 1024 * 1024,
  })
  expect(status).toBe(0)
  return stdout
}

const PNG = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  Buffer.from([0, 1, 2, 255, 254, 10, 13]),
])
const PDF = Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(300_000, 0xe9), Buffer.from('%%EOF')])

test('SPEC 6.3 add, ls, print and rm, as a person sees them', () => {
  writeFileSync(join(here.cwd, 'README.md'), '# Hi\n')
  writeFileSync(join(secret, 'report.pdf'), PDF)
  const uri = `external:${sha256(secret)}/report.pdf`
  const added = run('add', 'README.md', `${secret}/report.pdf`)
  const [id] = conversations()
  expect(added).toEqual(
    ok(
      `attached file:///README.md (text/markdown, 5 B)\nattached ↗ ${uri} (application/pdf, 293.0 KiB)\nin the new conversation ${id}\n`,
    ),
  )
  expect(run('ls')).toEqual(
    ok(
      `   SIZE       TYPE             ORIGIN     CHECKSUM      URI
   5 B        text/markdown    workspace  ${sha256('# Hi\n').slice(0, 12)}  file:///README.md
↗  293.0 KiB  application/pdf  outside    ${sha256(PDF).slice(0, 12)}  ${uri}
`,
    ),
  )
  expect(run('print', 'README.md')).toEqual(ok('# Hi\n'))
  expect(printed(uri).equals(PDF)).toBe(true)
  expect(printed('report.pdf').equals(PDF)).toBe(true)
  expect(run('add', 'README.md')).toEqual(
    ok(`[file:///README.md is unchanged; its content is earlier in this turn]\nin conversation ${id}\n`),
  )
  expect(run('rm', 'report.pdf')).toEqual(ok(`removed ${uri}\nfrom conversation ${id}\n`))
  expect(listed().map(({ uri: each }) => each)).toEqual(['file:///README.md'])
  expect(run('print', uri)).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: nothing called "${uri}" is attached; \`cordon attachment ls\` lists what is\n`,
  })
  expect(cordon(here, 'conversation', 'print').stdout).toBe(
    `## Attached\n\n- file:///README.md (text/markdown)\n- ${uri} (application/pdf)\n\n> removed ${uri}\n`,
  )
  expect(run('rm', 'README.md').code).toBe(0)
  expect(run('ls')).toEqual({ code: 0, stdout: '', stderr: `nothing is attached to conversation ${id}\n` })
})

test('SPEC 6.3 --json everywhere, --id, and without a conversation', () => {
  writeFileSync(join(here.cwd, 'a.md'), 'a')
  expect(run('ls')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'cordon: no conversation was used here yet\n  fix: name one of `cordon conversation ls`; `cordon attachment add PATH` begins one\n',
  })
  const json = (...args: string[]): unknown => JSON.parse(run(...args, '--json').stdout)
  const first = json('add', 'a.md') as { conversation: string }
  const entry = {
    uri: 'file:///a.md',
    name: 'a.md',
    mime_type: 'text/markdown',
    size: 1,
    checksum: sha256('a'),
    form: 'text',
    origin: 'workspace',
    external: false,
    attached_at: expect.any(String) as string,
  }
  expect(first).toEqual({
    conversation: conversations()[0],
    new: true,
    items: [{ ...entry, outcome: 'attached', reference: null }],
  })
  expect(json('ls')).toEqual({ conversation: first.conversation, attachments: [entry] })
  expect(json('print', 'a.md')).toEqual({ ...entry, text: 'a' })
  // The fork is what the session goes on with; the first is named by its id.
  const fork = JSON.parse(cordon(here, 'conversation', 'fork', '--json').stdout) as { id: string }
  expect(json('rm', 'a.md')).toEqual({
    conversation: fork.id,
    removed: [{ uri: 'file:///a.md', checksum: sha256('a') }],
  })
  expect(listed()).toEqual([])
  expect(listed('--id', first.conversation).length).toBe(1)
  expect(run('ls', '--id', 'wrong').code).toBe(2)
  expect(run('print', 'a.md', '--id', first.conversation, '--checksum', 'XYZ')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: --checksum XYZ: expected 4 to 64 digits as `attachment ls` shows them\n',
  })
})

test('RFD D03 the deduplication table, by row, through the program', () => {
  const rows = (): string[][] => listed().map(({ uri, checksum }) => [uri, checksum.slice(0, 8)])
  const other = join(here.home, 'Desktop')
  mkdirSync(other)
  const [a, b] = [join(secret, 'report.txt'), join(other, 'report.txt')]
  for (const file of [a, b]) writeFileSync(file, 'one')
  const [uriA, uriB] = [secret, other].map((dir) => `external:${sha256(dir)}/report.txt`) as [string, string]
  const [one, two] = [sha256('one').slice(0, 8), sha256('two').slice(0, 8)] as [string, string]
  expect(run('add', a).code).toBe(0)
  // Same file, attached twice, content unchanged: same URI, same checksum, dedup.
  expect(run('add', '~/Kunde-Meyer/./Vertrag-geheim/report.txt').stdout).toMatch(
    /^\[external:[0-9a-f]{64}\/report\.txt is unchanged; its content is earlier in this turn\]\n/,
  )
  expect(rows()).toEqual([[uriA, one]])
  // Same filename, different directories: other URI, no dedup.
  expect(run('add', b).code).toBe(0)
  expect(rows()).toEqual([
    [uriA, one],
    [uriB, one],
  ])
  // Same file, attached twice, content changed: same URI, other checksum, no dedup, both kept.
  writeFileSync(a, 'two')
  expect(run('add', a).code).toBe(0)
  expect(rows()).toEqual([
    [uriA, one],
    [uriB, one],
    [uriA, two],
  ])
  rmSync(a)
  rmSync(b)
  expect(printed(uriA).toString()).toBe('two')
  expect(printed(uriA, '--checksum', one).toString()).toBe('one')
  expect(run('print', 'report.txt')).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: "report.txt" could be any of these; write more of it, or --checksum:
  ${sha256('one').slice(0, 12)}  ${uriA}
  ${sha256('one').slice(0, 12)}  ${uriB}
  ${sha256('two').slice(0, 12)}  ${uriA}
`,
  })
  // Same file, different machines: another parent directory, another URI.
  const elsewhere = { cwd: here.cwd, home: temporary() }
  mkdirSync(join(elsewhere.home, 'Kunde-Meyer/Vertrag-geheim'), { recursive: true })
  writeFileSync(join(elsewhere.home, 'Kunde-Meyer/Vertrag-geheim/report.txt'), 'two')
  const id = conversations()[0]!
  expect(
    cordon(elsewhere, 'attachment', 'add', '--id', id, '~/Kunde-Meyer/Vertrag-geheim/report.txt').stdout,
  ).toMatch(/^attached ↗ external:/)
  expect(rows().length).toBe(4)
})

test('RFD D03 privacy: no byte under the workspace and nothing listed names where an attachment came from', () => {
  mkdirSync(join(secret, 'tiefer'))
  writeFileSync(join(secret, 'report.pdf'), PDF)
  writeFileSync(join(secret, 'tiefer/notes.md'), 'the content')
  expect(cordon(here, 'mount', 'add', `fork=${secret}`).code).toBe(0)
  const outputs = [
    run('add', `${secret}/report.pdf`),
    run('add', secret),
    run('add', '~/Kunde-Meyer/**/*.md'),
    run('add', 'fork/report.pdf', '--json'),
    run('ls'),
    run('ls', '--json'),
    cordon(here, 'conversation', 'print'),
    cordon(here, 'conversation', 'show', '--files'),
  ]
  rmSync(join(here.cwd, 'fork'))
  expect(outputs.map(({ code }) => code)).toEqual(outputs.map(() => 0))
  expect(listed().map(({ external }) => external)).toEqual([true, true])
  const seen = outputs.map(({ stdout, stderr }) => stdout + stderr)
  for (const path of readdirSync(here.cwd, { recursive: true, encoding: 'utf8' })) {
    seen.push(path)
    if (/\.(?:jsonl?|gz|toml)$|\/id$/.test(path)) seen.push(readFileSync(join(here.cwd, path), 'latin1'))
  }
  const parts = ['Kunde-Meyer', 'Vertrag-geheim', 'tiefer', here.home.split('/').at(-1)!, here.home]
  for (const part of parts)
    expect(
      seen.filter((text) => text.includes(part)),
      part,
    ).toEqual([])
  expect(seen.some((text) => text.includes('report.pdf'))).toBe(true)
})

test('SPEC 6.3 through a mount is outside; a link inside is what it leads to', () => {
  writeFileSync(join(secret, 'lib.rs'), 'fn main() {}')
  writeFileSync(join(here.cwd, 'a.md'), 'a')
  expect(cordon(here, 'mount', 'add', `fork=${secret}`).code).toBe(0)
  symlinkSync('a.md', join(here.cwd, 'alias.md'))
  expect(run('add', 'fork/lib.rs', 'fork', 'alias.md').code).toBe(0)
  expect(listed().map(({ uri, origin }) => [uri, origin])).toEqual([
    [`external:${sha256(secret)}/lib.rs`, 'outside'],
    ['file:///a.md', 'workspace'],
  ])
})

test('SPEC 6.3 directories and patterns, with ignore files, from where one stands', () => {
  expect(cordon(here, 'init').code).toBe(0)
  for (const dir of ['src/deep', 'node_modules/x', 'docs'])
    mkdirSync(join(here.cwd, dir), { recursive: true })
  for (const file of ['src/a.ts', 'src/deep/b.ts', 'src/c.log', 'node_modules/x/i.ts', 'docs/d.md'])
    writeFileSync(join(here.cwd, file), file)
  writeFileSync(join(here.cwd, '.gitignore'), 'node_modules\n*.log\n')
  const uris = (): string[] => listed().map(({ uri }) => uri)
  expect(
    cordon({ ...here, cwd: join(here.cwd, 'src') }, 'attachment', 'add', '**/*.ts', '../docs').code,
  ).toBe(0)
  expect(uris()).toEqual(['file:///src/a.ts', 'file:///src/deep/b.ts', 'file:///docs/d.md'])
  expect(run('add', '.').code).toBe(0)
  expect(uris()).toContain('file:///.gitignore')
  expect(uris().some((uri) => /log|node_modules|\.cordon/.test(uri))).toBe(false)
  expect(run('add', 'src/c.log').code).toBe(0)
})

test('SPEC 6.3 what cannot be attached: a clear error each, exit 2, and nothing done', () => {
  mkdirSync(join(here.cwd, 'names'))
  writeFileSync(Buffer.concat([Buffer.from(`${here.cwd}/names/`), Buffer.from([0x61, 0xff])]), 'x')
  spawnSync('mkfifo', [join(here.cwd, 'fifo')])
  const refused = (what: string, problem: string): void =>
    expect(run('add', what), what).toEqual({
      code: 2,
      stdout: '',
      stderr: `cordon: cannot attach ${what}: ${problem}\n`,
    })
  refused('missing.md', 'it does not exist')
  refused('*.rs', 'nothing matches it')
  refused('names', `the name $'a\\xff' in ${here.cwd}/names is not valid UTF-8`)
  refused('fifo', 'it is neither a file nor a directory')
  refused('/dev/zero', 'it is neither a file nor a directory')
  refused('http://localhost/', 'what http sends can be changed on the way; write https://')
  refused('mcp:files/x', 'resources of MCP servers cannot be attached yet')
  expect(conversations()).toEqual([])
  expect(readdirSync(join(here.cwd, '.cordon'))).toEqual([])
})

test('SPEC 6.3 a directory without permission, as an ordinary user', () => {
  const closed = join(here.cwd, 'docs/closed')
  mkdirSync(closed, { recursive: true })
  writeFileSync(join(here.cwd, 'docs/a.md'), 'a')
  writeFileSync(join(here.cwd, 'docs/unreadable.md'), 'b', { mode: 0 })
  chmodSync(closed, 0)
  const root = process.getuid?.() === 0
  const user = root ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--'] : []
  if (root) for (const dir of [here.cwd, here.home]) spawnSync('chown', ['-R', '65534:65534', dir])
  const as = (...args: string[]): Ended => {
    const [program = '', ...rest] = [...user, process.execPath, CORDON, 'attachment', ...args]
    const env = { PATH: process.env['PATH'], HOME: here.home }
    const { status, stdout, stderr } = spawnSync(program, rest, { cwd: here.cwd, env, encoding: 'utf8' })
    return { code: status, stdout, stderr }
  }
  expect(as('add', 'docs')).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: cannot attach docs: ${closed}: permission denied\n`,
  })
  expect(as('add', 'docs/closed/x').stderr).toBe('cordon: cannot attach docs/closed/x: permission denied\n')
  expect(as('add', 'docs/unreadable.md').stderr).toBe(
    'cordon: cannot attach docs/unreadable.md: permission denied\n',
  )
  expect(conversations()).toEqual([])
  expect(as('add', 'docs/a.md').code).toBe(0)
  chmodSync(closed, 0o755)
})

test('MIME by content; pictures and documents are kept byte for byte; a terminal gets no binary', () => {
  writeFileSync(join(here.cwd, 'notes.txt'), PNG)
  writeFileSync(join(here.cwd, 'report'), PDF)
  writeFileSync(join(here.cwd, 'picture.png'), 'just text\u001b[2J')
  expect(run('add', 'notes.txt', 'report', 'picture.png').code).toBe(0)
  expect(listed().map(({ mime_type, size }) => [mime_type, size])).toEqual([
    ['image/png', PNG.length],
    ['application/pdf', PDF.length],
    ['text/plain', 13],
  ])
  expect(printed('notes.txt').equals(PNG)).toBe(true)
  expect(printed('report').equals(PDF)).toBe(true)
  const { blob } = JSON.parse(run('print', 'notes.txt', '--json').stdout) as { blob: string }
  expect(Buffer.from(blob, 'base64').equals(PNG)).toBe(true)
  const shown = cordonAtTerminal(here, ['attachment', 'print', 'notes.txt'], [])
  expect(shown.code).toBe(2)
  expect(shown.screen).toBe(
    'cordon: file:///notes.txt is image/png, 15 B; a terminal cannot show it\n  fix: write it to a file with >\n',
  )
  expect(cordonAtTerminal(here, ['attachment', 'print', 'picture.png'], []).raw).toContain(
    'just text\\u{1b}[2J',
  )
})

test('content that was damaged on the disk is not passed on as if it were whole', () => {
  writeFileSync(join(here.cwd, 'a.md'), 'a'.repeat(1000))
  run('add', 'a.md')
  const hash = sha256('a'.repeat(1000))
  const blob = join(here.cwd, '.cordon/blobs', hash.slice(0, 2), hash.slice(2, 4), `${hash.slice(4)}.blob.gz`)
  writeFileSync(blob, readFileSync(blob).subarray(0, 20))
  expect(run('print', 'a.md')).toMatchObject({
    code: 1,
    stderr: `cordon: cannot read the blob ${hash}: its content is not what its name says; the file is damaged\n`,
  })
  rmSync(blob)
  expect(run('print', 'a.md')).toEqual({
    code: 1,
    stdout: '',
    stderr: `cordon: cannot read the blob ${hash}: it is not in the blob store\n`,
  })
})

/** Whether any process was started with these words. */
const runs = (command: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(command)
    } catch {
      return false // no process, or gone
    }
  })

/** Where `cordon` starts, waits for something to appear, sends a signal, and says how it ended. */
async function interrupted(
  signal: NodeJS.Signals,
  ready: () => boolean,
  ...args: string[]
): Promise<unknown> {
  const env = { PATH: process.env['PATH'], HOME: here.home }
  const child: ChildProcess = spawn(process.execPath, [CORDON, 'attachment', ...args], {
    cwd: here.cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stderr = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = once(child, 'close')
  while (!ready() && child.exitCode === null) await sleep(5)
  child.kill(signal)
  const [code, by] = (await ended) as [number | null, string | null]
  return { code, by, stderr }
}

test('Ctrl-C half-way leaves nothing: no event, no conversation, no temporary file, no process', async () => {
  writeFileSync(join(here.cwd, 'large'), Buffer.alloc(200 * 1024 * 1024, 'some text'))
  const putting = (): boolean => {
    const blobs = join(here.cwd, '.cordon/blobs')
    return existsSync(blobs) && readdirSync(blobs).some((name) => name.startsWith('.put-'))
  }
  const gone = { code: null, stderr: 'cordon: interrupted; nothing was attached\n' }
  expect(await interrupted('SIGINT', putting, 'add', 'large')).toEqual({ ...gone, by: 'SIGINT' })
  expect(putting()).toBe(false)
  expect(readdirSync(join(here.cwd, '.cordon/blobs'))).toEqual([])
  const started = join(here.cwd, 'started')
  const unique = `sleep 1000${process.pid}`
  const script = `command:sh -c 'touch started; ${unique}'`
  expect(await interrupted('SIGTERM', () => existsSync(started), 'add', script)).toEqual({
    ...gone,
    by: 'SIGTERM',
  })
  // It was killed before we ended; that it is gone takes the kernel a moment. It never being gone is a timeout.
  while (runs(unique)) await sleep(20)
  expect(conversations()).toEqual([])
  expect(run('ls').code).toBe(2)
  const left = readdirSync(here.home, { recursive: true, encoding: 'utf8' }).filter((path) =>
    /put-|\.tmp$/.test(path),
  )
  expect(left).toEqual([])
})

const UNSHARE = [['-m'], ['-Urm']].find((flags) => spawnSync('unshare', [...flags, 'true']).status === 0)

test.skipIf(UNSHARE === undefined)('a full disk: a clear error, exit 1, and the earlier state intact', () => {
  const small = temporary() // inside the workspace, a mark made by hand would not count
  writeFileSync(join(secret, 'large'), randomBytes(4 << 20))
  const node = `"${process.execPath}" "${CORDON}"`
  const script = `mount -t tmpfs -o size=2m tmpfs "${small}" && cd "${small}" && mkdir .cordon && echo kept > a.md || exit 9
    ${node} attachment add a.md > /dev/null || exit 8
    ${node} attachment add "${secret}/large"; echo "exit $?"
    ${node} attachment print a.md; ${node} attachment ls | wc -l; find . -name '*put-*'`
  const { stdout, stderr } = spawnSync('unshare', [...UNSHARE!, 'sh', '-c', script], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], HOME: here.home },
  })
  expect({ stdout, stderr }).toEqual({
    stdout: 'exit 1\nkept\n2\n',
    stderr: `cordon: cannot keep the content in ${small}/.cordon/blobs: the disk is full\n`,
  })
})

test('SPEC 4.9 what may be secret is left out of directories and patterns, and that is said', () => {
  mkdirSync(join(here.cwd, 'app/keys'), { recursive: true })
  for (const name of [
    'app/main.ts',
    'app/.env',
    'app/.env.local',
    'app/keys/id_rsa',
    'app/keys/tls.key',
    'app/keys/tls.pem',
    'app/environment.md',
  ])
    writeFileSync(join(here.cwd, name), name)
  const uris = (): string[] => listed().map(({ uri }) => uri)
  const said =
    'warning: left out, because it may be secret: app/.env, app/.env.local, app/keys/id_rsa, app/keys/tls.key, app/keys/tls.pem; ' +
    'name a file to attach it, or add --sensitive\n'
  const added = run('add', '.')
  expect([added.code, added.stderr]).toEqual([0, said])
  expect(uris()).toEqual(['file:///app/environment.md', 'file:///app/main.ts'])
  expect(run('add', 'app/keys')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'warning: left out, because it may be secret: app/keys/id_rsa, app/keys/tls.key, app/keys/tls.pem; name a file to attach it, or add --sensitive\n' +
      'cordon: cannot attach app/keys: all that it finds may be secret; name the files one by one\n',
  })
  expect(run('add', 'app/.e*').code).toBe(2)
  expect(uris()).toHaveLength(2)
  // Named by a person: it is meant.
  expect(run('add', 'app/.env')).toMatchObject({ code: 0, stderr: '' })
  expect(uris()).toContain('file:///app/.env')
  expect(run('add', '--sensitive', '.')).toMatchObject({ code: 0, stderr: '' })
  expect(uris()).toHaveLength(7)
})

test('SPEC 4.9 the attack: a file that became a link to a key is not what the person named', () => {
  mkdirSync(join(here.home, '.ssh'))
  const key = join(here.home, '.ssh/id_rsa')
  writeFileSync(key, 'PRIVATE KEY')
  mkdirSync(join(here.cwd, 'd'))
  writeFileSync(join(here.cwd, 'README.md'), 'read me')
  const swap = `rm README.md; ln -s ${key} README.md; rmdir d; ln -s ${here.home}/.ssh d`
  expect(cordon(here, 'run', '--', 'sh', '-c', swap).code).toBe(0)
  const refused = (input: string, path: string): Ended => ({
    code: 2,
    stdout: '',
    stderr: `cordon: cannot attach ${input}: a link leads out of the workspace, to ${path}; name that path itself to attach it\n`,
  })
  expect(run('add', 'README.md')).toEqual(refused('README.md', key))
  expect(run('add', '--sensitive', 'README.md')).toEqual(refused('README.md', key))
  expect(run('add', 'd/id_rsa')).toEqual(refused('d/id_rsa', key))
  for (const input of ['d', 'd/*', './d/'])
    expect(run('add', input)).toEqual(refused(input, `${here.home}/.ssh`))
  expect(run('add', 'file:///README.md')).toEqual({
    code: 2,
    stdout: '',
    stderr: 'cordon: cannot attach file:///README.md: there is no such file in the workspace\n',
  })
  // In the workspace, too, a link is not the name of a secret; and a link of the person's own to one is asked about.
  writeFileSync(join(here.cwd, '.env'), 'TOKEN=1')
  symlinkSync('.env', join(here.cwd, 'notes.md'))
  symlinkSync(key, join(here.home, 'k'))
  for (const [input, path] of [
    ['notes.md', join(here.cwd, '.env')],
    [join(here.home, 'k'), key],
  ] as const) {
    expect(run('add', input)).toEqual({
      code: 2,
      stdout: '',
      stderr: `cordon: cannot attach ${input}: a link leads to ${path}, which may be secret; name that path itself to attach it\n`,
    })
    expect(run('add', '--sensitive', input).code).toBe(0)
  }
  expect(conversations()).toHaveLength(1)
  expect(run('add', key).code).toBe(0)
  const args = ['attachment', 'add', 'README.md']
  const asked = `README.md: a link leads out of the workspace, to ${key}. Attach that? [y/N] `
  expect(cordonAtTerminal(here, args, [[asked, 'n\n']])).toMatchObject({ code: 2, missed: [] })
  expect(cordonAtTerminal(here, args, [[asked, 'y\n']])).toMatchObject({ code: 0, missed: [] })
})

test('SPEC 4.9 the configuration adds patterns of its own, and the home directory has its places', () => {
  writeFileSync(join(here.cwd, '.cordon/config.toml'), '[sandbox]\nsensitive = ["**/*.secret"]\n')
  trust(here)
  mkdirSync(join(here.home, '.ssh'))
  for (const [dir, name] of [
    [here.cwd, 'a.secret'],
    [here.cwd, 'a.txt'],
    [here.home, '.ssh/config'],
    [here.home, 'notes'],
  ] as const)
    writeFileSync(join(dir, name), name)
  expect(run('add', '*').stderr).toContain('left out, because it may be secret: a.secret;')
  expect(run('add', here.home).stderr).toContain(
    `left out, because it may be secret: ${here.home}/.ssh/config;`,
  )
  expect(listed().map(({ uri }) => uri.replace(/[0-9a-f]{64}/, 'H'))).toEqual([
    'file:///a.txt',
    'external:H/notes',
  ])
})

test('SPEC 6.2 a damaged blob is repaired by attaching the file again', () => {
  writeFileSync(join(here.cwd, 'notes.md'), 'what I know\n')
  run('add', 'notes.md')
  const hash = sha256('what I know\n')
  const blob = join(here.cwd, '.cordon/blobs', hash.slice(0, 2), hash.slice(2, 4), `${hash.slice(4)}.blob.gz`)
  writeFileSync(blob, 'rubbish')
  expect(run('print', 'notes.md')).toMatchObject({
    stderr: `cordon: cannot read the blob ${hash}: its content is not what its name says; the file is damaged\n`,
  })
  expect(run('add', 'notes.md').code).toBe(0)
  expect(run('print', 'notes.md')).toEqual(ok('what I know\n'))
  expect(readdirSync(join(blob, '..'))).toEqual([`${hash.slice(4)}.blob.gz`])
})

test('at a terminal a long addition counts its files, and leaves nothing of that behind', () => {
  for (let i = 0; i < 250; i++) writeFileSync(join(here.cwd, `${i}.txt`), String(i))
  const { raw, code } = cordonAtTerminal(here, ['attachment', 'add', '.'], [])
  expect(code).toBe(0)
  expect(raw).toContain('\r100 files read\r200 files read\r\u001B[Kattached file:///0.txt')
})

test('a search through the home directory leaves out what Cordon keeps there, whose locks reading would drop', () => {
  writeFileSync(join(here.home, 'notes'), 'n')
  run('add', join(here.home, 'notes'))
  run('add', here.home)
  expect(listed()).toHaveLength(1)
  const own = join(here.home, '.local/share/cordon/workspace')
  expect(run('add', own)).toEqual({
    code: 2,
    stdout: '',
    stderr: `cordon: cannot attach ${own}: Cordon keeps its own files there\n`,
  })
})

test('SPEC 6.3 a name that is not UTF-8 is said to be that, and not to be missing; what has U+FFFD in it is taken', () => {
  writeFileSync(Buffer.concat([Buffer.from(`${here.cwd}/`), Buffer.from([0x6e, 0xff])]), 'x')
  writeFileSync(join(here.cwd, 'm\uFFFD'), 'y')
  const env = { PATH: process.env['PATH'], HOME: here.home }
  const typed = (words: string): Ended => {
    const script = `"$0" "$1" ${words}`
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script, process.execPath, CORDON], {
      cwd: here.cwd,
      env,
      encoding: 'utf8',
    })
    return { code: status, stdout, stderr }
  }
  const refused = (word: string): Ended => ({
    code: 2,
    stdout: '',
    stderr: `cordon: an argument is not UTF-8, and would be taken for another: ${word}\n`,
  })
  expect(typed(`attachment add "$(printf 'n\\377')"`)).toEqual(refused('n\uFFFD'))
  expect(typed(`query --attach="$(printf 'n\\377')" hi`)).toEqual(refused('--attach=n\uFFFD'))
  expect(conversations()).toEqual([])
  expect(run('add', 'm\uFFFD')).toMatchObject({ code: 0, stderr: '' })
})
