import { jsonText, show } from '@cordon/policy'
import { type ChainedRecord, readLast, readRecords } from '@cordon/provider'
import type { Command as Parser } from 'commander'
import type { Register } from '../command.ts'
import { formatVerdict, recordJson, recordRow, verdictJson } from '../format/audit.ts'
import { formatTable } from '../format/text.ts'
import { asAdmin, providerCommand, type ProviderFlags, withProviderOptions } from '../provider.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'

/** SPEC 7.6. */
export const register: Register = (parser, world) => {
  providerCommand(parser, 'verify', 'recompute the whole chain, and say what is not as it was written')
    .addHelpText('after', '\nExit code: 0 when the chain is whole, 1 when it is not.')
    .action(async (flags: ProviderFlags) => {
      const verdict = await asAdmin(world, flags, (admin) => admin.verify())
      if (flags.json) writeJson(world, verdictJson(verdict))
      else world.out.write(formatVerdict(verdict))
      world.finish(verdict.ok ? EXIT.ok : EXIT.denied)
    })

  providerCommand(parser, 'show', 'the last records, or all of one operation')
    .argument('[operation]', 'its id')
    .option('-n, --count <number>', 'how many', '20')
    .option('--app <name>', 'of this app alone')
    .action(async (op: string | undefined, flags: ShowFlags) => {
      const { app } = flags
      if (op !== undefined && app !== undefined) throw new UsageError('give an operation or --app, not both')
      const records = await asAdmin(world, flags, async (admin) => {
        const { queries } = admin.database
        if (op !== undefined) return collect(readRecords(queries, { op }))
        const found = await readLast(queries, parseCount(flags.count), app === undefined ? {} : { app })
        // One that was removed still has its records; one that never was has none.
        if (app !== undefined && found.length === 0) await admin.app(app)
        return found
      })
      if (op !== undefined && records.length === 0) throw new UsageError(`there is no operation ${show(op)}`)
      if (flags.json) return writeJson(world, records.map(recordJson))
      world.out.write(formatTable(records.map(recordRow)))
    })

  withProviderOptions(
    parser
      .command('export')
      .description('every record, one JSON object a line, in the order of the chain, for programs'),
  )
    .option('--after <seq>', 'only those after this one', '0')
    .action(async (flags: ProviderFlags & { readonly after: string }) => {
      await asAdmin(world, flags, async ({ database: { queries } }) => {
        for await (const record of readRecords(queries, { after: parseCount(flags.after) }))
          world.out.write(`${jsonText(recordJson(record))}\n`)
      })
    })

  registerTail(parser)

  function registerTail(on: Parser): void {
    withProviderOptions(on.command('tail').description('the last records, and new ones as they come'))
      .option('--json', 'print one JSON object a line, for programs')
      .action(async (flags: ProviderFlags) => {
        await asAdmin(world, flags, async ({ database: { queries } }) => {
          const stopped = new AbortController()
          world.onInterrupt(() => stopped.abort())
          let last = 0
          const print = (record: ChainedRecord): void => {
            last = record.seq
            world.out.write(
              flags.json ? `${jsonText(recordJson(record))}\n` : formatTable([recordRow(record)]),
            )
          }
          for (const record of await readLast(queries, 10)) print(record)
          while (!stopped.signal.aborted) {
            for await (const record of readRecords(queries, { after: last })) print(record)
            await new Promise((done) => setTimeout(done, 500))
          }
        })
      })
  }
}

interface ShowFlags extends ProviderFlags {
  readonly count: string
  readonly app?: string
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

function parseCount(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${show(text)}: expected a whole number`)
}
