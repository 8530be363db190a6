import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { diagnose } from '@cordon/host'
import type { Register } from '../command.ts'
import { diagnosisJson, formatDiagnosis, formatNotice } from '../format/doctor.ts'
import { jsonOption } from '../options.ts'
import { EXIT, warn, writeJson } from '../report.ts'

export const register: Register = (parser, world) => {
  parser
    .addOption(jsonOption())
    .addHelpText('after', '\nExit code: 0 when everything can be held, 1 when a guarantee is lost.')
    .action(({ json }: { readonly json?: boolean }) => {
      const installation = dirname(dirname(fileURLToPath(import.meta.url)))
      const found = diagnose({ cwd: world.cwd, surroundings: world, installation })
      if (json) writeJson(world, diagnosisJson(found))
      else {
        world.out.write(formatDiagnosis(found, world.out))
        warn(world, found.notices.map(formatNotice))
      }
      world.finish(found.lost.length === 0 ? EXIT.ok : EXIT.denied)
    })
}
