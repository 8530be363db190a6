// `npm run soak:agreement [-- policies [first seed [landlock-only]]]`: the differential test, 50,000
// operations by default.
import { compareOnePolicy, newTally } from './agreement.ts'
import { IDENTITIES, removeWorlds } from './confine.ts'

const OPERATIONS = 50
const [policies = 1000, first = 1] = process.argv.slice(2, 4).map(Number)
const isolation = process.argv[4] === 'landlock-only' ? 'landlock-only' : 'namespaces'
const tally = newTally()
for (let seed = first; seed < first + policies; seed++) {
  const who = IDENTITIES[seed % IDENTITIES.length]!
  await compareOnePolicy({ who, seed, count: OPERATIONS, isolation }, tally)
}

const { operations, granted, refused, explained, unexplained } = tally
process.stdout.write(
  `${isolation}, ${tally.policies.enforce} policies under enforce, ${tally.policies.warn} that it refuses under warn\n` +
    `${operations} operations: ${granted} done, ${refused} refused, the rest impossible as the tree was\n`,
)
for (const [why, count] of explained) process.stdout.write(`${count} explained: ${why}\n`)
for (const each of unexplained) process.stdout.write(`UNEXPLAINED ${JSON.stringify(each)}\n`)
removeWorlds()
process.exitCode = unexplained.length === 0 ? 0 : 1
