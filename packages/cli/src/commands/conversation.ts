import { relative } from 'node:path'
import type { Conversations } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Command as Parser } from 'commander'
import type { Register } from '../command.ts'
import { chosen, ID, collectInBackground, openConversations } from '../conversations.ts'
import { conversationJson, formatConversation, formatConversations } from '../format/conversations.ts'
import { clip } from '../format/text.ts'
import { idOption, jsonOption, type JsonOption } from '../options.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'
import type { World } from '../world.ts'
import { registerReading } from './conversation-reading.ts'

export const register: Register = (parser, world) => {
  registerListing(parser, world)
  registerReading(parser, world)
  registerChanging(parser, world)
  registerRemoving(parser, world)
}

const command = (parser: Parser, name: string, summary: string): Parser =>
  parser.command(name).description(summary).addOption(jsonOption())

const registerListing: Register = (parser, world) => {
  command(parser, 'ls', 'list conversations, the last used first')
    .option('--archived', 'show archived ones, too')
    .action(async ({ json, archived }: JsonOption & { readonly archived?: boolean }) => {
      const conversations = openConversations(world)
      const lastUsed = (await conversations.lastUsed())?.id
      const all = conversations.list('archived too')
      const shown = archived ? all : all.filter(({ archived_at }) => archived_at === undefined)
      if (json)
        return writeJson(
          world,
          shown.map((each) => ({ ...conversationJson(each), last_used: each.id === lastUsed })),
        )
      if (shown.length > 0) world.out.write(formatConversations(shown, lastUsed, world.out))
      else world.err.write('no conversations yet\n')
      if (shown.length < all.length)
        world.err.write(`${all.length - shown.length} archived; --archived shows them\n`)
    })

  command(parser, 'show', 'say what one conversation is and where it is kept')
    .argument('[id]', ID)
    .option('--files', 'print only the files it needs, to stage them')
    .action(async (id: string | undefined, { json, files }: JsonOption & { readonly files?: boolean }) => {
      const conversations = openConversations(world)
      if (files) {
        const needed = await conversations.files(await conversations.find(chosen(id)))
        const shown = needed.map((file) => relative(world.cwd, file))
        return json ? writeJson(world, shown) : world.out.write(shown.map((file) => `${file}\n`).join(''))
      }
      const view = await conversations.describe(chosen(id))
      if (json) writeJson(world, { ...conversationJson(view), events: view.counts, always: view.always })
      else world.out.write(formatConversation(view, world.out))
    })
}

const registerChanging: Register = (parser, world) => {
  command(parser, 'use', 'make it the one that commands of this session use')
    .argument('<id>', 'its id, or enough of it')
    .action(async (id: string, { json }: JsonOption) => {
      const used = await openConversations(world).use({ id })
      if (json) writeJson(world, { id: used.id })
      else world.out.write(`using ${used.id}\n`)
    })

  command(parser, 'fork', 'copy it, and go on with the copy')
    .argument('[id]', ID)
    .option('--turns <n>', 'only so many turns from its beginning')
    .option('--title <title>', 'the title of the copy')
    .action(async (id: string | undefined, { json, turns, title }: ForkFlags) => {
      const { from, made } = await openConversations(world).fork(chosen(id), {
        ...(turns === undefined ? {} : { turns: parseCount(turns) }),
        ...(title === undefined ? {} : { title }),
      })
      if (json) writeJson(world, { id: made.id, forked_from: from.id })
      else world.out.write(`forked ${from.id}; using the copy ${made.id}\n`)
    })

  command(parser, 'forget', 'take back answers `always`: the tools are asked about again')
    .argument('[tools...]', 'of these tools; without, all of them')
    .addOption(idOption())
    .action(async (tools: readonly string[], { json, id }: JsonOption & { readonly id?: string }) => {
      const conversations = openConversations(world)
      const ref = await conversations.find(chosen(id))
      const forgotten = await conversations.takeBack(ref, tools)
      if (json) writeJson(world, { id: ref.id, forgotten })
      else if (forgotten.length === 0) world.err.write(`no answer \`always\` is kept in ${ref.id}\n`)
      else
        world.out.write(forgotten.map((tool) => `${show(tool)} is asked about again in ${ref.id}\n`).join(''))
    })

  for (const [name, summary] of [
    ['archive', 'put it out of the way; nothing of it is lost'],
    ['unarchive', 'take it back from the archive'],
  ] as const)
    command(parser, name, summary)
      .argument('[id]', ID)
      .action(async (id: string | undefined, { json }: JsonOption) => {
        const conversations = openConversations(world)
        const ref = await conversations.find(chosen(id))
        await conversations[name](ref)
        if (json) writeJson(world, { id: ref.id, archived: name === 'archive' })
        else world.out.write(`${name}d ${ref.id}\n`)
      })
}

interface ForkFlags extends JsonOption {
  readonly turns?: string
  readonly title?: string
}

function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`--turns ${show(text)}: expected a whole number, such as 3`)
}

const registerRemoving: Register = (parser, world) => {
  command(parser, 'rm', 'remove conversations; asks first')
    .argument('<ids...>', 'their ids, or enough of each')
    .option('--yes', 'do not ask; needed where nobody can be asked')
    .action(async (ids: readonly string[], { json, yes }: JsonOption & { readonly yes?: boolean }) => {
      const conversations = openConversations(world)
      // All are found before one is removed, so a mistyped id removes nothing.
      const refs = await Promise.all(ids.map((id) => conversations.find({ id })))
      const wanted = [...new Map(refs.map((ref) => [ref.id, ref])).values()]
      if (!yes && !(await confirmed(world, titles(conversations, wanted)))) {
        world.err.write('nothing was removed\n')
        return world.finish(EXIT.denied)
      }
      for (const ref of wanted) await conversations.remove(ref)
      collectInBackground(world)
      if (json)
        writeJson(
          world,
          wanted.map(({ id }) => ({ id, removed: true })),
        )
      else world.out.write(wanted.map(({ id }) => `removed ${id}\n`).join(''))
    })
}

function titles(conversations: Conversations, wanted: readonly { readonly id: string }[]): string[] {
  const ids = new Set(wanted.map(({ id }) => id))
  return conversations
    .list('archived too')
    .filter(({ id }) => ids.has(id as string))
    .map(({ id, title }) => `  ${id}  ${title === undefined ? '-' : show(clip(title, 60))}`)
}

async function confirmed(world: World, lines: readonly string[]): Promise<boolean> {
  if (!world.person)
    throw new UsageError(
      'removing cannot be undone, and without a terminal nobody can be asked\n  fix: add --yes',
    )
  const what = lines.length === 1 ? 'this conversation' : `these ${lines.length} conversations`
  return world.person.confirms(`${lines.join('\n')}\n\nRemove ${what}? It cannot be undone. [y/N] `)
}
