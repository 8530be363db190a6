import { run } from './cli.ts'
import { RUN } from './command.ts'
import { register } from './commands/run.ts'
import { openAmbientWorld } from './world.ts'

declare const CORDON_VERSION: string

/**
 * `cordon run` as a program of its own (decision 0094): one file, which bin/cached.cjs starts with what V8 made of it the
 * last time. `keepCode` keeps that, and is called before the process becomes another one.
 */
export const start = (keepCode: () => void): Promise<void> =>
  run([{ ...RUN, load: async () => ({ register }) }], openAmbientWorld(keepCode), CORDON_VERSION)
