import { describe, expect, test } from 'vitest'
import { KERNELS, WITHOUT_NAMESPACES } from '../harness/kernels.ts'
import { PEOPLE, Place } from '../harness/place.ts'

const FOREVER = '/usr/bin/python3 -c "while True: pass"'
const LIMIT = '  limit: a process used 1 s of processor time (sandbox.limits.cpu_secs = 1)\n'

describe.each(PEOPLE)('SPEC 4.3 a limit of processor time, as $name', (person) => {
  const place = new Place(person)
  place.config('[sandbox.limits]\ncpu_secs = 1\n')
  const warnings = (text: string): string => text.replaceAll(/^(?:warning:| {2}(?:why|fix):).*\n/gm, '')

  test.each(KERNELS)('ends a process that uses more, and is named: $kernel', ({ script }) => {
    const ended = place.shell(script, ['run', '--', '/usr/bin/python3', '-c', 'while True: pass'])
    expect([ended.code, ended.signal]).toEqual([null, 'SIGXCPU'])
    expect(warnings(ended.stderr)).toBe(
      `cordon: the command was ended by SIGXCPU\n${LIMIT}    to allow it: --cfg sandbox.limits.cpu_secs=2\n`,
    )
  })

  test('is seen behind a shell, and does not end what is beside it', () => {
    const ended = place.run(['--', 'sh', '-c', `${FOREVER}; code=$?; echo beside; exit $code`])
    expect([ended.code, ended.stdout]).toEqual([152, 'beside\n'])
    expect(ended.stderr).toContain(LIMIT.replace('used', 'probably used'))
  })

  test('is not ignored for long, and cannot be raised', () => {
    const attack = `
import resource, signal, time
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
try: resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
except (OSError, ValueError): print('not raised', flush=True)
while True: pass
`
    const ended = place.run(['--', '/usr/bin/python3', '-c', attack])
    expect([ended.signal, ended.stdout]).toEqual(['SIGKILL', 'not raised\n'])
  })

  test('a command that sends itself that signal without a limit is not taken for it', () => {
    const other = new Place(person)
    const ended = other.run(['--', 'sh', '-c', 'kill -XCPU $$'])
    expect([ended.signal, ended.stderr]).toEqual(['SIGXCPU', ''])
  })
})

describe.each(PEOPLE)('SPEC 4.11 what is not held is said before the command starts, to $name', (person) => {
  const COMMANDS =
    'warning: not held here: the rules for commands (git, rm): any program may be started in any way\n' +
    '  why: the kernel sees the files a program opens, not the command line it was started by\n' +
    '  fix: withhold execute of the files, or hosts and paths that the command needs\n'

  test('rules for commands, also with --quiet', () => {
    const place = new Place(person)
    place.config('[profiles.p.access]\ncommands = { git = {}, rm = {} }\n')
    for (const quiet of [[], ['--quiet']])
      expect(place.run([...quiet, '--profile', 'p', '--', 'sh', '-c', 'echo said >&2'])).toMatchObject({
        code: 0,
        stderr: `${COMMANDS}said\n`,
      })
    expect(place.cordon(['run', '--help']).stdout.replaceAll(/\s+/g, ' ')).toContain(
      '--quiet say only what is not held, what files wanted, and what the command says',
    )
  })

  test('rules for commands of a tool that is not ours, which may check them itself', () => {
    const place = new Place(person)
    const tool = '[conversation.tools.t]\nsource = "local"\ncommand = ["sh", "-c", "echo did"]\n'
    place.config(`${tool}access.commands = { git = {}, rm = {} }\n`)
    expect(place.cordon(['tool', 'run', 't'])).toMatchObject({
      code: 0,
      stdout: 'did\n',
      stderr: COMMANDS.replace('in any way', 'in any way, unless the tool checks them itself'),
    })
  })

  test('a limit of memory that holds for each process only, where no cgroup is ours', () => {
    const place = new Place(person)
    place.config('[sandbox.limits]\nmemory_mb = 512\n')
    const { stderr } = place.run(['--quiet', '--', 'sh', '-c', 'echo said >&2'])
    expect(stderr).toBeOneOf([
      'said\n', // this machine has one
      'warning: not held here: the limit of memory holds for each process alone, not for all of them together\n' +
        '  why: no cgroup with the memory controller is delegated to this user\n' +
        '  fix: start it in a session of systemd that has one (`systemd-run --user --scope`), on a machine with cgroup v2\n' +
        'said\n',
    ])
  })

  test('a rule that warn runs without, as declared; what nobody declared only without --quiet', () => {
    const place = new Place(person)
    place.write('.env', 'x')
    const mode = `CORDON_CFG_SANDBOX_MODE=warn; export CORDON_CFG_SANDBOX_MODE; ${WITHOUT_NAMESPACES}`
    place.config('[profiles.p.access]\nfs = [{ path = ".", read = true }, { path = ".env" }]\n')
    const { stderr, stdout } = place.shell(mode, ['run', '--quiet', '--profile', 'p', '--', 'cat', '.env'])
    expect([stdout, stderr.split('\n')[0]]).toEqual([
      'x',
      'warning: not held here: a rule cannot take back what a wider rule grants',
    ])
  })
})
