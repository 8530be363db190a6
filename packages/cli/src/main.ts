import { openAmbientWorld } from './world.ts'

declare const CORDON_VERSION: string

const world = openAmbientWorld()

// `cordon … | head` is not an error of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

// The most frequent question of scripts must not pay for the parser.
if (world.argv.length === 1 && (world.argv[0] === '--version' || world.argv[0] === '-V')) {
  world.out.write(`${CORDON_VERSION}\n`)
} else {
  const { run } = await import('./cli.ts')
  await run(world, CORDON_VERSION)
}
