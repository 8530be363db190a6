import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, type Person } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'
import { until } from '../harness/waiting.ts'

/** A repository, and beside it what a link in `.git` would let git delete or write. */
class Linked extends Repository {
  readonly kept: string

  constructor(person: Person) {
    super(person)
    this.kept = this.write(join(this.home, 'docs/kept'), 'was\n')
  }

  /** What git on the host does of its own accord, or at a person's next commands. */
  hostGoesOn(): void {
    this.shell(
      'git worktree prune --expire now; git gc -q --prune=now; git rebase --quit; git cherry-pick --quit; git fetch -q .; git commit -q --allow-empty -m next; true',
      [],
    )
  }
}

interface Attack {
  readonly name: string
  /** By earlier commands, each on its own. */
  readonly before?: readonly string[]
  readonly script: string
  /** The link, or the symbolic ref, that is told. */
  readonly link: string
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'a worktree that is not one',
    script: 'mkdir .git/worktrees; ln -s ~/docs .git/worktrees/x',
    link: 'worktrees/x',
  },
  {
    name: 'a file that git writes in place',
    script: 'ln -sf ~/docs/kept .git/COMMIT_EDITMSG',
    link: 'COMMIT_EDITMSG',
  },
  { name: 'what a fetch writes', script: 'ln -sf ~/docs/kept .git/FETCH_HEAD', link: 'FETCH_HEAD' },
  { name: 'a log', script: 'ln -sf ~/docs/kept .git/logs/HEAD', link: 'logs/HEAD' },
  { name: 'a rebase to be ended', script: 'ln -s ~/docs .git/rebase-apply', link: 'rebase-apply' },
  { name: 'a cherry-pick to be ended', script: 'ln -s ~/docs .git/sequencer', link: 'sequencer' },
  {
    name: 'a directory that an earlier command filled',
    before: ['mkdir in; ln -s ~/docs in/x', 'true'],
    script: 'mv in .git/worktrees',
    link: 'worktrees/x',
  },
  {
    name: 'a link that was left alone, moved with its directory, to a directory by then',
    before: ['echo > x; ln -sf ../../x .git/info/exclude', 'true'],
    script: 'rm x; ln -s ~/docs x; mv .git/info .git/worktrees',
    link: 'worktrees/exclude',
  },
  {
    name: 'the same, as the log of a branch',
    before: ['ln -sf ~/docs/kept .git/info/attributes', 'true'],
    script: 'git checkout -q -b attributes; rm -r .git/logs/refs/heads; mv .git/info .git/logs/refs/heads',
    link: 'logs/refs/heads/attributes',
  },
  {
    name: 'a link of before, moved',
    before: ['ln -s ~/docs x'],
    script: 'mkdir .git/worktrees; mv x .git/worktrees/x',
    link: 'worktrees/x',
  },
  {
    name: 'a link among loose objects, for a later command to move with its directory',
    script: 'mkdir -p .git/objects/ab/e; ln -s ~/docs .git/objects/ab/e/x',
    link: 'objects/ab/e/x',
  },
  {
    name: 'attributes that are a directory elsewhere, for the same',
    script: 'ln -sf ~/docs .git/info/attributes',
    link: 'info/attributes',
  },
  {
    name: 'a name that is not valid UTF-8',
    script: 'mkdir .git/worktrees; ln -s ~/docs ".git/worktrees/$(printf "x\\351")"',
    link: 'worktrees/x\ufffd',
  },
  {
    name: 'a directory that is closed',
    script: 'mkdir .git/worktrees; ln -s ~/docs .git/worktrees/x; chmod 0 .git/worktrees',
    link: 'worktrees/x',
  },
  {
    name: 'commit graphs to be replaced',
    script: 'ln -s ~/docs .git/objects/info/commit-graphs',
    link: 'objects/info/commit-graphs',
  },
  { name: 'packs', script: 'ln -s ~/docs/kept .git/objects/pack/x.pack', link: 'objects/pack/x.pack' },
  { name: 'a HEAD that leads elsewhere', script: 'ln -sf ~/docs/kept .git/HEAD', link: 'HEAD' },
  { name: 'a HEAD that leads up', script: 'ln -sf refs/heads/../../x .git/HEAD', link: 'HEAD' },
]

/** `h` is a directory in `.git` with a configuration that runs a program: what `commondir` would name. */
const OTHER_COMMON = `h=$(git rev-parse HEAD); mkdir .git/$h; cp -r .git/refs .git/objects .git/$h/
  printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = touch ~/docs/ran;false\n' > .git/$h/config`

const REFS: readonly Attack[] = [
  { name: 'at a name of git', script: 'echo "ref: commondir" > .git/ORIG_HEAD', link: 'ORIG_HEAD' },
  {
    name: 'longer than any that git writes',
    script: 'printf "ref: commondir%5000s" "" > .git/ORIG_HEAD',
    link: 'ORIG_HEAD',
  },
  {
    name: 'through another',
    script: 'echo "ref: refs/x/y" > .git/ORIG_HEAD; mkdir .git/refs/x; echo "ref: commondir" > .git/refs/x/y',
    link: 'refs/x/y',
  },
  {
    name: 'that leads up',
    script: 'echo "ref: refs/../commondir" > .git/ORIG_HEAD',
    link: 'ORIG_HEAD',
  },
  {
    name: 'of an earlier command, in a directory that is moved',
    before: ['mkdir .git/x; echo "ref: commondir" > .git/x/y; sleep 0.3'],
    script: 'mv .git/x .git/refs/x; echo "ref: refs/x/y" > .git/ORIG_HEAD',
    link: 'refs/x/y',
  },
]

interface Index {
  readonly name: string
  readonly before?: readonly string[]
  readonly script: string
  readonly index: string
}

const INDEXES: readonly Index[] = [
  { name: 'of the repository', script: 'cp bad .git/index', index: 'index' },
  {
    name: 'of a worktree',
    before: ['git worktree add -q wt'],
    script: 'cp bad .git/worktrees/wt/index',
    index: 'worktrees/wt/index',
  },
  {
    name: 'of a worktree, in a directory that is moved',
    before: ['git worktree add -q wt; cp -r .git/worktrees/wt .git/x; cp bad .git/x/index; sleep 0.3'],
    script: 'mv .git/x .git/worktrees/x',
    index: 'worktrees/x/index',
  },
]

/** What git does in a day, with conflicts. */
const WORK = `set -e
  git checkout -q -b b; echo b > b; git add b; git commit -q -m 'ref: a message'; echo c > a; git commit -q -a -m c
  git tag v1; GIT_SEQUENCE_EDITOR=true git rebase -q -i --root; echo d >> b; git stash -q; git stash pop -q; git commit -q -a -m d
  git checkout -q -b other v1; echo other > a; git commit -q -a -m other
  git checkout -q b; echo e > a; git commit -q -a -m e
  git merge -q other > out || true; echo m > a; git add a; git commit -q -m merged
  git cherry-pick v1~1 > out 2>&1 || git cherry-pick --abort || true
  git checkout -q other; git cherry-pick b~1 > out 2>&1 || true; echo p > a; git add a; git -c core.editor=true cherry-pick --continue > out
  git worktree add -q wt v1; (cd wt; echo w > w; git add w; git commit -q -m w)
  git add -N out; git update-index --index-version 4; git update-index --split-index; echo s > s; git add s; git commit -q -m s
  git update-index --no-split-index; git checkout -q v1; git checkout -q b
  git remote add x . 2> out || true; git fetch -q . b:refs/remotes/x/b; git symbolic-ref refs/remotes/x/HEAD refs/remotes/x/b
  (cd sub; echo t > t; git add t; git -c user.name=a -c user.email=a@b commit -q -m t)
  git gc -q; git commit -q --allow-empty -m left; echo left > left; git add left`

describe.each(PEOPLE)(
  'decision 0545: no link that a command makes in a git directory stays, as $name',
  (person) => {
    test.each(ATTACKS)('$name', ({ before = [], script, link }) => {
      const place = new Linked(person)
      for (const each of before) place.sh(each)
      const { code, stderr } = place.sh(script)
      expect(code).toBe(0)
      expect(stderr).toContain(
        `removed: ${join(place.root, '.git', link)} was made while the command ran, a link to `,
      )
      place.shell('chmod u+rwx .git/worktrees', [])
      place.hostGoesOn()
      expect(readFileSync(place.kept, 'utf8')).toBe('was\n')
    })

    test.each(REFS)('nor a symbolic ref to what is none, $name', ({ before = [], script, link }) => {
      const place = new Linked(person)
      for (const each of before) place.sh(each)
      const { code, stderr } = place.sh(`${OTHER_COMMON}\n${script}`)
      expect(code).toBe(0)
      expect(stderr).toContain(
        `removed: ${join(place.root, '.git', link)} was made while the command ran, a link to `,
      )
      place.shell('echo y >> a; git reset -q --hard; git status -s', [])
      expect(place.has('.git/commondir')).toBe(false)
      expect(existsSync(join(place.home, 'docs/ran'))).toBe(false)
    })

    test.each(INDEXES)('nor an index with paths that lead out, $name', ({ before = [], script, index }) => {
      const place = new Linked(person)
      const path = relative(place.root, place.kept)
      const placeholder = path.replaceAll('..', '++') // sorts before what is there, as the path does
      place.write(placeholder, 'evil\n')
      place.shell('cp .git/index saved; git add -- ++; cp .git/index made; mv saved .git/index', [])
      const bytes = readFileSync(join(place.root, 'made'))
      bytes.write(path, bytes.indexOf(placeholder))
      writeFileSync(join(place.root, 'bad'), bytes)
      for (const each of before) expect(place.sh(each)).toMatchObject({ code: 0 })
      const { code, stderr } = place.sh(script)
      expect(code).toBe(0)
      const told = join(place.root, '.git', index)
      expect(stderr).toContain(`${told} was made while the command ran`)
      expect(stderr).toContain(`it is now ${told}.denied-by-cordon-1`)
      place.shell('echo y >> a; git checkout -- .; cd wt && git checkout -- .', [])
      expect(readFileSync(place.kept, 'utf8')).toBe('was\n')
    })

    test('also after a kill, by the next command anywhere', async () => {
      const place = new Linked(person)
      const script = 'mkdir .git/worktrees; ln -s ~/docs .git/worktrees/x; sleep 60'
      const child = place.start(['--', 'sh', '-c', script])
      const link = join(place.root, '.git/worktrees/x')
      await until(() => lstatSync(link, { throwIfNoEntry: false }) !== undefined)
      child.kill('SIGKILL')
      await once(child, 'close')
      const other = place.mkdir(join(place.dir, 'other'))
      expect(place.run(['--', 'true'], { cwd: other }).stderr).toContain(
        `${link} was made while a command ran that was killed`,
      )
      expect(lstatSync(link, { throwIfNoEntry: false })).toBeUndefined()
    })

    test('what cannot be looked through is told, and the next command goes on from the first one', () => {
      const place = new Linked(person)
      const deep = `for i in $(seq 70); do mkdir d; cd d; done; ln -s ~/docs x`
      const told = `still there: ${join(place.root, '.git')} was not looked through to its end: directories in it are deeper than git makes them`
      expect(place.sh(`(cd .git; ${deep})`).stderr).toContain(told)
      expect(place.sh('true').stderr).toContain(told)
      place.sh(`mv .git/${'d/'.repeat(69)}d .git/worktrees`)
      expect(place.has('.git/worktrees/x')).toBe(true)
      place.sh('rm -rf .git/d')
      expect(place.has('.git/worktrees/x')).toBe(false)
      expect(place.sh('true').stderr).toBe('')
    })

    test('not by a shipped tool, either', () => {
      const place = new Linked(person)
      place.sh('ln -s ~/docs x')
      const args = JSON.stringify({ from: 'x', to: '.git/logs/x' })
      const moved = place.cordon(['tool', 'run', 'fs_move_file', '--args', args])
      expect(moved.stderr).toContain('.git/logs/x was made')
      expect(existsSync(join(place.root, '.git/logs/x'))).toBe(false)
    })

    test('what was there before stays, and what git does inside is as outside', () => {
      const place = new Linked(person)
      symlinkSync('/nowhere', join(place.root, '.git/mine'))
      place.shell('ln -sf /nowhere .git/info/exclude', [])
      place.shell('mkdir .git/annex .git/refs/mine; ln -s ~/docs .git/annex/x', [])
      place.shell('ln -s ../heads/main .git/refs/mine/m; sleep 0.3', [])
      place.shell('git init -q sub; git add sub; git config rerere.enabled true', [])
      const beside = place.sh('git update-ref refs/mine/n HEAD; touch .git/annex/new')
      for (const link of ['mine', 'annex/x', 'refs/mine/m', 'info/exclude'])
        expect(lstatSync(join(place.root, '.git', link)).isSymbolicLink()).toBe(true)
      const ended = place.sh(WORK)
      expect(ended).toMatchObject({ code: 0 })
      const linked = `  new: ${join(place.root, '.git/worktrees/wt/gitdir')} was made: commands in the worktree that it names have this repository\n`
      expect(ended.stderr).toContain(linked)
      expect(beside.stderr + ended.stderr.replace(linked, '')).not.toMatch(/removed: |was made|moved aside/)
      expect(place.sh('cd wt; git checkout -q -b gitdir; git commit -q --allow-empty -m x').stderr).toBe('')
    })

    test('decision 0661: nor a linked worktree where the command could write nothing', () => {
      const place = new Linked(person)
      const other = place.mkdir(join(place.home, 'other'))
      place.mkdir(join(place.root, '.git/x'))
      let planted = 0
      const plant = (path: string, dir = `.git/worktrees/e${++planted}`): readonly [string, string] => [
        `${dir}/gitdir`,
        place.sh(`mkdir -p ${dir}; echo ${path} > ${dir}/gitdir`).stderr,
      ]
      const claim = join(place.root, '.git/worktrees/e')
      for (const [file, stderr] of [
        plant(`${other}/.git`),
        plant(join(relative(claim, other), '.git')),
        plant(`${other}/.git`, '.git/x'), // the next command could move it there
      ]) {
        expect(stderr).toContain(
          `moved aside: ${join(place.root, file)} was made while the command ran, although a rule denies it; it is now`,
        )
        expect(place.has(file)).toBe(false)
      }
      const [file, stderr] = plant(`${place.root}/in/.git`)
      expect(stderr).toContain(
        `new: ${join(place.root, file)} was made: commands in the worktree that it names have this repository`,
      )
      // The person's own stays, whatever is made beside it.
      place.shell('git worktree add -q ~/mine -b mine; sleep 0.3', [])
      expect(place.sh('touch .git/worktrees/mine/x; git branch -m mine yours').stderr).not.toContain('made')
      expect(place.has('.git/worktrees/mine/gitdir')).toBe(true)
      const add = ['--write', other, '--', 'git', 'worktree', 'add', '-q', other, '-b', 'other']
      expect(place.run(add).stderr).toContain('new: ')
      expect(place.git('status', other)).toContain('On branch other')
    })

    test('HEAD may be a link to a branch, as git makes it where it is told to', () => {
      const place = new Linked(person)
      place.git('config core.preferSymlinkRefs true')
      const { code, stderr } = place.sh('git checkout -q -b feature')
      expect(code).toBe(0)
      expect(stderr).not.toContain('removed: ')
      expect(readlinkSync(join(place.root, '.git/HEAD'))).toBe('refs/heads/feature')
      expect(place.git('symbolic-ref HEAD')).toBe('refs/heads/feature\n')
    })
  },
)

test('decision 0545: what names files that the next commit copies into the repository does not stay', () => {
  const place = new Linked(PEOPLE[0]!)
  const id = '0123456789'.repeat(4)
  const create = (path: string, content: string): void =>
    void place.cordon(['tool', 'run', 'fs_create_file', '--args', JSON.stringify({ path, content })])
  create(`.git/rr-cache/${id}/preimage`, 'x')
  create('.git/MERGE_RR', `${id}\t${place.kept}\0`)
  expect(place.has('.git/MERGE_RR')).toBe(false)
  place.shell('echo b >> a; git add a; git commit -q -m next', [])
  expect(place.has(`.git/rr-cache/${id}/postimage`)).toBe(false)
})

test('SPEC 4.10 repositories that git takes objects from are told where they are new, and held where they are not', () => {
  const place = new Linked(PEOPLE[0]!)
  const file = '.git/objects/info/alternates'
  expect(place.sh(`mkdir -p .git/objects/info; echo /x > ${file}`).stderr).toContain(
    `${place.root}/${file} was made, which the host obeys or runs by itself later`,
  )
  expect(place.sh(`echo /y > ${file}`).code).not.toBe(0)
  expect(place.read(file)).toBe('/x\n')
})

test('SPEC 4.10 what waits to be continued is told: its options may name a program', () => {
  const place = new Linked(PEOPLE[0]!)
  const told = place.sh('mkdir .git/sequencer; echo "[options]" > .git/sequencer/opts').stderr
  expect(told).toContain(
    `${place.root}/.git/sequencer was made, which the host obeys or runs by itself later`,
  )
})
