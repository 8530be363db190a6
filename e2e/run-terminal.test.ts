import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PEOPLE, Place } from './harness/place.ts'

/** Issue 4: interactive programs work. A real pseudo-terminal, and keys that are really typed. */
/** SPEC 4.7: stderr is the program's own, so all that is known is that it failed. */
const SEE_MORE = (how: string, command: string): string =>
  `cordon: the command ${how}; if the sandbox may be why, see more with: cordon run --why -- ${command}\n`

describe.each(PEOPLE)('at a terminal as $name', (person) => {
  const place = new Place(person)

  test('all three streams are the terminal, with its size, also after it changed', () => {
    const script =
      'test -t 0 && test -t 1 && test -t 2 && echo three; trap "stty size; exit 0" WINCH; stty size; echo ready; ' +
      'while :; do sleep 0.1; done'
    const { screen, code, missed } = place.terminal(
      ['--', 'sh', '-c', `stty rows 30 cols 90; ${script}`],
      [['ready', [40, 100]]],
    )
    expect({ screen, code, missed }).toEqual({
      screen: 'three\n30 90\nready\n40 100\n',
      code: 0,
      missed: [],
    })
  })

  test('programs colour their output', () => {
    place.mkdir(`${place.root}/dir`)
    expect(place.terminal(['--', 'ls', '-d', '--color=auto', 'dir'], []).raw).toContain('\u001b[01;34mdir')
  })

  test('SPEC 4.7 --why looks at both streams in their order: test suites say on stdout what failed', () => {
    const script = 'echo "1) listen EAFNOSUPPORT: /tmp/x.sock"; echo err >&2; echo 1 failing; exit 1'
    const said = '1) listen EAFNOSUPPORT: /tmp/x.sock\nerr\n1 failing\n'
    expect(place.terminal(['--', 'sh', '-c', script], []).screen).toBe(
      said + SEE_MORE('ended with 1', `sh -c '${script}'`),
    )
    const { screen, code } = place.terminal(['--why', '--', 'sh', '-c', script], [])
    expect({ screen, code }).toEqual({
      screen:
        said +
        'cordon: the command ended with 1\n' +
        '  hint: of unix sockets only pairs are allowed\n' +
        '    to allow it: --unix-sockets\n',
      code: 1,
    })
  })

  test('Ctrl-C ends the program, and we end as it did', () => {
    const { screen, code } = place.terminal(
      ['--', 'sh', '-c', 'echo ready; exec sleep 100'],
      [['ready', '\u0003']],
    )
    const more = SEE_MORE('was ended by SIGINT', "sh -c 'echo ready; exec sleep 100'")
    expect({ screen, code }).toEqual({ screen: `ready\n^C\n${more}`, code: -2 })
  })

  test('SPEC 4.7 a command that hangs and is ended by Ctrl-C is explained like one that fails', () => {
    place.write(`${place.home}/one.txt`, 'one')
    const cat = place.terminal(
      ['--', 'sh', '-c', 'cat $HOME/one.txt; exec sleep 100'],
      [['No such file', '\u0003']],
    )
    const hint =
      '  hint: ~/one.txt exists on the host, and is not granted\n    to allow it: --read ~/one.txt\n'
    expect(cat.screen).toContain(
      `^C\n${SEE_MORE('was ended by SIGINT', "sh -c 'cat $HOME/one.txt; exec sleep 100'")}${hint}`,
    )
    // What only its own words tell: the line that is shown, pasted, tells more.
    const script = 'f=one; cat ~/$f.txt; exec sleep 100'
    const unseen = place.terminal(['--', 'sh', '-c', script], [['No such file', '\u0003']])
    expect(unseen.screen).toContain(SEE_MORE('was ended by SIGINT', `sh -c '${script}'`))
    const seen = place.terminal(['--why', '--', 'sh', '-c', script], [['No such file', '\u0003']])
    expect(seen.screen).toContain(`^C\ncordon: the command was ended by SIGINT\n${hint}`)
  })

  test('what was allowed in vain explains the failure, and how it ended is said once', () => {
    const { screen } = place.terminal(
      ['--allow-net', 'nosuch.invalid', '--', 'curl', '-sS', 'https://nosuch.invalid'],
      [],
    )
    expect(screen.match(/cordon: the command ended/g)).toHaveLength(1)
    expect(screen).toContain('  allowed, but: nosuch.invalid cannot be resolved')
  })

  test('SPEC 4.5 a program that hangs without its unix socket is explained after Ctrl-C with --why', () => {
    const script = `net.createServer().on("error", (e) => console.error(e.message)).listen(process.cwd() + "/s.sock"); setInterval(() => {}, 999)`
    const { screen, missed } = place.terminal(
      ['--why', '--', 'node', '-e', script],
      [['EAFNOSUPPORT', '\x03']],
    )
    expect(missed, screen).toEqual([])
    expect(screen).toContain(
      'cordon: the command was ended by SIGINT\n  hint: of unix sockets only pairs are allowed\n    to allow it: --unix-sockets\n',
    )
  })

  test('SPEC 4.8 a host is refused: said when it happens, once; Ctrl-C ends with the summary', () => {
    const script =
      'for i in 1 2 3; do curl -s -o /dev/null http://evil.example/; done; echo waits; exec sleep 100'
    const { screen, raw, code, missed } = place.terminal(
      ['--', 'sh', '-c', script],
      [
        ['to allow it: --allow-net http://evil.example', ''],
        ['waits', '\u0003'],
      ],
    )
    const reason = 'http://evil.example/: no rule allows evil.example:80'
    expect({ screen: screen.replaceAll('\r', ''), code, missed }).toEqual({
      screen:
        `cordon: refused: ${reason}; to allow it: --allow-net http://evil.example\nwaits\n^C\n` +
        `${SEE_MORE('was ended by SIGINT', `sh -c '${script}'`)}  refused: ${reason} (3 times)\n    to allow it: --allow-net http://evil.example\n`,
      code: -2,
      missed: [],
    })
    // Over whatever the program has on its line, and to the left also where the terminal is raw.
    expect(raw.startsWith('\r\u001b[K')).toBe(true)
  })

  test('a refusal is not drawn into a program that has the terminal to itself, but told at the end', () => {
    const script =
      'stty raw; printf up; curl -s -o /dev/null http://evil.example/; printf " still up"; stty sane; echo'
    const { screen, code } = place.terminal(['--', 'sh', '-c', script], [])
    expect({ screen, code }).toEqual({
      screen:
        'up still up\ncordon: the command ended with 0\n' +
        '  refused: http://evil.example/: no rule allows evil.example:80\n    to allow it: --allow-net http://evil.example\n',
      code: 0,
    })
  })

  test('Ctrl-C is the program’s to handle, once', () => {
    const script =
      'n=0; trap "n=\\$((n+1)); echo got" INT; echo ready; until [ $n != 0 ]; do sleep 0.1; done; sleep 0.3; echo $n; exit 5'
    const { screen, code } = place.terminal(['--', 'sh', '-c', script], [['ready', '\u0003']])
    expect({ screen, code }).toEqual({
      screen: `ready\n^Cgot\n1\n${SEE_MORE('ended with 5', `sh -c '${script}'`)}`,
      code: 5,
    })
  })

  test('a shell inside has job control: background, stop, foreground', () => {
    const { screen, code, missed } = place.terminal(
      ['--', 'bash', '--norc', '-i'],
      [
        ['bash-', 'PS1="> "; set +o history\r'],
        ['> ', ''], // the echo of the line above
        ['> ', 'sleep 100 &\r'],
        ['> ', 'jobs\r'],
        ['Running', ''],
        // `exec`: a shell cannot be stopped between its fork and the exec of its child.
        ['> ', 'sh -c "echo up; exec cat"\r'],
        ['up\r\n', '\u001a'],
        ['Stopped', ''],
        ['> ', 'fg\r'],
        ['cat', 'hello\r'],
        ['hello\r\nhello', '\u0004'],
        ['> ', 'kill %1; wait; echo "ended $?"\r'],
        ['ended', ''],
        ['> ', 'exit 6\r'],
      ],
    )
    expect({ code, missed }, screen).toEqual({ code: 6, missed: [] })
    expect(screen).not.toContain('no job control')
  })

  test('a shell that gives the terminal back when it ends, as dash does, can', () => {
    const { screen, code, missed } = place.terminal(
      ['--', 'sh', '-i'],
      [
        [' ', 'PS1="> "; ps -o pgid= -p $$ | grep -q " 0$" && echo "no group"\r'],
        ['> ', ''],
        ['> ', 'sh -c "echo up; exec cat"\r'],
        ['up\r\n', '\u001a'],
        ['Stopped', ''],
        ['> ', 'fg\r'],
        ['cat', 'hello\r'],
        ['hello\r\nhello', '\u0004'],
        ['> ', 'exit 6\r'],
      ],
    )
    expect({ code, missed }, screen).toEqual({ code: 6, missed: [] })
    expect(screen).not.toMatch(/no group\n|Cannot set tty/)
  })

  test('a command that stops itself is stopped for the caller’s shell too, and goes on in the background or in front', () => {
    const { missed, screen } = place.atShell([
      ['> ', `$CORDON run -- sh -c 'kill -STOP $$; echo on; kill -STOP $$; read x; echo "got $x"'\r`],
      ['Stopped', ''],
      ['> ', 'bg\r'],
      ['on\r\n', 'until jobs | grep Stopped; do sleep 0.1; done\r'], // a shell tells of it at its next prompt
      ['Stopped', ''],
      ['> ', 'fg\r'],
      ['run', 'hello\r'],
      ['got hello', ''],
      ['> ', 'echo "code $?"\r'],
      ['code 0', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('stopped, sent to the background and fetched to the front again, it has the keyboard', () => {
    // One process: a shell that is stopped while it starts another one is stuck, with and without us.
    // It goes on when it was continued, and reads when there is something to read: only then the shell has given it the front.
    const program = `import select, signal, time
went_on = []
signal.signal(signal.SIGCONT, lambda *_: went_on.append(1))
print("up", flush=True)
while not went_on: time.sleep(0.1)
print("later", flush=True)
select.select([0], [], [])
time.sleep(4)
print("got", input(), flush=True)
time.sleep(300)`
    place.write('wait.py', program)
    const { missed, screen } = place.atShell([
      ['> ', '$CORDON run -- /usr/bin/python3 wait.py\r'],
      ['up\r\n', '\u001a'],
      ['Stopped', ''],
      ['> ', 'bg\r'],
      ['later\r\n', 'fg\r'],
      // A shell gives the terminal to a job that runs without telling it.
      ['wait.py', 'typed\r'],
      ['got typed', '\u0003'],
      ['KeyboardInterrupt', ''],
      ['> ', 'echo "code $?"\r'],
      ['code 130', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('after it the terminal is the caller’s, also of a script without job control', () => {
    const { missed, screen } = place.atShell([
      ['> ', `sh -c 'echo on; $CORDON run -- sh -c "read x; echo one \\$x"; read y; echo "two $y"; cat'\r`],
      ['on\r\n', 'a\r'],
      ['one a', 'b\r'],
      ['two b', 'c\r'],
      ['c\r\nc', '\u0004'],
      ['> ', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('Ctrl-C ends a script around it, as without us', () => {
    const { missed, screen } = place.atShell([
      ['> ', `bash -c '$CORDON run -- sh -c "echo ready; exec sleep 100"; echo went on'\r`],
      ['ready\r\n', '\u0003'],
      ['> ', 'echo "code $?"\r'],
      ['code 130', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
    expect(screen).not.toMatch(/^went on/m)
  })

  test('a signal that is sent, not typed, reaches the command at a terminal too', () => {
    const { missed, screen } = place.atShell([
      [
        '> ',
        `$CORDON run -- sh -c 'trap "echo got; exit 5" INT; echo ready; while :; do sleep 0.1; done' &\r`,
      ],
      ['ready\r\n', 'kill -INT $!; wait $!; echo "code $?"\r'],
      ['got', ''],
      ['code 5', "sh -c '(until [ -e front ]; do sleep 0.1; done; kill -INT $$) & "],
      [
        '',
        `exec $CORDON run -- sh -c "trap \\"echo in front; exit 6\\" INT; echo > front; while :; do sleep 0.1; done"'\r`,
      ],
      ['in front', 'echo "code $?"\r'],
      ['code 6', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('in the background it leaves alone how somebody else has set the terminal, and so it does at its end', () => {
    const KEPT = 'stty -a | grep -q " -echo " && echo "kept $((n += 1))"; stty echo'
    const { missed, screen } = place.atShell([
      ['> ', `n=0; $CORDON run -- sleep 1 & stty -echo; wait; ${KEPT}\r`],
      ['kept 1', `$CORDON run -- stty -echo; ${KEPT}\r`],
      ['kept 2', `$CORDON run -- sh -c "stty -echo; exit 3"; ${KEPT}\r`],
      ['kept 3', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('what is said at the end is said from the front, also where the background may not write', () => {
    place.write(`${place.home}/secret`, '')
    const { missed, screen } = place.atShell([
      ['> ', 'stty tostop; $CORDON run -- cat ~/secret; echo "code $?"\r'],
      ['~/secret exists', ''],
      ['code 1', 'stty -tostop\r'],
      ['> ', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('from the background it is stopped by what stops any program there: reading, and writing with tostop', () => {
    const { missed, screen } = place.atShell([
      ['> ', '$CORDON run -- sh -c "read x; echo got \\$x" &\r'],
      ['> ', 'until jobs | grep Stopped; do sleep 0.1; done; fg\r'],
      ['Stopped', ''],
      ['run', 'line\r'],
      ['got line', 'stty tostop; $CORDON run -- sh -c "echo written" &\r'],
      ['> ', 'until jobs | grep Stopped; do sleep 0.1; done; fg\r'],
      ['Stopped', ''],
      ['\r\nwritten', ''],
      ['> ', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test('killed, it gives the terminal of an interactive shell back', () => {
    const { missed, screen } = place.atShell([
      [
        '> ',
        `sh -c '(until [ -e killable ]; do sleep 0.1; done; kill -9 $$) & exec $CORDON run -- sh -c "echo > killable; exec sleep 100"'\r`,
      ],
      ['Killed', ''],
      ['> ', 'echo "still $((1 + 1))"\r'],
      ['still 2', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  // The child says that it is ready: a shell that hears Ctrl-C before it has started one goes on with it, anywhere.
  const waits = `sh -c "sh -c 'echo ready; exec sleep 20'; echo after"`
  test.each([
    ['whose input is no terminal', `$CORDON run -q -- ${waits} < /dev/null`],
    ['in the middle of a pipeline', `yes | $CORDON run -q -- ${waits} | cat`],
  ])('Ctrl-C ends a command %s, with all that it started', (_, line) => {
    const { missed, screen } = place.atShell([
      ['> ', `${line}\r`],
      ['ready\r\n', '\u0003'],
      ['> ', 'echo "over $((1 + 1))"\r'],
      ['over 2', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
    expect(screen).not.toContain('after\r\n')
  })

  test('in a pipeline the terminal stays with all of it', () => {
    const { missed, screen } = place.atShell([
      [
        '> ',
        `$CORDON run -- sh -c 'echo text; sleep 1' | sh -c 'read a; echo "$a?"; read x < /dev/tty; echo "typed $x"'\r`,
      ],
      ['text?', 'k\r'],
      ['typed k', ''],
      ['> ', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
  })

  test.each(['', '--allow-net example.com '])(
    'Ctrl-Z stops us with the program, and the caller’s shell can go on: %j',
    (net) => {
      const { missed, screen } = place.atShell([
        ['> ', `$CORDON run ${net}-- sh -c "echo ready; exec cat"\r`],
        ['ready\r\n', '\u001a'],
        ['Stopped', ''],
        ['> ', 'fg\r'],
        ['run', 'hello\r'],
        ['hello\r\nhello', '\u0004'],
        ['> ', 'echo "code $?"\r'],
        ['code 0', 'exit\r'],
      ])
      expect(missed, screen).toEqual([])
    },
  )

  test('what a program could leave behind at a terminal: not another discipline, not stopped, not for itself alone, not unwaiting', () => {
    place.write(
      'leave.py',
      `
import errno, fcntl, os, struct, termios
def attempt(name, *request):
    try: fcntl.ioctl(0, *request); print(name, 'done')
    except OSError as e: print(name, errno.errorcode[e.errno])
attempt('discipline', termios.TIOCSETD, struct.pack('i', 27))
attempt('exclusive', termios.TIOCEXCL)
attempt('stop', termios.TCXONC, termios.TCOOFF)
attempt('keyboard', 0x4b45, 4)
attempt('screen', 0x5602, bytes(8))
attempt('size', termios.TIOCGWINSZ, bytes(8))
os.set_blocking(0, False)
`,
    )
    const after = 'import os; fd = os.open("/dev/tty", os.O_RDWR); print("waits", os.get_blocking(0))'
    const { missed, screen } = place.atShell([
      ['> ', `$CORDON run -q -- /usr/bin/python3 leave.py; /usr/bin/python3 -c '${after}'\r`],
      ['waits ', ''],
      ['> ', 'exit\r'],
    ])
    expect({ said: screen.match(/\w+ (?:EPERM|done|True|False)/g), missed }, screen).toEqual({
      said: [
        'discipline EPERM',
        'exclusive EPERM',
        'stop EPERM',
        'keyboard EPERM',
        'screen EPERM',
        'size done',
        'waits True',
      ],
      missed: [],
    })
  })

  test('a program whose input is elsewhere writes to the terminal, and does not read what is typed there', () => {
    place.write(
      'read.py',
      `
import errno, os
def attempt(name, f):
    try: print(name, f())
    except OSError as e: print(name, errno.errorcode[e.errno])
for fd in (1, 2):
    attempt('terminal', lambda: os.isatty(fd))
    attempt('columns', lambda: os.get_terminal_size(fd).columns >= 0)
    os.set_blocking(fd, False)
    attempt('read', lambda: os.read(fd, 9))
    os.set_blocking(fd, True)
    attempt('reopened', lambda: os.open('/proc/self/fd/%d' % fd, os.O_RDWR))
    attempt('written', lambda: os.write(os.open('/proc/self/fd/%d' % fd, os.O_WRONLY), b''))
attempt('by-name', lambda: os.open('/dev/tty', os.O_RDONLY))
`,
    )
    const { missed, screen } = place.atShell([
      ['> ', '$CORDON run -q -- /usr/bin/python3 read.py < /dev/null\r'],
      ['by-name ', ''],
      ['> ', 'exit\r'],
    ])
    const each = ['terminal True', 'columns True', 'read EBADF', 'reopened EACCES', 'written 0']
    expect({ said: screen.match(/[a-z-]+ (?:E[A-Z]+|True|False|\d+(?=\r?\n))/g), missed }, screen).toEqual({
      said: [...each, ...each, 'by-name ENXIO'],
      missed: [],
    })
  })

  test.each(['', 'net = [{ host = "example.com", allow = true }]\n'])(
    'a command that starts after the person was asked waits for what is typed, at a terminal as it was: %j',
    (net) => {
      const asked = new Place(person)
      const fs = '[{ path = ".", read = true, execute = true }, { path = ".env", read = true }]'
      asked.config(`[profiles.p.access]\nfs = ${fs}\n${net}`)
      asked.write('.env', '')
      // Node reads a terminal without waiting; a `cat` that gets such a stream says EAGAIN and ends.
      const streams =
        'import fcntl, os; print([bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK) for fd in (0, 1, 2)])'
      const script = `/usr/bin/python3 -c "${streams}"; stty -a | grep -o ' -\\?icanon\\| -\\?echo '; echo ready; cat`
      const { screen, code, missed } = asked.terminal(
        ['--profile', 'p', '--', 'sh', '-c', script],
        [
          ['[y/N] ', 'y\n'],
          ['ready\r\n', 'hello\r'],
          ['hello\r\nhello', '\u0004'],
        ],
      )
      // A line editor ends its line twice.
      expect({ screen: screen.replaceAll('\r', ''), code, missed }).toEqual({
        screen:
          'profile p is granted read on .env, where secrets live (**/.env*)\n  at .cordon/config.toml:2:52\n\n' +
          'Grant it for this session? [y/N] y\n[False, False, False]\n icanon\n echo \nready\nhello\nhello\n',
        code: 0,
        missed: [],
      })
    },
  )

  test.each(['\u0003', '\u0004'])(
    'decision 0008 who leaves the question by %j has started nothing',
    (key) => {
      const asked = new Place(person)
      asked.config(
        '[profiles.p.access]\nfs = [{ path = ".", read = true, write = true, execute = true }, { path = ".env", read = true }]\n',
      )
      asked.write('.env', 'SECRET\n')
      const { code, missed } = asked.terminal(['--profile', 'p', '--', 'touch', 'started'], [['[y/N] ', key]])
      expect({ code, missed, started: existsSync(join(asked.root, 'started')) }).toEqual({
        code: -2, // by SIGINT, as a shell's own command
        missed: [],
        started: false,
      })
    },
  )

  test('SPEC 4.9 a no grants nothing and is asked again; a yes is asked for once a session', () => {
    const asked = new Place(person)
    asked.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true, execute = true }, { path = ".env", read = true }]\n',
    )
    asked.write('.env', 'SECRET\n')
    const command = '$CORDON run -q --profile p -- cat .env\r'
    const { missed, screen } = asked.atShell([
      ['> ', command],
      ['[y/N] ', 'n\n'],
      ['cat: .env: ', ''],
      ['> ', command],
      ['[y/N] ', 'y\n'],
      ['SECRET\r\n', ''],
      ['> ', command],
      ['SECRET\r\n', ''],
      ['> ', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
    expect(screen.match(/\[y\/N\]/g), screen).toHaveLength(2)
  })

  test('a question that was stopped by Ctrl-Z is still a question afterwards', () => {
    const asked = new Place(person)
    asked.write('.env', 'SECRET\n')
    const { missed, screen } = asked.atShell([
      ['> ', '$CORDON run --read .env -- cat .env\r'],
      ['[y/N] ', '\u001a'],
      ['Stopped', ''],
      ['> ', 'fg\r'],
      ['[y/N] ', 'y\r'],
      ['SECRET\r\n', ''],
      ['> ', 'exit\r'],
    ])
    expect(missed, screen).toEqual([])
    expect(screen).toContain('this command is granted read on .env, where secrets live (**/.env*)')
  })

  test('a failure at a terminal is explained by the command line, since stderr is the program’s own', () => {
    place.write(`${place.home}/.ssh/id_rsa`, 'key')
    const { screen, code } = place.terminal(['--', 'cat', `${place.home}/.ssh/id_rsa`], [])
    expect({ screen, code }).toEqual({
      screen:
        `cat: ${place.home}/.ssh/id_rsa: No such file or directory\n` +
        'cordon: the command ended with 1\n' +
        '  hint: ~/.ssh/id_rsa exists on the host, and is not granted\n' +
        '    to allow it: --read ~/.ssh/id_rsa\n',
      code: 1,
    })
  })
})
