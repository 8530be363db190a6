import { describe, expect, test } from 'vitest'
import { PEOPLE, type Person } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'

/** Decision 0590: what an index calls a submodule is one to the person's next `git status`, which obeys its configuration. */
const EVIL = 'printf "#!/bin/sh\\ntouch $PWD/ran\\n" > evil; chmod +x evil; '
const COMMIT = '-c user.name=a -c user.email=a@b commit -q --allow-empty -m x'
const AIM = 'git -C sub config core.fsmonitor "$PWD/evil"'
const MAKE = `git init -q sub; git -C sub ${COMMIT}; `
const NAME = 'git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub'

/** Indexes that git reads in another way than from entry to entry: each calls `sub` a submodule there alone. */
const MAKE_INDEX = `
import struct, hashlib, subprocess
def said(*args): return subprocess.check_output(('git',) + args).decode().strip()
def entry(path, mode, oid):
    e = struct.pack('>10I', 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + bytes.fromhex(oid) + struct.pack('>H', len(path)) + path.encode()
    return e + bytes(((len(e) + 8) & ~7) - len(e))
def extension(name, data): return name + struct.pack('>I', len(data)) + data
def save(body, file):
    digest = hashlib.sha1(body).digest()
    open('.git/' + file.format(digest.hex()), 'wb').write(body + digest)
    return digest
blob, head = said('rev-parse', 'HEAD:f'), said('-C', 'sub', 'rev-parse', 'HEAD')
def two_links():
    shared = save(b'DIRC' + struct.pack('>II', 2, 2) + entry('f', 0o100644, blob) + entry('sub', 0o160000, head), 'sharedindex.{}')
    bitmap = struct.pack('>IIQI', 0, 1, 0, 0)
    links = b''.join(extension(b'link', each + bitmap * 2) for each in (bytes(20), shared))
    save(b'DIRC' + struct.pack('>II', 2, 0) + links, 'index')
def blocks():
    header = b'DIRC' + struct.pack('>II', 2, 2)
    seen = entry('f', 0o100644, blob) + entry('sub', 0o100644, blob)
    end, hidden = len(header) + len(seen), entry('sub', 0o160000, head)
    table = extension(b'IEOT', struct.pack('>5I', 1, len(header), 1, end + 8, 1))
    digest = hashlib.sha1(b'JUNK' + struct.pack('>I', len(hidden)) + b'IEOT' + struct.pack('>I', len(table) - 8)).digest()
    save(header + seen + extension(b'JUNK', hidden) + table + extension(b'EOIE', struct.pack('>I', end) + digest), 'index')
`

const embeddedIn = (person: Person): Repository => {
  const place = new Repository(person)
  place.shell(`${MAKE} git add sub; git commit -q -m sub`, [])
  return place
}

describe.each(PEOPLE)('SPEC 4.10 repositories that an index names, as $name', (person) => {
  const embedded = (): Repository => embeddedIn(person)
  /** Whether the person’s everyday look runs what a command left. */
  const isRun = (place: Repository): boolean => {
    place.shell('git status --short', [])
    return place.has('ran')
  }

  test.each(['', '--index-version 4', '--split-index'])(
    'one that the person committed is guarded: %s',
    (kind) => {
      const place = embedded()
      if (kind !== '') place.git(`update-index ${kind}`)
      const { code, stderr } = place.sh(`${EVIL}${AIM}`)
      expect(code).not.toBe(0)
      expect(stderr).not.toContain('does not see everything')
      expect(isRun(place)).toBe(false)
    },
  )

  test('one in it, and one of a linked worktree, are guarded as well', () => {
    const place = embedded()
    place.shell(
      `cd sub; git init -q in; git -C in ${COMMIT}; git add in; cd ..; git worktree add -q wt -b wt; git clone -q sub wt/sub`,
      [],
    )
    for (const dir of ['sub/in', 'wt/sub'])
      expect([dir, place.sh(`git -C ${dir} config core.fsmonitor evil`).code]).not.toEqual([dir, 0])
  })

  test('one in a repository of longer ids is guarded', () => {
    const place = new Repository(person)
    place.shell(
      `rm -rf .git; git init -q --object-format=sha256; git init -q --object-format=sha256 sub; git -C sub ${COMMIT}; git add sub`,
      [],
    )
    expect(place.git('ls-files -s')).toMatch(/^160000 [0-9a-f]{64} 0\tsub$/m)
    expect(place.sh('git -C sub config core.fsmonitor evil').code).not.toBe(0)
  })

  test('one that a command names is told, and is guarded for the next one', () => {
    const place = new Repository(person)
    const told = place.sh(`${EVIL}${MAKE}${AIM}; ${NAME}`)
    expect(told.code).toBe(0)
    expect(told.stderr).toContain(
      `${place.real}/sub/.git was made, which the host obeys or runs by itself later\n`,
    )
    expect(place.sh('true').stderr).toBe('')
    expect(place.sh('git -C sub config core.fsmonitor evil').code).not.toBe(0)
  })

  test('one that an earlier command made is told when it is named', () => {
    const place = new Repository(person)
    expect(place.sh(`${EVIL}${MAKE}${AIM}`).stderr).toBe('')
    expect(place.sh(NAME).stderr).toContain(`${place.real}/sub/.git was made`)
  })

  test.each([
    { name: 'as .gitmodules says', before: ':' },
    { name: 'as the index says', before: 'git rm -q --cached .gitmodules; rm .gitmodules' },
    { name: 'behind directories that are missing, too', before: ':', away: 'rm -r deep' },
  ])(
    'one whose directory an earlier command removed is told: $name',
    ({ before, away = 'rmdir deep/sub' }) => {
      const place = new Repository(person)
      place.shell(
        `git init -q ~/s; git -C ~/s ${COMMIT}; git -c protocol.file.allow=always submodule add -q ~/s deep/sub; ${before}; git commit -q -m sub; rm -rf deep .git/modules; mkdir -p deep/sub`,
        [],
      )
      expect(place.sh(away).code).toBe(0)
      expect(place.sh('mkdir -p deep; git init -q deep/sub').stderr).toContain(
        `${place.real}/deep/sub/.git was made, which the host obeys or runs by itself later\n`,
      )
    },
  )

  test('one in whose place a link to elsewhere was put keeps that link', () => {
    const place = new Repository(person)
    expect(
      place.sh(`ln -s /usr sub; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub`).code,
    ).toBe(0)
    expect(place.sh(`${EVIL}rm sub && ${MAKE}${AIM}`).code).not.toBe(0)
    expect(isRun(place)).toBe(false)
    const listed = new Repository(person)
    listed.shell(
      `git init -q ~/s; git -C ~/s ${COMMIT}; git -c protocol.file.allow=always submodule add -q ~/s sub; git commit -q -m sub; rm -rf sub .git/modules; mkdir sub`,
      [],
    )
    expect(listed.sh('rmdir sub; ln -s /usr sub').code).toBe(0)
    expect(listed.sh(`${EVIL}rm sub && ${MAKE}${AIM}`).code).not.toBe(0)
    expect(isRun(listed)).toBe(false)
  })

  test('one that a command takes out of the index stays guarded', () => {
    const place = embedded()
    expect(place.sh('git rm -q --cached sub').code).toBe(0)
    expect(place.sh(`${EVIL}${AIM}`).code).not.toBe(0)
    place.git('reset -q')
    expect(isRun(place)).toBe(false)
  })

  test('one whose name is not valid UTF-8 is told', () => {
    const place = new Repository(person)
    const { stderr } = place.sh(
      'd=$(printf "s\\377"); git init -q "$d"; git -C "$d" -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add "$d" 2> /dev/null',
    )
    expect(stderr).toContain(`${place.real}/.git/index`)
  })

  test('a name that is too long for any file says nothing', () => {
    const place = new Repository(person)
    expect(
      place.sh('git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),$(printf "a%.0s" $(seq 300))')
        .code,
    ).toBe(0)
    expect(place.sh('true')).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    { name: 'a second shared index', made: 'two_links()' },
    { name: 'a table of blocks that leads elsewhere', made: 'blocks()' },
  ])('hidden ones are not left to git: $name', ({ made }) => {
    const place = new Repository(person)
    place.shell('echo f > f; git add f; git commit -q -m f; git config index.threads 4', [])
    place.write('make.py', `${MAKE_INDEX}${made}\n`)
    const { stderr } = place.sh(`${EVIL}${MAKE}${AIM}; python3 make.py`)
    expect(stderr).toContain(`${place.real}/.git/index`)
    expect(isRun(place)).toBe(false)
  })

  test('bits of a mode that git does not look at hide nothing', () => {
    const place = new Repository(person)
    place.shell(`${MAKE}${NAME}`, [])
    const flip =
      'b = open(".git/index", "rb").read(); i = b.index(b"\\0\\0\\xe0\\0"); open(".git/index", "wb").write(b[:i] + b"\\1\\1\\xe5\\5" + b[i + 4:-20] + bytes(20))'
    place.write('flip.py', flip)
    place.shell('git config index.skipHash true; python3 flip.py', [])
    expect(place.sh('git -C sub config core.fsmonitor evil').code).not.toBe(0)
  })

  test('an index that is not understood is told', () => {
    const place = embedded()
    place.git('update-index --split-index')
    // The path of an entry that replaces one of the shared index is only there.
    place.shell(`git -C sub ${COMMIT}; git config splitIndex.maxPercentChange 100; git add sub`, [])
    expect(place.sh('true').stderr).toContain('so repositories that it names are not guarded')
  })

  test('work goes on: an index that changes without new repositories says nothing', () => {
    const place = embedded()
    const { code, stderr } = place.sh(
      `echo b > b; git add b; git ${COMMIT}; git -C sub ${COMMIT}; git add sub`,
    )
    expect([code, stderr]).toEqual([0, ''])
  })
})

test('SPEC 4.10 very many names in an index keep no listed submodule from being guarded', () => {
  const place = new Repository(PEOPLE.at(-1)!)
  place.shell(
    `git init -q ~/s; git -C ~/s ${COMMIT}; git -c protocol.file.allow=always submodule add -q ~/s zub; git commit -q -m sub`,
    [],
  )
  const many =
    'h=$(git rev-parse HEAD); for i in $(seq 2500); do echo "160000 $h 0	a$i"; done > ~/list; mkdir -p $(seq -f a%g/.git 2500); git update-index --index-info < ~/list'
  expect(place.sh(many).code).toBe(0)
  // The second time they are also remembered.
  for (let start = 0; start < 2; start++) {
    const { code, stderr } = place.sh('rm -f zub/.git')
    expect(code).not.toBe(0)
    expect(stderr).toContain('has very many submodules, so not all of them are guarded')
    expect(place.has('zub/.git')).toBe(true)
  }
})

test('decision 0590: a torn line of what is remembered stops nothing', () => {
  const place = embeddedIn(PEOPLE.at(-1)!)
  expect(place.sh('true').code).toBe(0)
  place.shell('truncate -s -4 ~/.local/share/cordon/workspace/.said/work-*', [])
  place.shell(`${MAKE.replaceAll('sub', 'more')} git add more`, [])
  for (let start = 0; start < 2; start++) expect(place.sh('true')).toMatchObject({ code: 0, stderr: '' })
  expect(place.sh('git -C more config core.fsmonitor evil').code).not.toBe(0)
})
