import { once } from 'node:events'
import { existsSync, lchownSync, lstatSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, type Person, Place } from '../harness/place.ts'
import { until } from '../harness/waiting.ts'

const RW = 'read = true, write = true'

/** A person whose profile has a directory in the home, and less of some of what lies in it. */
class Narrowing extends Place {
  readonly tool = this.mkdir(join(this.home, 'tool'))

  constructor(person: Person, ...narrower: readonly string[]) {
    super(person)
    const places = [`{ path = "~/tool", ${RW} }`, ...narrower]
    this.write(
      join(this.home, '.config/cordon/config.toml'),
      `[profiles.p]\noutside = [${places.join(', ')}]\n`,
    )
  }

  sh(script: string): ReturnType<Place['run']> {
    return this.run(['--profile', 'p', '--', 'sh', '-c', `cd ~/tool; ${script}`])
  }
}

describe.each(PEOPLE)('decision 0450 a place in a wider one that is granted, as $name', (person) => {
  test('that is missing is told of and moved aside when it was made', () => {
    const place = new Narrowing(person, '{ path = "~/tool/run.conf", read = true }')
    expect(place.sh('echo evil > run.conf')).toMatchObject({
      code: 0,
      stderr:
        'cordon: the command ended with 0\n' +
        `  moved aside: ${place.tool}/run.conf was made while the command ran, although a rule denies it; it is now ${place.tool}/run.conf.denied-by-cordon-1: look at it, then it may be removed\n`,
    })
    expect(readdirSync(place.tool)).toEqual(['run.conf.denied-by-cordon-1'])
    expect(place.sh('echo fine > other; cat other')).toMatchObject({ code: 0, stdout: 'fine\n', stderr: '' })
  })

  test('may lie in directories that are missing as well, and no link is a way to it', () => {
    const place = new Narrowing(person, '{ path = "~/tool/a/run.conf", read = true }')
    for (const way of ['mkdir a; touch a/run.conf', 'mkdir b; touch b/run.conf; ln -s b a']) {
      expect(place.sh(way).stderr).toContain('moved aside: ')
      expect(existsSync(join(place.tool, 'a/run.conf'))).toBe(false)
      expect(place.sh('rm -rf a* b').code).toBe(0)
    }
  })

  test('is looked for by the next command, when Cordon was killed', async () => {
    const place = new Narrowing(person, '{ path = "~/tool/run.conf", read = true }')
    const script = 'cd ~/tool; echo evil > run.conf; touch ready; sleep 60'
    const child = place.start(['--profile', 'p', '--', 'sh', '-c', script])
    await until(() => existsSync(join(place.tool, 'ready')))
    child.kill('SIGKILL')
    await once(child, 'close')
    expect(place.run(['--', 'true']).stderr).toContain(
      `it is now ${place.tool}/run.conf.denied-by-cordon-1: look at it, then it may be removed`,
    )
    expect(existsSync(join(place.tool, 'run.conf'))).toBe(false)
  })

  test('that is a link stays that link, and what it leads to is not written', () => {
    const place = new Narrowing(person, '{ path = "~/tool/run.conf", read = true }')
    const kept = place.write(join(place.home, 'dotfiles/run.conf'), 'was')
    symlinkSync(kept, join(place.tool, 'run.conf'))
    lchownSync(join(place.tool, 'run.conf'), person.uid ?? process.getuid!(), person.gid ?? process.getgid!())
    place.terminal(['--profile', 'p', '--', 'true'], [['[y/N]', 'y\r']]) // decision 0540
    const ended = place.sh(
      'rm -f run.conf; echo evil > run.conf; touch new; mv new run.conf; mv -T . ../x; cat run.conf',
    )
    expect(ended.stdout).toBe('was')
    expect(lstatSync(join(place.tool, 'run.conf')).isSymbolicLink()).toBe(true)
    expect(readFileSync(kept, 'utf8')).toBe('was')
  })

  test('that is a link to nothing stays that link', () => {
    const place = new Narrowing(person, '{ path = "~/tool/run.conf", read = true }')
    symlinkSync('later', join(place.tool, 'run.conf'))
    expect(place.sh('echo evil > run.conf').stderr).toContain('moved aside: ')
    expect(readdirSync(place.tool).toSorted()).toEqual(['later.denied-by-cordon-1', 'run.conf'])
    expect(place.sh('rm run.conf').code).not.toBe(0)
    expect(lstatSync(join(place.tool, 'run.conf')).isSymbolicLink()).toBe(true)
  })

  test('and that has nothing is hidden', () => {
    const place = new Narrowing(person, '{ path = "~/tool/key" }')
    const key = place.write(join(place.tool, 'key'), 'secret')
    expect(place.sh('cat key; rm -f key; echo x > key; true').stdout).toBe('')
    expect(readFileSync(key, 'utf8')).toBe('secret')
  })

  test('and that a person refused, because secrets live there, is not had by the wider one', () => {
    const place = new Narrowing(person, '{ path = "~/tool/.env", read = true }')
    place.write(join(place.tool, '.env'), 'canary')
    const { screen } = place.terminal(
      ['--profile', 'p', '--', 'sh', '-c', 'cat ~/tool/.env; echo x > ~/tool/.env'],
      [['[y/N]', 'n\r']],
    )
    expect(screen).not.toContain('canary')
    expect(readFileSync(join(place.tool, '.env'), 'utf8')).toBe('canary')
  })

  describe('that a command makes a link', () => {
    /** To what no rule says a word about, while the command that made it is there. */
    async function linked(
      place: Narrowing,
    ): Promise<{ readonly other: string; readonly end: () => Promise<void> }> {
      place.write(join(place.home, 'papers/run.conf'), 'canary')
      const other = place.mkdir(join(place.dir, 'other'))
      place.mkdir(join(other, '.cordon'))
      const script = 'cd ~/tool; ln -s ../papers/run.conf run.conf; touch ready; sleep 60'
      const child = place.start(['--profile', 'p', '--', 'sh', '-c', script])
      await until(() => existsSync(join(place.tool, 'ready')))
      const end = async (): Promise<void> => {
        child.kill('SIGKILL')
        await once(child, 'close')
      }
      return { other, end }
    }

    const refused = (place: Narrowing, origin: string): string =>
      `cordon: ${origin}: ${place.tool}/run.conf is a link that was made while another command runs, which may not make it\n` +
      '  fix: end that command; what it made there is then moved aside\n'

    test('is followed by no Cordon in another workspace', async () => {
      const place = new Narrowing(person, '{ path = "~/tool/run.conf", read = true }')
      const { other, end } = await linked(place)
      const read = ['--', 'cat', join(place.tool, 'run.conf')]
      const origin = '~/.config/cordon/config.toml:2:60 ~/tool/run.conf'
      for (const [args, from] of [
        [['--profile', 'p', ...read], origin],
        [['--read', '~/tool/run.conf', ...read], '--read ~/tool/run.conf'],
      ] as const)
        expect(place.run(args, { cwd: other })).toMatchObject({
          code: 125,
          stdout: '',
          stderr: refused(place, from),
        })
      await end()
    })

    test('does not stay, whichever workspace the next command is in', async () => {
      const place = new Narrowing(person, '{ path = "~/tool/run.conf", read = true }')
      const { other, end } = await linked(place)
      await end()
      const next = place.run(['--profile', 'p', '--', 'cat', join(place.tool, 'run.conf')], { cwd: other })
      expect(next.stdout).toBe('')
      expect(next.stderr).toContain(
        `it is now ${place.tool}/run.conf.denied-by-cordon-1: look at it, then it may be removed`,
      )
      expect(existsSync(join(place.tool, 'run.conf'))).toBe(false)
    })
  })

  test('and that is copied in is not written back to where a command made its name lead', () => {
    const place = new Narrowing(person, `{ path = "~/tool/run.conf", ${RW}, replace = true }`)
    const kept = place.write(join(place.home, 'papers/run.conf'), 'canary')
    place.sh('rm -f run.conf; ln -s ../papers/run.conf run.conf')
    place.sh('echo evil > run.conf')
    expect(readFileSync(kept, 'utf8')).toBe('canary')
  })
})
