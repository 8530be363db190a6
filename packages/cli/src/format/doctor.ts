import type { Diagnosis, DoctorNotice } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

/** What works is said, too: JSON has no `undefined`. */
export const diagnosisJson = (found: Diagnosis): unknown => ({
  ...found,
  compiler: found.compiler ?? null,
  namespaces: Object.fromEntries(
    Object.entries(found.namespaces).map(([name, refused]) => [name, refused ?? 'works']),
  ),
})

export function formatDiagnosis(found: Diagnosis, { style }: Pick<Stream, 'style'>): string {
  const { release, launcher, landlockAbi, seccomp, namespaces, newRoot, memoryCgroup, compiler, lost } = found
  const good = (text: string): string => style('green', text)
  const bad = (text: string): string => style('red', text)
  const kernelRows = (): string[][] => [
    ['landlock', landlockAbi > 0 ? good(`ABI ${landlockAbi}`) : bad('missing')],
    ['seccomp', seccomp ? good('filters work') : bad('missing')],
    ...Object.entries(namespaces).map(([name, refused]) => [
      `${name} namespace`,
      refused === undefined ? good('works') : bad(refused),
    ]),
  ]
  // Without the launcher nothing is known of the kernel.
  const known = launcher.state === 'ready'
  const rows = [
    ['kernel', release],
    ['launcher', known ? good('ready') : bad(launcher.why)],
    ['compiler', compiler === undefined ? (known ? NOT_NEEDED : bad('missing')) : good(show(compiler))],
    ...(known ? kernelRows() : [['the rest', 'not known without it']]),
    [
      'memory limit',
      memoryCgroup === undefined ? 'of each process alone: no cgroup is delegated' : good('of all'),
    ],
    ...(known
      ? [['new root', newRoot === 'works' ? good('works') : bad(`${newRoot.step}: ${newRoot.errno}`)]]
      : []),
  ]
  const losses = lost.map(
    ({ guarantee, loss, why, fix }) =>
      `${bad(`lost: ${guarantee}`)}: ${loss}\n  because: ${why}\n  fix: ${fix}\n`,
  )
  const verdict = lost.length === 0 ? good('every guarantee can be held on this machine\n') : losses.join('')
  return `${formatTable(rows)}\n${verdict}`
}

const NOT_NEEDED = 'missing; it is needed only to build the launcher'

export function formatNotice(notice: DoctorNotice): string {
  switch (notice.kind) {
    case 'npm-runs-code':
      return (
        `${show(`${notice.file}:${notice.line}`)}: ${show(notice.key)} is code that npm runs with all your rights, also for \`npx cordon\`\n` +
        '  fix: take the line out if it is not yours, and start cordon by its path, installed outside the workspace'
      )
    case 'installed-in-workspace':
      return (
        `cordon is installed in the workspace ${show(notice.workspace)}, where confined commands may write: they could change the next one\n` +
        '  fix: install it elsewhere, and start that one'
      )
  }
}
