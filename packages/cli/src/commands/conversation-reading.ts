import { type Conversations, type Found, printTalk } from '@cordon/host'
import { jsonText, quote, show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { chosen, ID, openConversations } from '../conversations.ts'
import { foreign } from '../format/text.ts'
import { jsonOption, type JsonOption } from '../options.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'
import type { World } from '../world.ts'

export const registerReading: Register = (parser, world) => {
  parser
    .command('print')
    .description('print the talk as Markdown')
    .argument('[id]', ID)
    .addOption(jsonOption())
    .action(async (id: string | undefined, { json }: JsonOption) => {
      const conversations = openConversations(world)
      const events = conversations.events(await conversations.find(chosen(id)))
      await (json ? printJson(world, events) : print(world, events))
    })

  parser
    .command('path')
    .description('print the directory it is kept in')
    .argument('[id]', ID)
    .addOption(jsonOption())
    .action(async (id: string | undefined, { json }: JsonOption) => {
      const { id: whole, dir } = await openConversations(world).find(chosen(id))
      if (json) writeJson(world, { id: whole, path: dir })
      else world.out.write(`${dir}\n`)
    })

  parser
    .command('grep')
    .description('search the events of all conversations; exit 1 when nothing matches')
    .argument('<pattern>', 'a JavaScript regular expression')
    .option('-i, --ignore-case', 'upper and lower case are the same')
    .option('-F, --fixed-strings', 'the pattern is plain text')
    .option('--id <conversation>', 'search only this one')
    .option('--archived', 'search archived ones, too')
    .addOption(jsonOption())
    .action((pattern: string, flags: GrepFlags) => grep(world, pattern, flags))
}

type Events = ReturnType<Conversations['events']>

async function print(world: World, events: Events): Promise<void> {
  let first = true
  for await (const text of printTalk(events)) {
    world.out.write(`${first ? '' : '\n'}${foreign(text, world.out)}`)
    first = false
  }
}

/** One event at a time, so that a long conversation does not have to fit into memory. */
async function printJson(world: World, events: Events): Promise<void> {
  let before = '['
  for await (const event of events) {
    world.out.write(`${before}\n  ${jsonText(event.kind === 'unknown' ? event.stored : event)}`)
    before = ','
  }
  world.out.write(before === '[' ? '[]\n' : '\n]\n')
}

interface GrepFlags extends JsonOption {
  readonly ignoreCase?: boolean
  readonly fixedStrings?: boolean
  readonly id?: string
  readonly archived?: boolean
}

async function grep(world: World, pattern: string, flags: GrepFlags): Promise<void> {
  const matches = matcher(pattern, flags)
  const conversations = openConversations(world)
  const refs =
    flags.id === undefined
      ? conversations.list(flags.archived ? 'archived too' : 'current')
      : [await conversations.find({ id: flags.id })]
  const hits: Extract<Found, { kind: 'hit' }>['hit'][] = []
  let count = 0
  for await (const found of conversations.grep(refs, matches)) {
    if (found.kind === 'unreadable') {
      world.err.write(`${world.err.style('yellow', 'warning:')} ${found.problem}\n`)
      continue
    }
    count++
    const { conversation, line, kind, text } = found.hit
    if (flags.json) hits.push(found.hit)
    else
      world.out.write(
        `${world.out.style('cyan', conversation.id)}:${line}:${show(kind)}: ${foreign(text, world.out)}\n`,
      )
  }
  if (flags.json)
    writeJson(
      world,
      hits.map(({ conversation, line, kind, text }) => ({ conversation: conversation.id, line, kind, text })),
    )
  world.finish(count > 0 ? EXIT.ok : EXIT.denied)
}

function matcher(pattern: string, { ignoreCase, fixedStrings }: GrepFlags): (text: string) => boolean {
  const source = fixedStrings ? pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&') : pattern
  try {
    const regex = new RegExp(source, ignoreCase ? 'iu' : 'u')
    return (text) => regex.test(text)
  } catch {
    throw new UsageError(
      `${quote(pattern)} is not a regular expression; --fixed-strings takes it as plain text`,
    )
  }
}
