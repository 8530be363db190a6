import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'
import { processesWith, until } from './harness/waiting.ts'

/** Each makes some program load or run what it names. */
const LOADING = {
  LD_PRELOAD: '/evil.so',
  LD_LIBRARY_PATH: '/evil',
  LD_AUDIT: '/evil.so',
  GCONV_PATH: '/evil',
  NODE_OPTIONS: '--no-warnings',
  NODE_PATH: '/evil',
  BASH_ENV: '/evil',
  PYTHONPATH: '/evil',
  PYTHONSTARTUP: '/evil',
  PERL5OPT: '-Mevil',
  PERL5LIB: '/evil',
  RUBYOPT: '-revil',
  GIT_SSH_COMMAND: 'evil',
  GIT_EXTERNAL_DIFF: 'evil',
  JAVA_TOOL_OPTIONS: '-javaagent:evil',
}

describe.each(PEOPLE)('SPEC 4.6 the environment, as $name', (person) => {
  const namesOf = (place: Place, flags: readonly string[], env: Record<string, string>): string[] =>
    place
      .run([...flags, '--', '/usr/bin/env', '-0'], { env })
      .stdout.split('\0')
      .map((line) => line.split('=')[0]!)
      .filter((name) => name !== '')
      .toSorted()

  test('no prefix brings in what makes programs load code, whatever it is; the exact name does', () => {
    const place = new Place(person)
    const prefixes = [
      '*',
      'LD_*',
      'LD_PRELOA*',
      'NODE_*',
      'BASH_*',
      'PYTHON*',
      'PERL*',
      'RUBY*',
      'GIT_*',
      'JAVA_*',
      'G*',
    ]
    const flags = prefixes.flatMap((prefix) => ['--env', prefix])
    const got = namesOf(place, flags, { ...LOADING, GIT_AUTHOR_NAME: 'a', NODE_ENV: 'test' })
    expect(got.filter((name) => name in LOADING)).toEqual([])
    expect(got).toEqual(expect.arrayContaining(['GIT_AUTHOR_NAME', 'NODE_ENV', 'HOME', 'PATH']))
    for (const name of ['PERL5LIB', 'GIT_SSH_COMMAND'])
      expect(namesOf(place, [...flags, '--env', name], LOADING).filter((each) => each in LOADING)).toEqual([
        name,
      ])
  })

  test('a rule that says no takes away even a minimal variable, and one that a prefix grants', () => {
    const place = new Place(person)
    place.config(
      '[profiles.p.access]\nenv = [{ name = "TOKEN_*", read = true }, { name = "TOKEN_B", read = false }, { name = "LANG", read = false }]\n',
    )
    const env = { LANG: 'C', TOKEN_A: 'a', TOKEN_B: 'b', OTHER: 'o' }
    const got = namesOf(place, ['--profile', 'p'], env)
    expect(['LANG', 'TOKEN_A', 'TOKEN_B', 'OTHER'].filter((name) => got.includes(name))).toEqual(['TOKEN_A'])
  })

  test('a variable that the program missed is named, with how to grant it', () => {
    const script = 'echo "${TOKEN_A?not set}"'
    expect(new Place(person).run(['--', 'sh', '-c', script], { env: { TOKEN_A: 'x' } })).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        'sh: 1: TOKEN_A: not set\n' +
        'cordon: the command ended with 2\n' +
        '  hint: the variable TOKEN_A is set on the host, and not granted\n' +
        '    to allow it: --env TOKEN_A\n',
    })
  })
})

describe.each(PEOPLE)('the end of a program, run by $name', (person) => {
  test('a real-time signal, which Node has no name for, is passed on by its number', () => {
    const status = new Place(person).shell('"$@"; echo $?', ['run', '-q', '--', 'sh', '-c', 'kill -35 $$'])
    expect(status.stdout).toBe('163\n')
  })

  test('a fork bomb of sessions is held by the limit, and none of it is left', async () => {
    const place = new Place(person)
    place.config('[sandbox.limits]\nprocesses = 64\n')
    const mark = `bomb-${process.pid}-${person.uid ?? 'self'}`
    // Root is bound by the namespace's highest pid alone, and the first 300 pids come on top (docs/sandbox.md).
    const most = 64 + 2 + (person.uid === undefined && process.getuid?.() === 0 ? 300 : 0)
    const script = `
import os, time
def bomb():
    while True:
        try:
            if os.fork() == 0: os.setsid()
        except OSError: time.sleep(0.02)
if os.fork() == 0: bomb()
time.sleep(0.5)
print(len([p for p in os.listdir('/proc') if p.isdigit()]) <= ${most})
`
    const ended = place.run(['-q', '--', 'python3', '-c', script, mark], { env: { PATH: '/usr/bin:/bin' } })
    expect(ended).toMatchObject({ code: 0, stdout: 'True\n' })
    await until(() => processesWith(mark).length === 0)
  })
})
