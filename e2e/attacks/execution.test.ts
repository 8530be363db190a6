import { describe, expect, test } from 'vitest'
import { KERNELS, WITHOUT_NAMESPACES } from '../harness/kernels.ts'
import { PEOPLE, Place } from '../harness/place.ts'

/** A copy of a program in every place that can be written, started in every way. */
const COPIES = `
import ctypes, errno, os, shutil, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def start(name, *argv, **more):
    try: print(subprocess.run(argv, capture_output=True, **more).stdout.decode().strip() or 'refused', name)
    except OSError: print('refused', name)
for place in ('.', '/tmp', os.environ['HOME'], '/dev/shm', '/var/tmp'):
    copy = place + '/copy'
    try: shutil.copyfile('/bin/echo', copy); os.fchmod(os.open(copy, os.O_RDONLY), 0o755)
    except OSError: continue
    start('copy in ' + place, copy, 'RAN')
    start('ld.so in ' + place, sys.argv[1], copy, 'RAN')
    fd = os.open(copy, os.O_RDONLY)
    start('descriptor in ' + place, '/proc/self/fd/%d' % fd, 'RAN', pass_fds=[fd])
for flags in (0, 1, 2, 4, 16, 8):
    try: fd = os.memfd_create('x', flags)
    except OSError as e: print('refused memfd', flags, errno.errorcode[e.errno]); continue
    os.write(fd, open('/bin/echo', 'rb').read())
    try: os.fchmod(fd, 0o777)
    except OSError: pass
    os.set_inheritable(fd, True)
    start('memfd %d' % flags, '/proc/self/fd/%d' % fd, 'RAN', close_fds=False)
`

const LOADER = process.arch === 'arm64' ? '/lib/ld-linux-aarch64.so.1' : '/lib64/ld-linux-x86-64.so.2'

describe.each(PEOPLE)('SPEC 4.3 where no rule grants execute, as $name', (person) => {
  test.each(KERNELS)('no copy starts, wherever it lies and however it is started, $kernel', ({ script }) => {
    const place = new Place(person)
    place.write('copies.py', COPIES)
    const args = ['run', '--quiet', '--write', '.', '--', '/usr/bin/python3', 'copies.py', LOADER]
    const { stdout, stderr } = place.shell(script, args)
    expect(stderr).toBe('')
    // Without namespaces nothing is mounted no-exec, and the loader reads a program as an interpreter reads a script.
    const ran = stdout.split('\n').filter((line) => line.startsWith('RAN'))
    expect(ran).toEqual(script === WITHOUT_NAMESPACES ? ['RAN ld.so in .'] : [])
    expect(stdout.split('\n').filter((line) => line.startsWith('refused memfd'))).toEqual([
      'refused memfd 0 EACCES',
      'refused memfd 1 EACCES',
      'refused memfd 2 EACCES',
      'refused memfd 4 EACCES',
      'refused memfd 16 EACCES',
      'refused memfd 8',
    ])
    const tried = stdout.split('\n').filter((line) => line.includes(' in ')).length
    expect(tried).toBe(script === WITHOUT_NAMESPACES ? 3 : 15)
  })

  test('what an interpreter reads is not started, and the table says so', () => {
    const place = new Place(person)
    place.write('script', 'echo read')
    place.config('[profiles.p.access]\nfs = [{ path = ".", read = true }]\n')
    expect(place.run(['--profile', 'p', '--', 'sh', 'script'])).toMatchObject({ stdout: 'read\n', code: 0 })
    expect(place.cordon(['policy', 'explain', 'p']).stdout).toContain(
      'no file is started from here, nor from /tmp, the home or memory; what an interpreter reads, as in `sh file`, is not started',
    )
  })

  test('where a rule grants it, a copy elsewhere starts, and the table says so', () => {
    const place = new Place(person)
    place.config(
      '[profiles.p.access]\nfs = [{ path = ".", read = true, write = true }, { path = "bin", read = true, execute = true }]\n',
    )
    place.mkdir(`${place.root}/bin`)
    const script = 'cp /bin/echo /tmp/e; /tmp/e ran; cp /bin/echo e; ./e ran'
    const ended = place.run(['--quiet', '--profile', 'p', '--', 'sh', '-c', script])
    expect(ended.stdout).toBe('ran\n')
    expect(place.cordon(['policy', 'explain', 'p']).stdout).toContain(
      'it limits what may be started from this path, not what code may run: a copy in a place that may be written can be started',
    )
  })
})
