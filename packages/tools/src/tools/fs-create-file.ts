import { FileError, type FileStat } from '@cordon/files'
import { showWhole } from '@cordon/policy'
import { Access } from '../access.ts'
import { count, failure, success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { named } from '../named.ts'
import { withParents } from '../parents.ts'
import { type Tool } from '../protocol.ts'
import { mayOverwrite } from '../questions.ts'
import { ToolError } from '../report.ts'
import { lookAt } from '../seen.ts'

export const fsCreateFile: Tool = defineTool({
  name: 'fs_create_file',
  description: DESCRIPTIONS.fs_create_file,
  parameters: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The file, relative to the workspace.' },
      content: { type: 'string', description: 'The whole content; default nothing.' },
      encoding: {
        type: 'string',
        enum: ['utf-8', 'base64'],
        description: 'How content is written here; default utf-8.',
      },
      overwrite: { type: 'boolean', description: 'Replace an existing file; without it you are asked.' },
    },
    required: ['path'],
    additionalProperties: false,
  },
  describe: ({ path, content = '', encoding, overwrite }) =>
    `${overwrite ? 'write' : 'create'} ${showWhole(path)} (${count(dataOf(content, encoding).length, 'byte')})`,
  run({ path, content = '', encoding, overwrite }, context, io) {
    const data = dataOf(content, encoding)
    const access = new Access(context)
    const place = access.place(path, 'create')
    const anchor = io.anchors.of(place)
    const there = statOf(() => anchor.stat(place.inside))
    // SPEC 1.8: what is checked depends on whether it exists, so that is looked at first.
    access.require(place.relative, there ? 'update' : 'create')
    const { inside } = place
    const name = named(path, place, context.data.root)
    io.shown.require(path, place, () => lookAt(anchor, inside))
    if (!there) {
      withParents(anchor, inside, () => anchor.createExclusive(inside, data))
      return success(text(`created ${name} (${count(data.length, 'byte')})`))
    }
    if (there.kind !== 'file') throw new ToolError(`${name} exists and is not a regular file (${there.kind})`)
    const consent = mayOverwrite(overwrite, io, `${name} exists (${count(there.size, 'byte')}). Replace it?`)
    if (consent.kind === 'ask') return consent.result
    if (consent.kind === 'refused') return failure(`${name} exists and was not replaced`)
    anchor.writeFile(inside, data, { expect: there.version })
    return success(text(`replaced ${name} (${count(data.length, 'byte')})`))
  },
})

function dataOf(content: string, encoding: 'utf-8' | 'base64' | undefined): Buffer {
  if (encoding !== 'base64') {
    if (!content.isWellFormed()) throw new ToolError('content is not valid Unicode')
    return Buffer.from(content)
  }
  if (!/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(content)) throw new ToolError('content is not base64')
  return Buffer.from(content, 'base64')
}

/** Undefined when nothing is there, also when a directory on the way is missing. */
function statOf(look: () => FileStat): FileStat | undefined {
  try {
    return look()
  } catch (error) {
    if (error instanceof FileError && error.code === 'FILE_NOT_FOUND') return undefined
    throw error
  }
}
