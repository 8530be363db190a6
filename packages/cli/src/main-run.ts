import { RUN } from './command.ts'
import { readPlainRun } from './plain-run.ts'
import { reportError } from './report.ts'
import { runCommand } from './run-command.ts'
import { openAmbientWorld } from './world.ts'

declare const CORDON_VERSION: string

/**
 * `cordon run` as a program of its own (decision 0095): one file, which bin/cordon.cjs starts with what V8 made of it the
 * last time. `keepCode` keeps that, and is called before the process becomes another one.
 */
export async function start(keepCode: () => void): Promise<void> {
  const world = openAmbientWorld(keepCode)
  const plain = readPlainRun(world.argv)
  if (!plain) {
    const { run } = await import('./cli.ts')
    return run([{ ...RUN, load: () => import('./commands/run.ts') }], world, CORDON_VERSION)
  }
  try {
    await runCommand(world, plain.command, plain.options)
  } catch (error) {
    world.finish(reportError(world, error))
  }
}
