import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runTool, type ToolFailure, type ToolResult } from '@cordon/tools'
import { expect, onTestFinished } from 'vitest'

export interface Call {
  readonly access?: unknown
  readonly action?: 'run' | 'format_arguments'
  readonly answers?: Readonly<Record<string, unknown>>
  readonly options?: Readonly<Record<string, unknown>>
  readonly shown?: unknown
  readonly asked?: unknown
}

/** A real workspace with an outside beside it, both gone after the test. */
export class Workspace {
  readonly base: string
  readonly root: string
  readonly outside: string

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    this.base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-tools-')))
    this.root = join(this.base, 'workspace')
    this.outside = join(this.base, 'outside')
    mkdirSync(this.root)
    mkdirSync(this.outside)
    for (const [path, content] of Object.entries(files)) this.write(path, content)
    onTestFinished(() => rmSync(this.base, { recursive: true, force: true }))
  }

  path(relative: string): string {
    return join(this.root, relative)
  }

  write(relative: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.path(relative)), { recursive: true })
    writeFileSync(this.path(relative), content)
  }

  run(name: string, args: unknown, call: Call = {}): Promise<ToolResult> {
    const { access = null, action = 'run', answers, options, shown, asked } = call
    const input = {
      context: { root: this.root, action, access },
      tool: { name, arguments: args, answers, options, shown, asked },
    }
    return runTool(name, JSON.stringify(input))
  }
}

/** As the program, and not as root, for whom permissions mean nothing. */
export function runAsNobody(workspace: Workspace, name: string, args: object): unknown {
  for (const path of [workspace.base, workspace.root]) chmodSync(path, 0o755)
  const call = {
    context: { root: workspace.root, action: 'run', access: null },
    tool: { name, arguments: args },
  }
  const main = join(import.meta.dirname, '../../src/main.ts')
  const asNobody =
    process.geteuid?.() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : []
  const [program, ...rest] = [...asNobody, process.execPath, '--conditions=cordon-source', main]
  return JSON.parse(spawnSync(program, rest, { input: JSON.stringify(call) }).stdout.toString('utf8'))
}

export const failed = (message: string, denied?: ToolFailure['denied']): ToolResult => ({
  type: 'error',
  message,
  trace: [],
  transient: false,
  // What it suggests stands in the message as well.
  ...(denied ? { denied: expect.objectContaining(denied) as typeof denied } : {}),
})

export const said = (...texts: readonly string[]): ToolResult => ({
  type: 'success',
  content: texts.map((text) => ({ type: 'text', text })),
})

/** A result that shows one text file, and what was said about it. */
export const showed = (uri: string, text: string, note?: string, mimeType = 'text/plain'): ToolResult => ({
  type: 'success',
  content: [
    { type: 'resource', resource: { uri, mimeType, text } },
    ...(note === undefined ? [] : [{ type: 'text', text: note } as const]),
  ],
})
