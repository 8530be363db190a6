import { Option } from 'commander'
import type { Register } from '../command.ts'
import { UsageError } from '../report.ts'

export const register: Register = (parser, world) => {
  parser
    .addOption(
      new Option('--pace <milliseconds>', 'how fast the recorded model writes')
        .default('25')
        .argParser(parsePace),
    )
    .action(async ({ pace }: { readonly pace: number | string }) => {
      const { demo } = await import('../demo/demo.ts')
      await demo(world, { pace: Number(pace) })
    })
}

function parsePace(text: string): number {
  const pace = Number(text)
  if (Number.isInteger(pace) && pace >= 0 && pace <= 1000) return pace
  throw new UsageError(`--pace ${text}: expected a number from 0 to 1000`)
}
