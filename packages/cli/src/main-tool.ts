import { runAlone } from './cli.ts'
import { TOOL } from './command.ts'
import { registerRun } from './commands/tool-run.ts'
import { openAmbientWorld } from './world.ts'

export { ways } from './commands/tool-run.ts'

/** `cordon tool run` as a program of its own, in one file (decision 0201). */
export const start = (): Promise<void> => runAlone(TOOL, registerRun, openAmbientWorld('directly'))
