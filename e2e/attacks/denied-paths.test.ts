import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { WITHOUT_NAMESPACES } from '../harness/kernels.ts'
import { PEOPLE, type Person, Place } from '../harness/place.ts'
import { until } from '../harness/waiting.ts'

const RWX = 'read = true, write = true, execute = true'

/** Everything may be written but one path that is not there. */
class Denying extends Place {
  constructor(person: Person, denied: string) {
    super(person)
    this.config(`[profiles.p.access]\nfs = [{ path = ".", ${RWX} }, { path = "${denied}" }]\n`)
  }

  sh(script: string): ReturnType<Place['run']> {
    return this.run(['--profile', 'p', '--', 'sh', '-c', script])
  }

  get real(): string {
    return realpathSync(this.root)
  }

  get names(): readonly string[] {
    return readdirSync(this.root).filter((name) => name !== '.cordon')
  }
}

describe.each(PEOPLE)('SPEC 4.3, 4.10 a denied path that does not exist, as $name', (person) => {
  test('made through a link, it is found, and the link is moved aside', () => {
    const place = new Denying(person, '.claude/settings.json')
    const { stderr, code } = place.sh('mkdir c; echo evil > c/settings.json; ln -s c .claude')
    expect({ stderr, code }).toEqual({
      code: 0,
      stderr:
        'cordon: the command ended with 0\n' +
        `  moved aside: ${place.real}/.claude was made while the command ran, although a rule denies it; it is now ${place.real}/.claude.denied-by-cordon-1: look at it, then it may be removed\n`,
    })
    expect(place.names).toEqual(['.claude.denied-by-cordon-1', 'c'])
  })

  test('links over links, out of the workspace, and renamed into place: none of them stays', () => {
    const place = new Denying(person, 'a/b/secret')
    const outside = place.write(join(place.home, 'o/b/secret'), 'x')
    const ways = [
      'mkdir -p r/b; touch r/b/secret; ln -s r q; ln -s q a',
      `ln -s ${join(place.home, 'o')} a`,
      'mkdir -p x/b; touch x/b/secret; mv x a',
      'mkdir a c; touch c/secret; ln -s ../c a/b',
      'mkdir -p a/b; ln -s nowhere a/b/secret',
      'mkdir -p a/b; touch f; ln f a/b/secret',
    ]
    for (const way of ways) {
      expect(place.sh(way).stderr).toContain('moved aside: ')
      expect(existsSync(join(place.root, 'a/b/secret'))).toBe(false)
      expect(place.run(['--quiet', '--', 'sh', '-c', 'rm -rf a* c q r x f']).code).toBe(0)
    }
    expect(existsSync(outside)).toBe(true)
  })

  test('a link through which it cannot be reached stays', () => {
    const place = new Denying(person, '.claude/settings.json')
    expect(place.sh('mkdir c; ln -s c .claude')).toMatchObject({ code: 0, stderr: '' })
    expect(place.names).toEqual(['.claude', 'c'])
  })

  test('after kill -9 the next command finishes the job, and not before the run has ended', async () => {
    const place = new Denying(person, '.env')
    const child = place.start(['--profile', 'p', '--', 'sh', '-c', 'echo evil > .env; touch ready; sleep 60'])
    await until(() => existsSync(join(place.root, 'ready')))
    // Another command meanwhile: the run is not over, and its job is its own.
    expect(place.run(['--', 'true'])).toMatchObject({ code: 0, stderr: '' })
    expect(existsSync(join(place.root, '.env'))).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(existsSync(join(place.root, '.env'))).toBe(true)
    const next = place.cordon(['policy', 'explain', 'fs_read_file'])
    expect(next.stderr).toBe(
      `warning: ${place.real}/.env was made while a command ran that was killed or could not move it, although a rule denies it; it is now ${place.real}/.env.denied-by-cordon-1: look at it, then it may be removed\n`,
    )
    expect(place.names).toEqual(['.env.denied-by-cordon-1', 'ready'])
    expect(place.cordon(['policy', 'explain', 'fs_read_file']).stderr).toBe('')
  })

  test('two runs that watch the same path lose nothing of what either moved', async () => {
    const place = new Denying(person, '.env')
    const runs = ['one', 'two', 'three', 'four'].map((name) =>
      place.start([
        '--profile',
        'p',
        '--',
        'sh',
        '-c',
        `touch ${name}; until [ -e go ]; do sleep 0.01; done; echo ${name} > .env.new.${name}; mv .env.new.${name} .env`,
      ]),
    )
    await until(() => ['one', 'two', 'three', 'four'].every((name) => existsSync(join(place.root, name))))
    const ended = runs.map((run) => once(run, 'close'))
    place.write('go', '')
    await Promise.all(ended)
    expect(existsSync(join(place.root, '.env'))).toBe(false)
    const kept = place.names
      .filter((name) => name.startsWith('.env'))
      .map((name) => readFileSync(join(place.root, name), 'utf8'))
    expect(kept.length).toBeGreaterThan(0)
    expect(kept.filter((text) => text === '')).toEqual([])
    expect(new Set(kept).size).toBe(kept.length)
  })
})

test.each(PEOPLE)('SPEC 4.3 without namespaces as well, under warn, as $name', (person) => {
  const place = new Denying(person, '.claude/settings.json')
  const script = 'mkdir c; echo evil > c/settings.json; ln -s c .claude'
  const args = ['run', '--cfg', 'sandbox.mode=warn', '--profile', 'p', '--', 'sh', '-c', script]
  expect(place.shell(WITHOUT_NAMESPACES, args).stderr).toContain(
    `  moved aside: ${place.real}/.claude was made`,
  )
  expect(place.names).toEqual(['.claude.denied-by-cordon-1', 'c'])
})
