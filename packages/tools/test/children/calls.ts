/**
 * Calls of tools in a mount namespace of their own: `node calls.ts < {root, calls}` prints for each what the tool said
 * and what changed in the whole tree, names, kinds, modes, times and bytes.
 */
import { readFileSync } from 'node:fs'
import { runTool } from '@cordon/tools'
import { changes, type Tree, treeOf } from '../support/tree.ts'

const { root, calls } = JSON.parse(readFileSync(0, 'utf8')) as {
  root: string
  calls: { tool: string; args: unknown; access?: unknown }[]
}
const outcomes: { said: string; changed: string[] }[] = []
for (const { tool, args, access = null } of calls) {
  const before: Tree = treeOf(root)
  const context = { root: `${root}/workspace`, action: 'run', access }
  const result = await runTool(tool, JSON.stringify({ context, tool: { name: tool, arguments: args } }))
  const said =
    result.type === 'error'
      ? result.message
      : result.type === 'success'
        ? result.content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')
        : result.question.text
  outcomes.push({ said, changed: changes(before, treeOf(root)) })
}
console.log(JSON.stringify(outcomes))
