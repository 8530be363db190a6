import { chmodSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { Place, SOMEBODY } from './harness/place.ts'

/** What stands behind `to allow it:`, and the hints themselves, of each. */
const fixes = (told: string): readonly string[] =>
  [...told.matchAll(/^ {4}to allow it: (.*)$/gm)].map(([, fix]) => fix!)
const hints = (told: string): readonly string[] =>
  [...told.matchAll(/^ {2}hint: (.*)$/gm)].map(([, text]) => text!)

const GUARDED = (path: string): string => `${path} is guarded: the host obeys it, or runs it by itself later`

/** A repository as workspace, with a branch beside the one that is checked out. */
function repository(): Place {
  const place = new Place(SOMEBODY)
  const { code, stderr } = place.shell(
    'git init -q -b main . && git config user.email a@b.example && git config user.name a && git commit -q --allow-empty -m x && git branch side',
    [],
  )
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return place
}

describe('SPEC 4.7 a hint says what is so', () => {
  const place = new Place(SOMEBODY)
  place.write('src/gen/g', 'g')

  test('of a server inside that answered, nothing is said to be denied', () => {
    const script =
      'python3 -m http.server 8000 >/dev/null 2>&1 & until curl -s -o /dev/null localhost:8000; do sleep 0.1; done; exit 3'
    expect(place.run(['--', 'sh', '-c', script])).toMatchObject({ code: 3, stderr: '' })
    expect(hints(place.terminal(['--', 'sh', '-c', script], []).screen)).toEqual([])
  })

  test('the workspace itself is not what was to be removed, unless it was', () => {
    const said = place.run([
      '--',
      'sh',
      '-c',
      'echo "key=$PWD: EROFS: read-only file system, open /x" >&2; exit 1',
    ])
    expect(hints(said.stderr)).toEqual([
      '/ cannot be written without a sandbox either: its permissions deny it',
    ])
    const own = { cwd: place.mkdir(`${place.home}/ws`) }
    const moved = place.run(['--', 'mv', '../ws', '../q'], own)
    expect(hints(moved.stderr)).toEqual([
      'the workspace itself is not moved or removed from inside: do that outside',
    ])
    expect(fixes(moved.stderr)).toEqual([])
  })

  test('the workspace’s root has its flag', () => {
    const { stderr } = place.run(['--read', 'src', '--', 'ls'])
    expect(fixes(stderr)).toEqual(['--read .'])
    expect(place.run(['--read', 'src', '--read', '.', '--', 'ls'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('what is removed is removed from its directory', () => {
    const { stderr } = place.run(['--read', 'src', '--', 'rm', 'src/gen/g'])
    expect(fixes(stderr)).toEqual(['--write src/gen'])
    expect(place.run(['--read', 'src', '--write', 'src/gen', '--', 'rm', 'src/gen/g'])).toMatchObject({
      code: 0,
      stderr: '',
    })
  })

  test('a rule for what is not there yet needs it made, and nothing opened', () => {
    place.config(`[conversation.tools.t]
source = "local"
command = ["true"]
access.fs = [{ path = ".", read = true }, { path = "new/dir", read = true, write = true }]
`)
    const command = ['--tool', 't', '--', 'mkdir', '-p', 'new/dir']
    const { stderr } = place.run(command)
    expect(fixes(stderr)).toEqual(['mkdir -p new/dir'])
    place.mkdir(`${place.root}/new/dir`)
    expect(place.run(command)).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('SPEC 4.8 what was to be started is granted to be started', () => {
  const place = new Place(SOMEBODY)
  const program = place.write(`${place.home}/vx/o`, '#!/bin/sh\necho ok\n', 0o755)

  test.each<[string, readonly string[]]>([
    ['dash', ['dash', '-c', program]],
    ['bash', ['bash', '-c', `true && ${program} x`]],
    ['env', ['env', program]],
    ['node', ['node', '-e', `require("child_process").spawn("${program}", { stdio: "inherit" })`]],
  ])('%s', (_, command) => {
    const { stderr } = place.run(['--', ...command])
    expect(fixes(stderr)).toEqual(['--execute ~/vx/o'])
    expect(place.run(['--execute', '~/vx/o', '--', ...command])).toMatchObject({ code: 0, stdout: 'ok\n' })
  })

  test('and what may be read only is told when it is started', () => {
    const { stderr } = place.run(['--read', '~/vx/o', '--', 'sh', '-c', program])
    expect(hints(stderr)).toEqual(['~/vx/o is granted to be read, and not to be executed'])
    expect(fixes(stderr)).toEqual(['--execute ~/vx/o'])
    expect(fixes(place.run(['--', 'cat', program]).stderr)).toEqual(['--read ~/vx/o'])
  })
})

test('SPEC 4.7 what the permissions deny has no flag', () => {
  const place = new Place(SOMEBODY)
  const theirs = place.write(`${place.home}/theirs/f`, 'x', 0o444)
  chmodSync(`${place.home}/theirs`, 0o555)
  const closed = place.write(`${place.home}/closed`, 'x', 0o000)
  const script = `: >> ${theirs}`
  const why = '~/theirs/f cannot be written without a sandbox either: its permissions deny it'
  for (const flags of [[], ['--write', theirs]]) {
    const { stderr, code } = place.run([...flags, '--', 'sh', '-c', script])
    expect(code).toBe(2)
    expect(hints(stderr)).toEqual([why])
    expect(fixes(stderr)).toEqual([])
  }
  const read = place.run(['--', 'cat', closed])
  expect(hints(read.stderr)).toEqual([
    '~/closed cannot be read without a sandbox either: its permissions deny it',
  ])
  expect(fixes(read.stderr)).toEqual([])
})

describe('SPEC 4.8 a file with a rule of its own is replaced by flags that are each named once', () => {
  const place = new Place(SOMEBODY)
  place.write('src/f', 'hi\n')
  place.config(
    '[conversation.tools.t]\nsource = "local"\ncommand = ["sh"]\naccess.fs = [{ path = "src/f", read = true, update = true }]\n',
  )
  const command = ['--', 'sed', '-i', 's/hi/ho/', 'src/f']

  test.each<[string, (flags: readonly string[]) => string]>([
    ['at a terminal', (flags) => place.terminal(['--tool', 't', ...flags, ...command], []).screen],
    ['without one', (flags) => place.run(['--tool', 't', ...flags, ...command]).stderr],
  ])('%s', (_, told) => {
    expect(fixes(told([]))).toEqual(['--write src --write src/f'])
    expect(fixes(told(['--write', 'src']))).toEqual(['--write src/f'])
    expect(fixes(told(['--write', 'src/f']))).toEqual(['--write src'])
    place.write('src/f', 'hi\n')
    expect(fixes(told(['--write', 'src', '--write', 'src/f']))).toEqual([])
    expect(readFileSync(join(place.root, 'src/f'), 'utf8')).toBe('ho\n')
    place.write('src/f', 'hi\n')
  })

  test('also to remove it', () => {
    const { screen } = place.terminal(['--tool', 't', '--', 'rm', 'src/f'], [])
    expect(hints(screen)).toEqual([
      'src/f has a rule of its own, so it is changed in place: removing or replacing it takes create and delete in src, with all that is in it',
    ])
    expect(fixes(screen)).toEqual(['--write src --write src/f'])
  })
})

test('SPEC 4.8 what is moved is removed from its directory: the flags work together', () => {
  const place = new Place(SOMEBODY)
  place.write('docs/b', 'b')
  place.mkdir(`${place.root}/src`)
  const move = ['--', 'mv', 'docs/b', 'src/new']
  const { stderr } = place.run(['--read', '.', ...move])
  expect(fixes(stderr)).toEqual(['--write docs', '--write src'])
  expect(fixes(place.terminal(['--read', '.', ...move], []).screen)).toEqual(['--write docs', '--write src'])
  const flags = ['--write', 'docs', '--write', 'src']
  expect(place.run(['--read', '.', ...flags, ...move])).toMatchObject({ code: 0, stderr: '' })
})

describe('SPEC 4.7 git that does not see the repository around it', () => {
  const place = repository()
  place.write('src/deep/f', 'f')
  expect(place.shell('git add . && git commit -qm f', []).code).toBe(0)

  test.each<[string, string, string, readonly string[]]>([
    ['in its root', '.', '.', ['git', 'status', '--short']],
    ['below it', 'src', '..', ['git', 'status', '--short']],
    ['by -C', '.', '.', ['git', '-C', 'src', 'status', '--short']],
    ['in a script', '.', '.', ['sh', '-c', 'git status --short']],
  ])('%s', (_, at, shown, command) => {
    const there = { cwd: `${place.root}/${at}` }
    const write = ['--write', at === '.' ? 'src' : '.']
    const { stderr } = place.run([...write, '--', ...command], there)
    expect(hints(stderr)).toEqual([
      'there is a repository around it on the host, and .git is not granted: no rule covers that path',
    ])
    expect(fixes(stderr)).toEqual([`--read ${shown}`])
    expect(place.run([...write, '--read', shown, '--', ...command], there)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: '',
    })
  })

  test('and none where there is none, or where a rule says so', () => {
    const other = new Place(SOMEBODY)
    other.mkdir(`${other.root}/src`)
    expect(hints(other.run(['--write', 'src', '--', 'git', 'status']).stderr)).toEqual([])
    place.config('[profiles.p.access]\nfs = [{ path = ".", read = true }, { path = ".git" }]\n')
    const { stderr } = place.run(['--profile', 'p', '--', 'git', 'status'])
    expect([hints(stderr).length, fixes(stderr)]).toEqual([1, []])
  })
})

describe('SPEC 4.10 at a terminal the command line tells what was guarded', () => {
  const place = repository()
  place.write('.npmrc', 'x\n')
  place.mkdir(`${place.home}/other`)
  place.write(`${place.home}/shared/s`, 's\n')
  symlinkSync(`${place.home}/other`, `${place.root}/out`)

  test.each<[string, readonly string[], string]>([
    ['sed -i', ['sed', '-i', 's/x/z/', '.npmrc'], '--write .npmrc'],
    ['touch', ['touch', '.npmrc'], '--write .npmrc'],
    ['a redirection', ['sh', '-c', 'echo x > .git/config'], '--write .git/config'],
    ['one into a guarded directory', ['sh', '-c', 'echo x > .git/hooks/pre-commit'], '--write .git/hooks'],
    ['one after cd', ['sh', '-c', 'cd .git && echo x > config'], '--write .git/config'],
    ['one to another place', ['sh', '-c', 'echo o > ../home/other/o'], '--write ~/other'],
    ['one by a link', ['sh', '-c', 'echo o > out/o'], '--write ~/other'],
  ])('%s', (_, command, flag) => {
    const { screen } = place.terminal(['--', ...command], [])
    expect(fixes(screen)).toEqual([flag])
    if (command[0] === 'sed') expect(fixes(place.run(['--', ...command]).stderr)).toEqual([flag])
  })

  test('beside the workspace nothing is made: its directory is only the way to it', () => {
    const around = dirname(place.root)
    const worktree = ['--', 'git', 'worktree', 'add', '-q', '../x', '-b', 'x']
    const { screen } = place.terminal(worktree, [])
    expect(hints(screen)).toEqual([
      `${around} is not granted to be written, and ${around}/x is not there yet`,
    ])
    expect(screen).toContain(`to allow it, first: mkdir ${around}/x\n`)
    expect(fixes(screen)).toEqual([`--write ${around}/x`])
    place.mkdir(`${around}/x`)
    place.shell('git branch -d x', [])
    expect(place.run(['--write', `${around}/x`, ...worktree])).toMatchObject({ code: 0 })
    expect(fixes(place.terminal(['--', 'mkdir', '../m'], []).screen)).toEqual([`--write ${around}/m`])
    expect(fixes(place.terminal(['--', 'ls', '../nope'], []).screen)).toEqual([])
  })

  test('what may be made there is not said to be kept from it', () => {
    expect(hints(place.terminal(['--', 'sh', '-c', 'echo x > .envrc; exit 3'], []).screen)).toEqual([])
  })

  test('git says that a branch follows another, and it does not', () => {
    const { screen, code } = place.terminal(['--', 'git', 'branch', '--set-upstream-to=main', 'side'], [])
    expect(code).toBe(0)
    expect(screen).toContain("branch 'side' set up to track 'main'.\n")
    expect(hints(screen)).toEqual([GUARDED('.git/config')])
    expect(fixes(screen)).toEqual(['--write .git/config'])
    // For another reason: then the guard has nothing to do with it.
    expect(hints(place.terminal(['--', 'git', 'branch', '-u', 'nosuch', 'side'], []).screen)).toEqual([])
    expect(hints(place.terminal(['--', 'git', 'branch', '--list'], []).screen)).toEqual([])
  })
})

test('SPEC 4.10 git submodule update is told of the submodule’s own configuration', () => {
  const place = repository()
  const made = place.shell(
    `git init -q -b main ~/lib && git -C ~/lib -c user.email=a@b.example -c user.name=a commit -q --allow-empty -m x
    git -c protocol.file.allow=always submodule --quiet add ~/lib lib && git commit -qm lib && rm -rf lib && mkdir lib`,
    [],
  )
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const command = ['--', 'git', 'submodule', 'update']
  const flag = '--write .git/modules/lib/config'
  expect(fixes(place.terminal(command, []).screen)).toEqual([flag])
  expect(fixes(place.run(command).stderr)).toEqual([flag])
  expect(place.run([...flag.split(' '), ...command]).code).toBe(0)
})

describe('SPEC 4.7 programs in their own words', () => {
  const place = new Place(SOMEBODY)
  place.write('pip', '#!/bin/sh\necho "ERROR: No matching distribution found for attrs" >&2\nexit 1\n', 0o755)
  place.write(
    'tls',
    '#!/bin/sh\necho "Error: self-signed certificate in certificate chain (SELF_SIGNED_CERT_IN_CHAIN)" >&2\nexit 1\n',
    0o755,
  )
  place.mkdir(`${place.home}/pypi/simple`)
  const ca = place.write(`${place.home}/ca.pem`, 'x')

  test('pip with an index in a directory', () => {
    const url = `file://${place.home}/pypi/simple`
    const { stderr } = place.run(['--', './pip', 'install', '--index-url', url, 'attrs'])
    expect(fixes(stderr)).toEqual(['--read ~/pypi/simple'])
    expect(fixes(place.run(['--', './pip', 'install', 'attrs']).stderr)).toEqual(['--profile pip'])
  })

  test('a certificate authority of the host', () => {
    const env = { NODE_EXTRA_CA_CERTS: ca }
    const { stderr } = place.run(['--', './tls'], { env })
    expect(fixes(stderr)).toEqual(['--env NODE_EXTRA_CA_CERTS --read ~/ca.pem'])
    const system = { env: { SSL_CERT_FILE: '/etc/hostname' } }
    expect(fixes(place.run(['--', './tls'], system).stderr)).toEqual(['--env SSL_CERT_FILE'])
    expect(hints(place.run(['--', './tls']).stderr)).toEqual([])
  })

  test('a program that is piped into, and reads keys', () => {
    place.write('less', '#!/bin/sh\n: < /dev/tty || exit 1\n', 0o755)
    const { screen } = place.atShell([
      ['> ', 'echo x | $CORDON run -- ./less\r'],
      ['hint', ''],
      ['> ', 'exit\r'],
    ])
    expect(screen).toContain(
      "  hint: less reads keys from the terminal, which it has only where its standard input is the terminal, too; this works: cordon run -- sh -c 'COMMAND | less'\n",
    )
    expect(screen).not.toContain('--why')
  })
})

describe('SPEC 4.7 what no flag grants is said, and why', () => {
  const place = new Place(SOMEBODY)
  place.write(`${place.home}/.gitconfig`, '[user]\n\tname = x\n')

  test('what a profile gives to be read', () => {
    const { stderr } = place.run(['--profile', 'git', '--', 'git', 'config', '--global', 'user.name', 'y'])
    expect(hints(stderr)).toEqual([
      '~/.gitconfig is granted to be read; replacing it needs its directory, and no flag grants that: your home, and what is above it, would give away all you have; name the directories that are needed',
    ])
    expect(fixes(stderr)).toEqual([])
  })

  test('what is the system’s', () => {
    expect(hints(place.run(['--', 'sh', '-c', 'echo x > /etc/foo']).stderr)).toEqual([
      '/etc cannot be written without a sandbox either: its permissions deny it',
    ])
  })
})

describe('SPEC 4.7 what is not known is said', () => {
  const place = new Place(SOMEBODY)
  place.write(`${place.home}/s`, 's')

  test('--why that finds nothing', () => {
    const nothing =
      'cordon: the command ended with 1; nothing is known of the sandbox that would explain it\n'
    expect(place.run(['--why', '--', 'false']).stderr).toBe(nothing)
    expect(place.terminal(['--why', '--', 'false'], []).screen).toBe(nothing)
    expect(place.run(['--', 'false']).stderr).toBe('')
  })

  test('a script may have failed for more than its command line tells', () => {
    const { screen } = place.terminal(['--', 'sh', '-c', 'cat ~/s; f=x; cat ~/$f'], [])
    expect(fixes(screen)).toEqual(['--read ~/s'])
    expect(screen).toContain(
      "cordon: the command ended with 1; if the sandbox may be why, see more with: cordon run --why -- sh -c 'cat ~/s; f=x; cat ~/$f'\n",
    )
  })

  test('a command that hung, and was ended by a time limit', () => {
    const { screen } = place.atShell([
      ['> ', 'timeout 3 $CORDON run -- sleep 100\r'],
      ['see more', ''],
      ['> ', 'exit\r'],
    ])
    expect(screen).toContain(
      'cordon: the command was ended by SIGTERM; if the sandbox may be why, see more with: ',
    )
  })
})

describe('SPEC 4.3 limits have their flag', () => {
  const place = new Place(SOMEBODY)

  test.each<[string, string, readonly string[], RegExp]>([
    [
      'memory',
      'memory_mb=100',
      ['python3', '-c', 'x = "a" * (300 << 20)'],
      /^--cfg sandbox\.limits\.memory_mb=\d{4,}$/,
    ],
    [
      '/tmp',
      'tmp_mb=1',
      ['sh', '-c', 'head -c 3000000 /dev/zero > /tmp/x'],
      /^--cfg sandbox\.limits\.tmp_mb=\d{3,}$/,
    ],
    [
      'time',
      'cpu_secs=1',
      ['sh', '-c', 'i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done'],
      /^--cfg sandbox\.limits\.cpu_secs=\d+$/,
    ],
  ])('%s', (_, limit, command, fix) => {
    const { stderr, code } = place.run(['--cfg', `sandbox.limits.${limit}`, '--', ...command])
    expect(code).not.toBe(0)
    const [first = '', ...more] = fixes(stderr)
    expect(more).toEqual([])
    expect(first).toMatch(fix)
    if (limit !== 'cpu_secs=1')
      expect(place.run(['--cfg', first.slice('--cfg '.length), '--', ...command]).code).toBe(0)
  })
})

test.each<[string, readonly string[]]>([
  ['cp', ['cp', 'f', '/tmp/r']],
  ['tar', ['tar', 'cf', '/tmp/r', 'f']],
  ['tar with a dash', ['tar', '-czf', '/tmp/r', 'f']],
  ['curl', ['curl', '-so', '/tmp/r', 'file:///etc/hostname']],
])('SPEC 4.3 an output in the private /tmp is told: %s', (_, command) => {
  const place = new Place(SOMEBODY)
  place.write('f', 'x')
  expect(place.run(['--', ...command])).toMatchObject({
    code: 0,
    stderr:
      'cordon: the command ended with 0\n' +
      '  note: /tmp/r: /tmp inside is private and gone now; what is to stay goes to the workspace, or to a directory with --write\n',
  })
})

test('SPEC 4.7 one flag is named once', () => {
  const place = repository()
  expect(place.shell('git worktree add -q ~/wt', []).code).toBe(0)
  const hook = `${place.root}/.git/hooks/post-commit`
  const { stderr } = place.run(['--', 'sh', '-c', `echo x > ${hook}`], { cwd: `${place.home}/wt` })
  expect(fixes(stderr)).toEqual([expect.stringContaining('--write ')])
})

describe('SPEC 4.8 a new file to be written outside has the flag for its directory', () => {
  const place = repository()
  place.mkdir(`${place.home}/shared`)
  place.write('a', 'a\n')
  place.write('m.c', 'int main(void) { return 0; }\n')
  place.write('w.py', 'import sys\nopen(sys.argv[1], sys.argv[2]).write("x")\n')
  place.write('w.js', 'require("fs").writeFileSync(process.argv[2], "x")\n')
  const file = `${place.home}/shared/n`

  test.each<[string, readonly string[]]>([
    ['git archive', ['git', 'archive', '--format=tar', '-o', file, 'HEAD']],
    ['a linker', ['gcc', '-o', file, 'm.c']],
    ['sort', ['sort', '-o', file, 'a']],
    ['curl, which says nothing', ['curl', '-s', '-o', file, 'file:///etc/hostname']],
    ['a script for Python', ['python3', 'w.py', file, 'w']],
    ['a script for Node', ['node', 'w.js', file]],
  ])('%s', (_, command) => {
    const { stderr, code } = place.run(['--', ...command])
    expect(code).not.toBe(0)
    expect(hints(stderr)).toEqual([
      '~/shared is not granted to be written, and can be only with all that is in it',
    ])
    expect(fixes(stderr)).toEqual(['--write ~/shared'])
    expect(place.run(['--write', `${place.home}/shared`, '--', ...command]).code).toBe(0)
    rmSync(file)
  })

  test('which no flag grants where the permissions deny it', () => {
    const closed = place.mkdir(`${place.home}/closed`)
    chmodSync(closed, 0o555)
    const { stderr } = place.run(['--', 'sort', '-o', `${closed}/n`, 'a'])
    expect(hints(stderr)).toEqual([
      '~/closed cannot be written without a sandbox either: its permissions deny it',
    ])
    expect(fixes(stderr)).toEqual([])
  })

  test('SPEC 4.9 the attack: a complaint does not choose the place of a secret', () => {
    place.mkdir(`${place.home}/.ssh`)
    expect(fixes(place.run(['--', 'python3', 'w.py', `${place.home}/.ssh/n`, 'w']).stderr)).toEqual([])
  })

  test('and what is only read, and is not there on the host either, has none', () => {
    expect(hints(place.run(['--', 'cat', file]).stderr)).toEqual([])
    expect(hints(place.run(['--', 'python3', file]).stderr)).toEqual([])
  })
})

test('SPEC 4.3 what was written to a private place is no write that the host’s permissions deny', () => {
  const place = new Place(SOMEBODY)
  const theirs = `/tmp/${basename(place.dir)}-theirs`
  writeFileSync(theirs, '1', { mode: 0o600 })
  try {
    const inHome = place.mkdir(`${place.home}/ws`)
    for (const path of [theirs, place.write(`${place.home}/own`, '1', 0o444)])
      for (const cwd of [place.root, inHome]) {
        const script = `echo hi > ${path} && cat ${path}; exit 3`
        const { stdout, stderr, code } = place.run(['--', 'sh', '-c', script], { cwd })
        expect({ stdout, hints: hints(stderr), code }).toEqual({ stdout: 'hi\n', hints: [], code: 3 })
      }
  } finally {
    rmSync(theirs)
  }
})

describe('SPEC 4.8 where nothing grants the directory one stands in', () => {
  const place = new Place(SOMEBODY)
  const here = { cwd: place.mkdir(`${place.root}/docs`) }
  place.write('src/a', 'a\n')
  place.write('docs/d', 'd\n')
  place.config(
    '[profiles.p.access]\nfs = [{ path = "src", read = true }]\n[profiles.no.access]\nfs = [{ path = "src", read = true }, { path = "docs" }]\n',
  )
  const why = `cordon: nothing was started: no rule grants ${place.root}/docs, where the command would start\n`
  const command = ['--', 'cat', '../src/a']

  test.each<[string, readonly string[]]>([
    ['by a flag', ['--read', '../src']],
    ['by a profile', ['--profile', 'p']],
  ])('%s: it is said, with the flag', (_, flags) => {
    expect(place.run([...flags, ...command], here)).toMatchObject({
      code: 125,
      stdout: '',
      stderr: `${why}  to allow it: --read .\n`,
    })
    const shown = place.run([...flags, '--show', ...command], here)
    expect(shown.stdout).toContain(
      `  note: no rule grants ${place.root}/docs, where the command would start: it would not\n    to allow it: --read .\n`,
    )
    expect(place.run([...flags, '--read', '.', ...command], here)).toMatchObject({
      code: 0,
      stdout: 'a\n',
      stderr: '',
    })
    expect(place.run([...flags, '--read', '.', '--show', ...command], here).stdout).not.toContain(
      'it would not',
    )
  })

  test('what a rule denies on purpose has none', () => {
    expect(place.run(['--profile', 'no', ...command], here)).toMatchObject({ code: 125, stderr: why })
  })

  test('the way to what is granted is there', () => {
    const below = ['--read', 'd', '--', 'cat', 'd']
    expect(place.run(below, here)).toMatchObject({ code: 0, stdout: 'd\n', stderr: '' })
    expect(place.run(['--show', ...below], here).stdout).not.toContain('it would not')
  })
})

test('SPEC 4.8 in a linked worktree the flag is for the repository, as in any', () => {
  const place = repository()
  expect(
    place.shell('git worktree add -q ~/wt && mkdir ~/wt/src && cp .git/config ~/.gitconfig', []).code,
  ).toBe(0)
  const narrow = ['--read', '.', '--write', 'src', '--profile', 'git']
  const commit = ['--', 'git', 'commit', '-q', '--allow-empty', '-m', 'y']
  const here = { cwd: `${place.home}/wt` }
  const { stderr } = place.run([...narrow, ...commit], here)
  expect(stderr).toBe(
    `fatal: Unable to create '${place.root}/.git/worktrees/wt/index.lock': Read-only file system\n` +
      'cordon: the command ended with 128\n' +
      `  hint: ${place.root}/.git is not granted to be written, and can be only with all that is in it\n` +
      `    to allow it: --write ${place.root}/.git\n`,
  )
  expect(place.run([...narrow, '--write', `${place.root}/.git`, ...commit], here)).toMatchObject({
    code: 0,
    stderr: '',
  })
})

describe('SPEC 4.10 what replaces a guarded file needs its directory, too: both flags are named', () => {
  const place = repository()
  place.write('.npmrc', 'x\n')

  test.each<[string, readonly string[], string]>([
    ['git config', ['git', 'config', 'a.b', 'd'], '--write .git --write .git/config'],
    ['rm', ['rm', '.npmrc'], '--write . --write .npmrc'],
  ])('%s', (_, command, flags) => {
    const read = ['--read', '.', '--', ...command]
    expect(fixes(place.terminal(read, []).screen)).toEqual([flags])
    expect(fixes(place.run(read).stderr)).toEqual([flags])
    expect(place.run(['--read', '.', ...flags.split(' '), '--', ...command])).toMatchObject({
      code: 0,
      stderr: '',
    })
  })
})

describe('SPEC 4.7 a path with spaces or quotes in its name is read as one', () => {
  const place = new Place(SOMEBODY)
  place.write(`${place.home}/o d/f`, 'f')

  test.each<[string, readonly string[], string]>([
    ['read', ['cat', `${place.home}/o d/f`], "--read ~/'o d/f'"],
    ['by a relative path', ['cat', '../home/o d/f'], "--read ~/'o d/f'"],
    ['of an option', ['grep', `--file=${place.home}/o d/f`, 'x'], "--read ~/'o d/f'"],
    ['written', ['touch', `${place.home}/o d/f`], "--write ~/'o d/f'"],
    ['new', ['touch', `${place.home}/o d/n`], "--write ~/'o d'"],
  ])('at a terminal, %s', (_, command, flag) => {
    expect(fixes(place.terminal(['--', ...command], []).screen)).toEqual([flag])
  })

  test.each([
    [`a'b`, `--read ~/'a'\\''b'`],
    [`a'b c`, `--read ~/'a'\\''b c'`],
    [`a'b"c d`, `--read ~/'a'\\''b"c d'`],
  ])('in a complaint of coreutils: %s', (name, flag) => {
    place.write(`${place.home}/${name}`, 'x')
    place.write('name', name)
    place.write('own.sh', 'exec cat "$HOME/$(cat name)"\n')
    expect(fixes(place.run(['--', 'sh', 'own.sh']).stderr)).toEqual([flag])
    const script = `n=$1 c=$2; shift 2; exec "$n" "$c" run ${flag} -- "$@"`
    expect(place.shell(script, ['sh', 'own.sh'])).toMatchObject({ code: 0, stdout: 'x', stderr: '' })
  })
})

test('SPEC 4.7 a limit that is known is told once, with its flag', () => {
  const place = new Place(SOMEBODY)
  const fill = ['--cfg', 'sandbox.limits.tmp_mb=1', '--', 'sh', '-c', 'head -c 3000000 /dev/zero > ~/u']
  expect(place.run(fill).stderr).toBe(
    "head: error writing 'standard output': No space left on device\n" +
      'cordon: the command ended with 1\n' +
      '  gone: ~/u: written to the private home, which is no more\n' +
      '    to keep it, first: touch ~/u\n' +
      '    to keep it: --write ~/u\n' +
      '  limit: the private /tmp and home are full (limits 1 MiB and 262144 files): they are emptied when the process ends\n' +
      '    to allow it: --cfg sandbox.limits.tmp_mb=1024\n',
  )
})

describe('SPEC 4.7 a hint names what the command wanted', () => {
  const place = repository()
  place.write('src/f', 'f')

  test.each<[string, readonly string[], readonly string[], string]>([
    ['read', ['--read', 'src'], ['ls'], '.: read denied: no rule covers that path'],
    [
      'written',
      ['--read', '.'],
      ['sh', '-c', 'echo >> .git/config'],
      '.git/config: update denied: the rule for . does not grant update (--read .)',
    ],
    [
      'removed',
      ['--read', '.'],
      ['rm', 'src/f'],
      'src/f: delete denied: the rule for . does not grant delete (--read .)',
    ],
    [
      'replaced',
      ['--read', '.'],
      ['git', 'config', 'a.b', 'c'],
      '.git/config: update, delete denied: the rule for . does not grant update (--read .)',
    ],
  ])('%s', (_, flags, command, text) => {
    expect(hints(place.run([...flags, '--', ...command]).stderr)).toEqual([text])
  })
})

describe('SPEC 4.7 what a command says on standard output, where its errors go elsewhere', () => {
  const place = new Place(SOMEBODY)
  place.write(
    'suite.js',
    'require("net").createServer().on("error", (e) => { console.log(e.message); process.exit(4) }).listen("x.sock")\n',
  )
  const suite = ['--', 'node', 'suite.js']
  const said = `listen EAFNOSUPPORT: address family not supported x.sock\n`
  /** With each stream in a file of its own. */
  const apart = (
    flags: readonly string[],
    command: readonly string[],
  ): readonly [number | null, string, string] => {
    const { code } = place.shell('n=$1 c=$2; shift 2; exec "$n" "$c" run "$@" > o 2> e', [
      ...flags,
      ...command,
    ])
    return [code, readFileSync(`${place.root}/o`, 'utf8'), readFileSync(`${place.root}/e`, 'utf8')]
  }

  test('--why looks at it, and passes it on', () => {
    const [code, out, err] = apart(['--why'], suite)
    expect([code, out]).toEqual([4, said])
    expect(fixes(err)).toEqual(['--unix-sockets'])
    expect(place.run(['--why', ...suite])).toMatchObject({ code: 4, stdout: said, stderr: err })
    expect(
      place.shell('n=$1 c=$2; shift 2; "$n" "$c" run --why "$@" | head -n 1', ['--', 'yes']).stdout,
    ).toBe('y\n')
  })

  test('without it, what was said in a file only is told with --why', () => {
    expect(apart([], suite)).toEqual([
      4,
      said,
      'cordon: the command ended with 4; if the sandbox may be why, see more with: cordon run --why -- node suite.js\n',
    ])
    expect(apart(['--quiet'], suite)).toEqual([4, said, ''])
  })

  test('what said nothing, spoke on standard error, or whose output nobody looks at in vain, stays silent', () => {
    expect(apart([], ['--', 'grep', 'nothing', 'suite.js'])).toEqual([1, '', ''])
    expect(apart([], ['--', 'sh', '-c', 'echo out; echo own words >&2; exit 2'])).toEqual([
      2,
      'out\n',
      'own words\n',
    ])
    expect(place.run(suite)).toMatchObject({ code: 4, stdout: said, stderr: '' })
  })

  test('one that hung, and was ended by a time limit', () => {
    const script = 'n=$1 c=$2; shift 2; timeout 3 "$n" "$c" run "$@" 2> e'
    place.shell(script, ['--', 'sleep', '100'])
    expect(readFileSync(`${place.root}/e`, 'utf8')).toBe(
      'cordon: the command was ended by SIGTERM; if the sandbox may be why, see more with: cordon run --why -- sleep 100\n',
    )
  })

  test('one that hung, and was ended by Ctrl-C', () => {
    const { screen } = place.atShell([
      ['> ', '$CORDON run -- sh -c "echo up; exec sleep 100" 2> e\r'],
      ['up\r\n', '\x03'],
      ['> ', 'cat e\r'],
      ['see more', ''],
      ['> ', 'exit\r'],
    ])
    expect(screen).toContain(
      'cordon: the command was ended by SIGINT; if the sandbox may be why, see more with: ',
    )
  })

  test('one that ended itself by a signal, or without a sandbox, stays silent', () => {
    expect(apart([], ['--', 'sh', '-c', 'kill -TERM $$'])).toEqual([null, '', ''])
    const off = ['--cfg', 'sandbox.mode=off']
    expect(place.terminal([...off, '--', 'false'], []).screen).not.toContain('the sandbox may be why')
  })

  test('a terminal stays the program’s own, and --why says that it was not looked at', () => {
    const { screen } = place.atShell([
      ['> ', '$CORDON run --why -- sh -c "test -t 1 && echo tty; exit 3" 2> e; cat e\r'],
      ['looked at', ''],
      ['> ', 'exit\r'],
    ])
    expect(screen).toContain(
      'tty\ncordon: the command ended with 3; nothing is known of the sandbox that would explain it; standard output was not looked at, and is with 2>&1\n',
    )
  })
})

test('SPEC 4.8 --show starts nothing, so it shows also what cannot be started', () => {
  const place = new Place(SOMEBODY)
  place.write('plain', 'x')
  const shown = place.run(['--read', '.', '--show', '--', 'sh'])
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  for (const [program, why] of [
    ['nosuchprogram', 'it is in no directory of PATH'],
    ['./nosuch', 'it does not exist'],
    ['./plain', 'it is not executable'],
  ])
    expect(place.run(['--read', '.', '--show', '--', program!])).toMatchObject({
      code: 0,
      stdout: `${shown.stdout}  note: cannot start ${program}: ${why}\n`,
      stderr: '',
    })
})

describe('SPEC 4.7 a package that Node does not find, and the host has', () => {
  const place = new Place(SOMEBODY)
  const mono = `${place.home}/mono`
  const cwd = place.mkdir(`${mono}/app`)
  const made = (path: string, text = 'module.exports = "ok"\n'): string =>
    place.write(`${path}/index.js`, text)
  made(`${mono}/node_modules/hoisted`, 'module.exports = require("@s/beside")\n')
  made(`${mono}/node_modules/@s/beside`)
  made(`${mono}/node_modules/.pnpm/p@1/node_modules/p`, 'module.exports = require("q")\n')
  made(`${mono}/node_modules/.pnpm/p@1/node_modules/q`)
  made(`${place.home}/dev/linked`)
  made(`${cwd}/node_modules/own`)
  made(`${place.home}/.ssh/key`)
  for (const [to, name] of [
    [`${mono}/node_modules/.pnpm/p@1/node_modules/p`, 'p'],
    [`${place.home}/dev/linked`, 'linked'],
    [`${place.home}/.ssh/key`, 'secret'],
  ])
    symlinkSync(to!, `${cwd}/node_modules/${name}`)
  for (const name of ['hoisted', '@s/beside', 'p', 'linked', 'own', 'secret', 'nowhere']) {
    const file = name.replaceAll(/\W/g, '')
    place.write(`${cwd}/src/${file}.cjs`, `console.log(require("${name}"))\n`)
    place.write(`${cwd}/src/${file}.mjs`, `import x from "${name}"\nconsole.log(x)\n`)
  }

  test.each<[string, readonly string[], string]>([
    ['hoisted', [], '--read ~/mono/node_modules'],
    ['sbeside', [], '--read ~/mono/node_modules'],
    ['p', [], '--read ~/mono/node_modules'],
    ['linked', [], '--read ~/dev/linked'],
    ['own', ['--read', 'src'], '--read node_modules'],
  ])('%s', (name, flags, flag) => {
    for (const file of [`src/${name}.cjs`, `src/${name}.mjs`]) {
      const command = ['--', 'node', file]
      const { stderr, code } = place.run([...flags, ...command], { cwd })
      expect(code).toBe(1)
      expect(fixes(stderr)).toEqual([flag])
      const granted = place.run([...flags, ...flag.split(' '), ...command], { cwd })
      expect(granted).toMatchObject({ code: 0, stdout: 'ok\n' })
    }
  })

  test('and what the host has not, or where a link leads to secrets, has none', () => {
    for (const name of ['nowhere', 'secret'])
      expect(fixes(place.run(['--', 'node', `src/${name}.cjs`], { cwd }).stderr)).toEqual([])
  })
})
