import { run } from './cli.ts'
import { openAmbientWorld } from './world.ts'

/** Apart from main.ts, so that `cordon --version` loads nothing of it. */
export const start = (version: string): Promise<void> => run(openAmbientWorld(), version)
