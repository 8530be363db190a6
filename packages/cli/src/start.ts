import { run } from './cli.ts'
import { openAmbientWorld } from './world.ts'

export async function start(version: string): Promise<void> {
  // `cordon … | head` is not an error of ours.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  // Nor is a closed stderr; there is nobody left to tell.
  process.stderr.on('error', () => {})
  await run(openAmbientWorld(), version)
}
