// A host of its own, to be killed. Reads what to run from its standard input.
import { text } from 'node:stream/consumers'
import { start, type Identity, type World } from './confine.ts'

interface Orders {
  readonly who: Identity
  readonly world: World
  readonly script: string
  readonly launcher: string
}

const orders = JSON.parse(await text(process.stdin)) as Orders
start({
  ...orders,
  access: {
    fs: [{ path: '.', read: true, write: true, execute: true }, { path: '.env' }, { path: 'not-there' }],
  },
  spawn: { stdio: ['ignore', 'inherit', 'inherit'], launcher: { state: 'ready', path: orders.launcher } },
})
