import { expect, test } from 'vitest'
import type { Diagnosis } from '@cordon/host'
import { formatDiagnosis } from '../src/format/doctor.ts'

test('SPEC 4.7 without a launcher doctor says that, and nothing of a kernel that was not asked', () => {
  const launcher = { state: 'missing', why: 'it was not built', fix: 'install a C compiler' } as const
  const untried = 'not tried'
  const loss = 'nothing can be confined, so nothing runs'
  const found: Diagnosis = {
    platform: 'linux',
    release: '6.1',
    launcher,
    landlockAbi: 0,
    seccomp: false,
    namespaces: {
      user: untried,
      mount: untried,
      pid: untried,
      ipc: untried,
      uts: untried,
      net: untried,
      cgroup: untried,
    },
    newRoot: { step: 'launcher', errno: 'it gave no answer' },
    lost: [{ guarantee: 'workspace-boundary', loss, why: launcher.why, fix: launcher.fix }],
    memoryCgroup: undefined,
    compiler: undefined,
    notices: [],
  }
  expect(formatDiagnosis(found, { style: (_, text) => text })).toBe(
    'kernel        6.1\n' +
      'launcher      it was not built\n' +
      'compiler      missing\n' +
      'the rest      not known without it\n' +
      'memory limit  of each process alone: no cgroup is delegated\n' +
      '\n' +
      'lost: workspace-boundary: nothing can be confined, so nothing runs\n' +
      '  because: it was not built\n' +
      '  fix: install a C compiler\n',
  )
})
