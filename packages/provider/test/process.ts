import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { DatabaseChoice } from '../src/storage/database.ts'

export interface ProviderProcess {
  readonly child: ChildProcess
  readonly url: string
}

/** A provider that can be killed without taking the test with it. */
export async function startProcess(dir: string, choice: DatabaseChoice, port = 0): Promise<ProviderProcess> {
  const child = fork(
    join(import.meta.dirname, 'children/serve.ts'),
    [dir, JSON.stringify(choice), String(port)],
    {
      execArgv: ['--conditions=cordon-source'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  )
  const [said] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the provider ended at its start'))),
  ])) as [{ url: string }]
  return { child, url: said.url }
}

export async function killProcess(
  { child }: ProviderProcess,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
