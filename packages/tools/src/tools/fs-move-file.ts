import { type EntryKind, FileError } from '@cordon/files'
import { below, type Capability, type FsRule, type Location, show, showWhole } from '@cordon/policy'
import { Access } from '../access.ts'
import { failure, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { exists, withParents } from '../parents.ts'
import { type Tool } from '../protocol.ts'
import { mayOverwrite } from '../questions.ts'
import { requireFile } from '../replaceable.ts'
import { ToolError } from '../report.ts'
import { lookAt } from '../seen.ts'

export const fsMoveFile: Tool = defineTool({
  name: 'fs_move_file',
  description: DESCRIPTIONS.fs_move_file,
  parameters: {
    type: 'object',
    properties: {
      from: { type: 'string', description: 'What to move, relative to the workspace.' },
      to: { type: 'string', description: 'Its new path (not the directory to put it in).' },
      overwrite: { type: 'boolean', description: 'Replace an existing file; without it you are asked.' },
    },
    required: ['from', 'to'],
    additionalProperties: false,
  },
  describe: ({ from, to, overwrite }) =>
    `move ${showWhole(from)} to ${showWhole(to)}${overwrite ? ', replacing it' : ''}`,
  run({ from, to, overwrite }, context, io) {
    const access = new Access(context)
    const source = context.locate(from, 'delete')
    const sourceAnchor = io.anchors.of(source)
    const { kind } = sourceAnchor.stat(source.inside)
    const target = locateTarget(access, to, (place) => {
      const anchor = io.anchors.of(place)
      return exists(anchor, place.inside) ? anchor.stat(place.inside).kind : undefined
    })
    const { place } = target
    if (kind === 'directory') {
      if (source.absolute !== place.absolute && below(source.absolute, place.absolute) !== undefined)
        throw new ToolError(
          `cannot move ${show(source.relative)} to ${show(place.relative)}: that lies in it`,
        )
      checkTree(access, source, place)
    }
    io.shown.require(from, source, () => lookAt(sourceAnchor, source.inside))
    io.shown.require(to, place, () => lookAt(io.anchors.of(place), place.inside))
    if (target.state === 'there') {
      const consent = mayOverwrite(
        overwrite,
        io,
        `${show(place.relative)} exists. Replace it by ${show(source.relative)}?`,
      )
      if (consent.kind === 'ask') return consent.result
      if (consent.kind === 'refused') return failure(`${show(place.relative)} exists and was not replaced`)
    }
    const anchor = io.anchors.of(place)
    const replace = target.state === 'there' ? 'file' : 'nothing'
    try {
      withParents(anchor, place.inside, () =>
        sourceAnchor.rename(source.inside, place.inside, { anchor, replace }),
      )
    } catch (error) {
      throw kind === 'directory' && isElsewhere(error) ? directoryElsewhere(source, place) : error
    }
    return success(text(`moved ${show(source.relative)} to ${show(place.relative)}`))
  },
})

/** The new name is an entry, too: a link of that name is not followed. */
function locateTarget(
  access: Access,
  path: string,
  kindAt: (place: Location) => EntryKind | undefined,
): { place: Location; state: 'there' | 'free' } {
  const place = access.placeEntry(path)
  const kind = kindAt(place)
  // A link is not replaced, whatever the rules say: an edit for it would be made in vain.
  if (kind !== undefined) requireFile(kind, place.relative)
  access.require(place.relative, kind === undefined ? 'create' : 'update')
  return { place, state: kind === undefined ? 'free' : 'there' }
}

function checkTree(access: Access, from: Location, to: Location): void {
  requireBelow(access, from, 'delete')
  requireBelow(access, to, 'create')
}

function requireBelow(access: Access, top: Location, want: Capability): void {
  const [rule] = withheldBelow(access, top, want)
  if (!rule) return
  if (access.isMountBelow(rule, top))
    throw access.denied(top.relative, want, rule, `the mount ${show(rule.path)} lies below it`)
  throw access.denied(rule.path, want, rule)
}

/**
 * A directory takes along everything below it, so every rule below must allow it, too: what may not be
 * deleted may not be moved away, a mount may not be carried off, and nothing may appear where a rule
 * below the new name withholds `create`. Those that do not allow it.
 */
export const withheldBelow = (
  access: Access,
  top: Pick<Location, 'relative'> & { readonly absolute: string },
  want: Capability,
): readonly FsRule[] =>
  access.rulesBelow(top.relative).filter((rule) => access.isMountBelow(rule, top) || !rule.grants.has(want))

const isElsewhere = (error: unknown): boolean =>
  error instanceof FileError && error.code === 'FILE_CROSS_DEVICE'

/** Decision 0074: a directory has no move between filesystems that an error could take back. */
const directoryElsewhere = (from: Location, to: Location): ToolError =>
  new ToolError(
    `cannot move ${show(from.relative)}: ${show(to.relative)} is on another filesystem, and only files move between them; ` +
      'move its files one by one',
  )
