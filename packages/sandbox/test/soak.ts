// `npm run soak:agreement -w @cordon/sandbox [-- policies [first seed]]`: the differential test, 50,000 operations by default.
import { compareOnePolicy, newTally } from './agreement.ts'
import { IDENTITIES, removeWorlds } from './confine.ts'

const OPERATIONS = 50
const [policies = 1000, first = 1] = process.argv.slice(2).map(Number)
const tally = newTally()
for (let seed = first; seed < first + policies; seed++)
  await compareOnePolicy(IDENTITIES[seed % IDENTITIES.length]!, seed, OPERATIONS, tally)

const { operations, granted, refused, explained, unexplained } = tally
process.stdout.write(
  `${operations} operations: ${granted} done, ${refused} refused, the rest impossible as the tree was\n`,
)
for (const [why, count] of explained) process.stdout.write(`${count} explained: ${why}\n`)
for (const each of unexplained) process.stdout.write(`UNEXPLAINED ${JSON.stringify(each)}\n`)
removeWorlds()
process.exitCode = unexplained.length === 0 ? 0 : 1
