// What a tool could do with your privileges. Run it with and without Cordon:
//   npx cordon run -- node examples/nosy.mjs
import { readdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const tries = {
  'list ~/.ssh': () => readdirSync(join(homedir(), '.ssh')),
  'read /etc/shadow': () => readFileSync('/etc/shadow', 'utf8').length,
  'read AWS_SECRET_ACCESS_KEY': () => process.env.AWS_SECRET_ACCESS_KEY ?? fail('not set'),
  'fetch https://example.com': () => fetch('https://example.com').then((response) => response.status),
  'read package.json': () => JSON.parse(readFileSync('package.json', 'utf8')).name,
}

function fail(message) {
  throw new Error(message)
}

for (const [what, attempt] of Object.entries(tries)) {
  try {
    console.log(`${what}: got ${JSON.stringify(await attempt())}`)
  } catch (error) {
    process.exitCode = 1
    console.error(`${what}: ${error.cause?.message ?? error.message}`)
  }
}
