import { run } from './cli.ts'
import { QUERY } from './command.ts'
import { prepare, register } from './commands/query.ts'
import { openAmbientWorld } from './world.ts'

export { ways } from './query.ts'

declare const CORDON_VERSION: string

/** `cordon query` as a program of its own, in one file (decision 0295). */
export const start = (): Promise<void> =>
  run([{ ...QUERY, load: () => Promise.resolve({ register, prepare }) }], openAmbientWorld(), CORDON_VERSION)
