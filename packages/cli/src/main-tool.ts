import { run } from './cli.ts'
import { TOOL } from './command.ts'
import { registerRun } from './commands/tool-run.ts'
import { openAmbientWorld } from './world.ts'

export { ways } from './commands/tool-run.ts'

declare const CORDON_VERSION: string

/** `cordon tool run` as a program of its own, in one file (decision 0201). */
export const start = (): Promise<void> =>
  run(
    [{ ...TOOL, load: () => Promise.resolve({ register: registerRun }) }],
    openAmbientWorld(),
    CORDON_VERSION,
  )
