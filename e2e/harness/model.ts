import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RecordedRequest } from '../../packages/host/src/agent/recorded/server.ts'
import type { RecordedStep } from '../../packages/host/src/agent/recorded/script.ts'
import { temporary } from './cordon.ts'

/** A recorded model in a process of its own: a test that waits for a command cannot answer it at the same time. */
export interface ModelProcess extends AsyncDisposable {
  readonly url: string
  /** What it was sent so far. */
  readonly requests: () => RecordedRequest[]
}

export async function startModel(script: readonly RecordedStep[]): Promise<ModelProcess> {
  const log = join(temporary(), 'requests.jsonl')
  const file = join(import.meta.dirname, 'model-process.ts')
  const args = ['--conditions=cordon-source', file, JSON.stringify(script), log]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const [url] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  return {
    url: url.trim(),
    requests: () =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as RecordedRequest),
    [Symbol.asyncDispose]: async () => {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

/** A person's own configuration that asks this model. */
export const modelConfig = ({ url }: ModelProcess, kind = 'openai-compatible'): string => `
[assistant]
model = "recorded/x"

[providers.llm.recorded]
kind = "${kind}"
base_url = "${url}"
`
