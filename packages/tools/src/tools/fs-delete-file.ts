import { show, showWhole } from '@cordon/policy'
import { success, text } from '../content.ts'
import { defineTool } from '../define-tool.ts'
import { DESCRIPTIONS } from '../descriptions.ts'
import { type Tool } from '../protocol.ts'
import { lookAt } from '../seen.ts'

export const fsDeleteFile: Tool = defineTool({
  name: 'fs_delete_file',
  description: DESCRIPTIONS.fs_delete_file,
  parameters: {
    type: 'object',
    properties: { path: { type: 'string', description: 'What to delete, relative to the workspace.' } },
    required: ['path'],
    additionalProperties: false,
  },
  describe: ({ path }) => `delete ${showWhole(path)}`,
  run({ path }, context, { anchors, shown }) {
    // SPEC 1.3: of the directory entry. The parent is resolved, the name itself is not.
    const location = context.locate(path, 'delete')
    const anchor = anchors.of(location)
    const { kind } = anchor.stat(location.inside)
    shown.require(path, location, () => lookAt(anchor, location.inside))
    if (kind === 'directory') anchor.rmdir(location.inside)
    else anchor.unlink(location.inside)
    return success(text(`deleted ${show(location.relative)}${kind === 'file' ? '' : ` (${kind})`}`))
  },
})
