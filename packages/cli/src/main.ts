declare const CORDON_VERSION: string

// The most frequent question of scripts pays for nothing else: no world, no parser.
const args = process.argv.slice(2)
if (args.length === 1 && (args[0] === '--version' || args[0] === '-V')) {
  process.stdout.write(`${CORDON_VERSION}\n`)
} else {
  void import('./commands.ts').then(({ start }) => start(CORDON_VERSION))
}
