import type { Register } from '../command.ts'
import { openConversations } from '../conversations.ts'
import { jsonOption, type JsonOption } from '../options.ts'
import { writeJson } from '../report.ts'

export const register: Register = (parser, world) => {
  parser
    .option('--dry-run', 'only say what would be removed')
    .addOption(jsonOption())
    .addHelpText(
      'after',
      `
Content that was used less than a day ago stays. When a conversation cannot be
read, nothing is removed.`,
    )
    .action(async ({ json, dryRun }: JsonOption & { readonly dryRun?: boolean }) => {
      const { garbage, bytes, referenced, recent } = await openConversations(world).collect(
        dryRun ? 'dry-run' : 'delete',
      )
      if (json)
        return writeJson(world, { dry_run: dryRun === true, removed: garbage, bytes, referenced, recent })
      const verb = dryRun ? 'would remove' : 'removed'
      world.out.write(
        `${verb} ${garbage.length} of ${garbage.length + referenced + recent} stored contents, ${bytes} bytes\n`,
      )
      if (recent > 0) world.out.write(`kept ${recent} that nothing needs, because they are recent\n`)
    })
}
