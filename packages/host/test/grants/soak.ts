/** `npm run soak:grants [cases] [first]`: random policies and calls of the shipped tools, for as long as you like. */
import { tally } from './tally.ts'

const cases = Number(process.argv[2] ?? 50_000)
const first = Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 31))
const start = performance.now()
const counts = await tally(first, cases, 4, (now) => {
  const done = Object.values(now).reduce((sum, count) => sum + count)
  if (done % 1000 === 0) console.log(`${done} of ${cases} from ${first}`)
})
const seconds = (performance.now() - start) / 1000
console.log(`${cases} cases from ${first} in ${seconds.toFixed(0)} s: ${JSON.stringify(counts)}`)
