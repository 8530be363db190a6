import { listModels } from '@cordon/host'
import type { Register } from '../command.ts'
import { formatModels } from '../format/models.ts'
import { type CommonOptions, withCommonOptions } from '../options.ts'
import { openProject } from '../project.ts'
import { writeJson } from '../report.ts'

export const register: Register = (parser, world) => {
  withCommonOptions(parser)
    .addHelpText(
      'after',
      `
Every provider that has a key, or needs none, is asked what it offers. Others say
what they need. Providers are yours to add: [providers.llm.NAME], in your own
configuration.`,
    )
    .action(async (options: CommonOptions) => {
      const { loaded } = await openProject(world, options, 'nothing')
      const providers = await listModels(loaded.config, world)
      const { model } = loaded.config.assistant
      if (options.json) writeJson(world, { model: model ?? null, providers })
      else world.out.write(formatModels(providers, model, world.out))
    })
}
