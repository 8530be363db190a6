import { diagnose, type Diagnosis } from '@cordon/host'
import type { Register } from '../command.ts'
import { EXIT } from '../exit.ts'
import { formatTable } from '../format/table.ts'
import { jsonOption } from '../options.ts'
import type { Stream } from '../world.ts'

export const register: Register = (parser, world) => {
  parser
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code: 0 when everything can be held, 1 when a guarantee is lost.')
    .action(({ json }: { readonly json?: boolean }) => {
      const found = diagnose()
      world.out.write(json ? `${JSON.stringify(found, undefined, 2)}\n` : formatDiagnosis(found, world.out))
      world.finish(found.lost.length === 0 ? EXIT.ok : EXIT.denied)
    })
}

export function formatDiagnosis(found: Diagnosis, { style }: Pick<Stream, 'style'>): string {
  const { release, launcher, landlockAbi, seccomp, namespaces, newRoot, lost } = found
  const good = (text: string): string => style('green', text)
  const bad = (text: string): string => style('red', text)
  const rows = [
    ['kernel', release],
    ['launcher', launcher.state === 'ready' ? good('ready') : bad(launcher.why)],
    ['landlock', landlockAbi > 0 ? good(`ABI ${landlockAbi}`) : bad('missing')],
    ['seccomp', seccomp ? good('filters work') : bad('missing')],
    ...Object.entries(namespaces).map(([name, refused]) => [
      `${name} namespace`,
      refused === undefined ? good('works') : bad(refused),
    ]),
    ['new root', newRoot === 'works' ? good('works') : bad(`${newRoot.step}: ${newRoot.errno}`)],
  ]
  const losses = lost.map(
    ({ guarantee, loss, why, fix }) =>
      `${bad(`lost: ${guarantee}`)}: ${loss}\n  because: ${why}\n  fix: ${fix}\n`,
  )
  const verdict = lost.length === 0 ? good('every guarantee can be held on this machine\n') : losses.join('')
  return `${formatTable(rows)}\n${verdict}`
}
