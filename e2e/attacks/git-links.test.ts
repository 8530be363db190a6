import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
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
  /** The link that is told. */
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
    name: 'a link of before, moved',
    before: ['ln -s ~/docs x'],
    script: 'mkdir .git/worktrees; mv x .git/worktrees/x',
    link: 'worktrees/x',
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
]

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
      const ended = place.sh(
        'git checkout -q -b b; echo b > b; git add b; git commit -q -m b; git worktree add -q wt; git gc -q',
      )
      expect(ended).toMatchObject({ code: 0 })
      expect(ended.stderr).not.toContain('removed: ')
      expect(lstatSync(join(place.root, '.git/mine')).isSymbolicLink()).toBe(true)
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

test('SPEC 4.10 what waits to be continued is told: its options may name a program', () => {
  const place = new Linked(PEOPLE[0]!)
  const told = place.sh('mkdir .git/sequencer; echo "[options]" > .git/sequencer/opts').stderr
  expect(told).toContain(
    `${place.root}/.git/sequencer was made, which the host obeys or runs by itself later`,
  )
})
