import { type EntryKind } from '@cordon/files'
import { showWhole, workspaceUri } from '@cordon/policy'
import { Access } from '../access.ts'
import { count, showName, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { type Tool } from '../protocol.ts'
import { GlobFilter, GLOBS } from '../walk/glob-filter.ts'
import { WorkspaceWalk } from '../walk/workspace-walk.ts'

export const fsListFiles: Tool = defineTool({
  name: 'fs_list_files',
  description: DESCRIPTIONS.fs_list_files,
  parameters: {
    type: 'object',
    properties: {
      path: {
        type: 'string',
        description: 'The directory, relative to the workspace; default the workspace itself.',
      },
      globs: GLOBS,
      depth: { type: 'integer', minimum: 1, maximum: 64, description: 'How many levels; default all.' },
      hidden: { type: 'boolean', description: 'Show dotfiles, too.' },
      no_ignore: { type: 'boolean', description: 'Show what .gitignore and .ignore leave out, too.' },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 100_000,
        description: 'The most entries; default 1000.',
      },
    },
    required: [],
    additionalProperties: false,
  },
  describe: ({ path = '.', globs = [] }) =>
    `list ${showWhole(path)}${globs.length > 0 ? `, only ${globs.map(showWhole).join(', ')}` : ''}`,
  run(args, context, { anchors, shown }) {
    const { path = '.', globs = [], depth = 64, limit = 1000 } = args
    const start = context.locate(path, 'read')
    shown.requirePlace(path, start)
    const walk = new WorkspaceWalk(new Access(context), anchors, {
      globs: new GlobFilter(globs),
      depth,
      hidden: args.hidden ? 'show' : 'skip',
      ignoreFiles: args.no_ignore ? 'disregard' : 'respect',
    })
    const found: { readonly name: string; readonly kind: EntryKind }[] = []
    let more = false
    for (const { name, kind } of walk.below(start)) {
      if (globs.length > 0 && kind === 'directory') continue // globs ask for files
      more = found.length >= limit
      if (more) break
      found.push({ name, kind })
    }
    const notes = [
      more
        ? `The first ${count(limit, 'entry', 'entries')}; there are more.`
        : `${count(found.length, 'entry', 'entries')}.`,
    ]
    notes.push(...walk.unseen.describe())
    const listing = found
      .map(({ name, kind }) => showName(name) + MARKS[kind])
      .sort()
      .join('\n')
    const uri = `${workspaceUri(start.relative)}${start.relative === '.' ? '' : '/'}`
    return success(
      { type: 'resource', resource: { uri, mimeType: 'inode/directory', text: listing } },
      text(notes.join(' ')),
    )
  },
})

const MARKS: Readonly<Record<EntryKind, string>> = {
  file: '',
  directory: '/',
  link: '@',
  fifo: ' (fifo)',
  socket: ' (socket)',
  device: ' (device)',
  unknown: ' (unknown)',
}
