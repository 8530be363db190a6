import { describe, expect, test } from 'vitest'
import { type Ended, PEOPLE, type Person } from '../harness/place.ts'
import { Repository } from '../harness/repository.ts'
import { until } from '../harness/waiting.ts'

/**
 * Decision 0641: what one run makes is not "there before" for another that begins meanwhile. The first makes it, the second begins,
 * the first takes it away or has it moved aside, and the second makes it again.
 */
interface Attack {
  readonly name: string
  /** As the person, in the workspace, which is a repository with one commit. */
  readonly before?: string
  readonly flags?: readonly string[]
  readonly make: string
  /** Absent: the first run's end takes it away. */
  readonly takeAway?: string
  /** After the second one's end. */
  readonly told?: string
  readonly movedAside?: string
}

const RWX = 'read = true, write = true, execute = true'
const DENYING = `[profiles.p.access]\nfs = [{ path = ".", ${RWX} }, { path = ".env" }, { path = ".claude/settings.json" }]\n`
const MAKE_SUB =
  'git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m s; git -C sub config core.fsmonitor evil'
const BARE =
  'mkdir -p refs objects; printf "[core]\\nfsmonitor=evil\\n" > config; echo ref: refs/heads/x > HEAD'

const ATTACKS: readonly Attack[] = [
  {
    name: 'what is told: .vscode',
    make: 'mkdir .vscode; echo "{}" > .vscode/tasks.json',
    takeAway: 'rm -r .vscode',
    told: '.vscode',
  },
  {
    name: 'what is told behind a link',
    make: 'mkdir -p c; echo evil > c/settings.json; ln -s c .claude',
    takeAway: 'rm .claude',
    told: '.claude',
  },
  {
    name: 'a repository where there was none',
    before: 'rm -rf .git',
    make: 'git init -q; git config core.fsmonitor evil',
    takeAway: 'rm -rf .git',
    told: '.git',
  },
  {
    name: 'hooks that were missing',
    before: 'rm -r .git/hooks',
    make: 'mkdir .git/hooks; echo evil > .git/hooks/pre-commit',
    takeAway: 'rm -r .git/hooks',
    movedAside: '.git/hooks',
  },
  {
    name: 'a commondir, which the end of the first run moves aside',
    make: 'echo x > .git/commondir',
    movedAside: '.git/commondir',
  },
  {
    name: 'what a rule denies',
    flags: ['--profile', 'p'],
    make: 'echo evil > .env',
    takeAway: 'rm .env',
    movedAside: '.env',
  },
  {
    name: 'what a rule denies, which the end of the first run moves aside',
    flags: ['--profile', 'p'],
    make: 'echo evil > .env',
    movedAside: '.env',
  },
  {
    name: 'what a rule denies behind a link',
    flags: ['--profile', 'p'],
    make: 'mkdir -p c; echo evil > c/settings.json; ln -s c .claude',
    takeAway: 'rm .claude',
    movedAside: '.claude',
  },
  {
    name: 'the first part of a bare repository',
    make: 'echo ref: refs/heads/x > HEAD',
    takeAway: 'rm HEAD',
    movedAside: 'HEAD',
  },
  {
    name: 'a whole bare repository',
    make: BARE,
    takeAway: 'rm -r HEAD refs objects config',
    movedAside: 'HEAD',
  },
  {
    name: 'what an index calls a submodule',
    make: `[ -e sub ] || { ${MAKE_SUB}; }; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub`,
    takeAway: 'git update-index --force-remove sub',
    told: 'sub/.git',
  },
]

/** The second begins while what the first has made is there (`made`), and is told of the first one's end (`ended`). */
async function both(
  place: Repository,
  first: string,
  second: string,
  flags: readonly string[] = [],
): Promise<Ended> {
  const run = (script: string): Promise<Ended> => place.runMeanwhile([...flags, '--', 'sh', '-c', script])
  const one = run(first)
  await until(() => place.has('made'))
  const two = run(second)
  await one
  place.write('ended', '')
  return two
}

const wait = (what: string): string => `until ${what}; do sleep 0.02; done`

function repository(person: Person): Repository {
  const place = new Repository(person)
  place.config(DENYING)
  return place
}

describe.each(PEOPLE)('SPEC 4.10 what another run made is new, as $name', (person) => {
  test.each(ATTACKS)('$name', async ({ before, flags, make, takeAway, told, movedAside }) => {
    const place = repository(person)
    if (before !== undefined) place.shell(before, [])
    const first = `${make}; touch made; ${wait('[ -e begun ]')}; ${takeAway ?? ':'}`
    const { code, stderr } = await both(place, first, `touch begun; ${wait('[ -e ended ]')}; ${make}`, flags)
    const about = `${place.real}/${told ?? movedAside}`
    const isSaid = (line: string): boolean =>
      line.includes(' was made') || (line.includes(' was changed') && line.includes(about))
    expect({ code, lines: stderr.split('\n').filter(isSaid) }).toEqual({
      code: 0,
      lines: [
        told === undefined
          ? expect.stringMatching(
              `^  moved aside: ${place.real}/${movedAside} was made while the command ran, although a rule denies it; it is now ${place.real}/${movedAside}.denied-by-cordon-\\d: `,
            )
          : expect.stringContaining(
              `${place.real}/${told} was made, which the host obeys or runs by itself later`,
            ),
      ],
    })
    if (movedAside !== undefined) expect(place.has(movedAside)).toBe(false)
  })

  test('also by way of a third run, which began before the first had ended', async () => {
    const place = repository(person)
    const name = 'git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub'
    const make = `mkdir .vscode; ${name}; touch`
    const takeAway = 'git update-index --force-remove sub; rm -r .vscode'
    const start = (script: string): Promise<Ended> => place.runMeanwhile(['--', 'sh', '-c', script])
    const one = start(`${MAKE_SUB}; ${make} a-made; ${wait('[ -e b-begun ]')}; ${takeAway}`)
    await until(() => place.has('a-made'))
    const two = start(
      `touch b-begun; ${wait('[ -e a-ended ]')}; ${make} b-made; ${wait('[ -e c-begun ]')}; ${takeAway}`,
    )
    await one
    place.write('a-ended', '')
    await until(() => place.has('b-made'))
    const three = start(`touch c-begun; ${wait('[ -e b-ended ]')}; ${make} c-made`)
    await two
    place.write('b-ended', '')
    const { code, stderr } = await three
    expect({ code, told: stderr.split('\n').filter((line) => line.includes(' was made')) }).toEqual({
      code: 0,
      told: ['.vscode', 'sub/.git'].map((path) => expect.stringContaining(`${place.real}/${path} was made`)),
    })
  })

  test('two runs that make nothing guarded say nothing', async () => {
    const place = repository(person)
    place.shell(`${MAKE_SUB}; git add sub 2> /dev/null; mkdir .vscode; touch .envrc`, [])
    const first = `echo 1 > one; git add one; touch made; ${wait('[ -e begun ]')}; git commit -q -m one`
    const { code, stderr } = await both(place, first, 'touch begun; sleep 0.3; echo 2 > two; git add two')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  })

  test('what the person had before is not told, nor what stays as the other run made it', async () => {
    const place = repository(person)
    place.shell('mkdir .vscode; echo was > .env', [])
    const first = `mkdir .husky; touch made; ${wait('[ -e done ]')}`
    const { code, stderr } = await both(place, first, 'echo 2 > two; touch done', ['--profile', 'p'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect([place.read('.env'), place.has('.vscode'), place.has('.husky')]).toEqual(['was\n', true, true])
  })

  test('what a rule denies the other run alone is made as before', async () => {
    const place = repository(person)
    const one = place.runMeanwhile([
      '--profile',
      'p',
      '--',
      'sh',
      '-c',
      `echo 1 > .env; touch made; ${wait('[ -e begun ]')}; rm .env; ${wait('[ -e end ]')}`,
    ])
    await until(() => place.has('made'))
    const two = place.run(['--', 'sh', '-c', `touch begun; ${wait('[ ! -e .env ]')}; echo 2 > .env`])
    expect(two).toMatchObject({ code: 0, stderr: '' })
    expect(place.read('.env')).toBe('2\n')
    place.write('end', '')
    await one
  })
})
