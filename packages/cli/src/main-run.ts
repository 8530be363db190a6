import { runAlone } from './cli.ts'
import { RUN } from './command.ts'
import { register } from './commands/run.ts'
import { openAmbientWorld } from './world.ts'

export { ways } from './run-command.ts'

/** `cordon run` as a program of its own, in one file (decision 0120). */
export const start = (): Promise<void> => runAlone(RUN, register, openAmbientWorld())
