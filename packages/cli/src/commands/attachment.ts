import { pipeline } from 'node:stream/promises'
import {
  type Attachment,
  type Attachments,
  InterruptedError,
  openAmbientAttachments,
  type Removed,
} from '@cordon/host'
import { show } from '@cordon/policy'
import { type Command as Parser, Option } from 'commander'
import type { Register } from '../command.ts'
import { collectInBackground } from '../conversations.ts'
import { attachmentJson, formatAdded, formatAttachments, formatSize } from '../format/attachments.ts'
import { foreign } from '../format/text.ts'
import { cfgOption, choiceOf, type CommonOptions, idOption, jsonOption, sensitiveOption } from '../options.ts'
import { trustTerms } from '../project.ts'
import { UsageError, warn, writeJson } from '../report.ts'
import type { World } from '../world.ts'

export const register: Register = (parser, world) => {
  command(parser, 'add', 'attach to the conversation, as it is now')
    .argument('<what...>', 'PATH, pattern, https://… or command:…')
    .addOption(sensitiveOption())
    .addOption(cfgOption())
    .addHelpText(
      'after',
      `
The content is kept in the conversation and stays when the source changes or
goes. A directory is its files, without what ignore files name and what may
be secret (.env, keys); a file that is named is always taken. What lies
outside the workspace is kept without its path. URLs need a rule in
[[profiles.attach.access.net]]; commands run confined by
[profiles.attach.access].

Examples:
  cordon attachment add README.md 'src/**/*.ts' ~/Downloads/report.pdf
  cordon attachment add https://example.com/spec.html
  cordon attachment add 'command:git diff --stat'`,
    )
    .action(async (what: readonly string[], options: AddOptions) => {
      world.requireExactWords(what)
      await add(world, what, options)
      // The command that was attached may have rewritten the cordon that would be started, so nothing is collected this time.
      if (!what.some((each) => /^command:/i.test(each))) collectInBackground(world)
    })

  command(parser, 'ls', 'list what is attached; ↗ marks what came from outside the workspace').action(
    (options: CommonOptions) => list(world, options),
  )

  command(parser, 'rm', 'take out of the conversation; its history and content stay in its files')
    .argument('<uris...>', 'as in `attachment ls`, or the end of one')
    .addOption(checksumOption())
    .action(async (uris: readonly string[], options: VersionOptions) => {
      const { removed, conversation } = await open(world, options).remove(uris, sumOf(options))
      if (options.json) writeJson(world, removedJson({ removed, conversation }))
      else
        world.out.write(
          [
            ...removed.map(({ uri }) => `removed ${show(uri)}`),
            `from conversation ${conversation.id}`,
            '',
          ].join('\n'),
        )
    })

  command(parser, 'print', 'write the content to standard output')
    .argument('<uri>', 'as in `attachment ls`, or the end of it')
    .addOption(checksumOption())
    .action((uri: string, options: VersionOptions) => print(world, uri, options))
}

const command = (parser: Parser, name: string, summary: string): Parser =>
  parser.command(name).description(summary).addOption(idOption()).addOption(jsonOption())

interface AddOptions extends CommonOptions {
  readonly sensitive?: boolean
}

interface VersionOptions extends Partial<CommonOptions> {
  readonly checksum?: string
}

const checksumOption = (): Option =>
  new Option('--checksum <hex>', 'this version, by the beginning of its checksum; else the newest')

function sumOf({ checksum }: VersionOptions): string | undefined {
  if (checksum === undefined || /^[0-9a-f]{4,64}$/.test(checksum)) return checksum
  throw new UsageError(
    `--checksum ${show(checksum)}: expected 4 to 64 digits as \`attachment ls\` shows them`,
  )
}

function open(world: World, options: Partial<AddOptions>, onProgress?: (files: number) => void): Attachments {
  const { cwd, pid, uid, home, session, person } = world
  return openAmbientAttachments({
    project: { cwd, surroundings: world, cfg: options.cfg ?? [], trust: trustTerms(world, 'files') },
    user: { pid, uid, home, session, person },
    conversation: choiceOf(options),
    warn: (warnings) => warn(world, warnings),
    notice: (texts) => warn(world, texts),
    sensitive: options.sensitive ? 'take' : 'leave out',
    ...(onProgress ? { onProgress } : {}),
  })
}

/** Ctrl-C takes back what was begun, and then ends us as it would have. */
async function add(world: World, what: readonly string[], options: AddOptions): Promise<void> {
  const stopping = new AbortController()
  let stopped: NodeJS.Signals | undefined
  const release = world.onInterrupt((signal) => {
    stopped = signal
    stopping.abort(new InterruptedError())
  })
  try {
    const progress = countOnTerminal(world.err)
    const added = await open(world, options, progress.report)
      .add(what, stopping.signal)
      .finally(progress.clear)
    if (options.json)
      writeJson(world, {
        conversation: added.conversation.id,
        new: added.started === 'new',
        items: added.items.map(({ attachment, outcome, delivery }) => ({
          ...attachmentJson(attachment),
          outcome,
          reference: delivery.kind === 'reference' ? delivery.text : null,
        })),
      })
    else world.out.write(formatAdded(added))
  } catch (error) {
    if (!stopped || !(error instanceof InterruptedError)) throw error
    world.err.write(`cordon: ${error.message}\n`)
    world.dieBy(stopped)
  } finally {
    release()
  }
}

/** One line that is written over, from the hundredth file on: fewer are done before it could be read. */
function countOnTerminal(err: World['err']): {
  readonly report: (files: number) => void
  readonly clear: () => void
} {
  let shown = false
  const report = (files: number): void => {
    if (!err.isTerminal || files % 100 !== 0) return
    shown = true
    err.write(`\r${files} files read`)
  }
  return { report, clear: () => void (shown && err.write('\r\u001B[K')) }
}

async function list(world: World, options: CommonOptions): Promise<void> {
  const { attachments, conversation } = await open(world, options).list()
  if (options.json)
    writeJson(world, { conversation: conversation.id, attachments: attachments.map(attachmentJson) })
  else if (attachments.length > 0) world.out.write(formatAttachments(attachments, world.out))
  else world.err.write(`nothing is attached to conversation ${conversation.id}\n`)
}

const removedJson = ({ conversation, removed }: Removed): unknown => ({
  conversation: conversation.id,
  removed: removed.map(({ uri, checksum }) => ({ uri, checksum })),
})

/** Larger content in one JSON value helps nobody, and neither does binary on a terminal. */
const LARGEST_JSON = 64 * 1024 * 1024

async function print(world: World, asked: string, options: VersionOptions): Promise<void> {
  const attachments = open(world, options)
  const found = await attachments.find(asked, sumOf(options))
  if (options.json) return writeJson(world, await whole(attachments, found))
  const { isTerminal } = world.out
  if (!isTerminal) return pipeline(attachments.content(found), world.out.sink, { end: false })
  if (found.form === 'blob')
    throw new UsageError(
      `${show(found.uri)} is ${found.mimeType ?? 'binary'}, ${formatSize(found.size)}; a terminal cannot show it\n` +
        '  fix: write it to a file with >',
    )
  // Decoded as a stream: a character may lie across two pieces.
  const decoder = new TextDecoder()
  for await (const chunk of attachments.content(found))
    world.out.write(foreign(decoder.decode(chunk, { stream: true }), world.out))
  world.out.write(foreign(decoder.decode(), world.out))
}

async function whole(attachments: Attachments, found: Attachment): Promise<unknown> {
  if (found.size > LARGEST_JSON)
    throw new UsageError(
      `${show(found.uri)} is too large for --json (${formatSize(found.size)}); print it without`,
    )
  const chunks: Uint8Array[] = []
  for await (const chunk of attachments.content(found)) chunks.push(Uint8Array.from(chunk))
  const bytes = Buffer.concat(chunks)
  const { form } = found
  return { ...attachmentJson(found), [form]: bytes.toString(form === 'text' ? 'utf8' : 'base64') }
}
