/** Exchanges two names again and again, for so long. argv: both of them, milliseconds. */
import { renameSync } from 'node:fs'

const [a, b, ms] = process.argv.slice(2) as [string, string, string]
const aside = `${b}-aside`
process.send!('begun')
for (const end = Date.now() + Number(ms); Date.now() < end;) {
  renameSync(a, aside)
  renameSync(b, a)
  renameSync(aside, b)
}
process.disconnect()
