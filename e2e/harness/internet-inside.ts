// In network and mount namespaces of its own: a name server whose answers change, servers on public and on private
// addresses, and one command among them. Orders on standard input, what was seen on standard output.
import { spawn, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import type { Orders, Seen } from './internet.ts'

const A = 1
const AAAA = 28

const orders = (await json(process.stdin)) as Orders
useOwnResolver(orders.dir)
run('python3', join(import.meta.dirname, 'internet.py'), ...orders.addresses)

const lookups: string[] = []
const reached: string[] = []
await serveNames()
const answer: RequestListener = (request, response) => {
  reached.push(`${bare(request.socket.localAddress)} ${request.url}`)
  response.end(`from ${bare(request.socket.localAddress)}`)
}
const servers = [
  createHttp(answer).listen(80, '::'),
  createHttps(orders.certificate, answer).listen(443, '::'),
]
await Promise.all(servers.map((server) => once(server, 'listening')))
const connections: string[] = []
for (const server of servers)
  server.on('connection', ({ localAddress, localPort }) =>
    connections.push(`${bare(localAddress)}:${localPort}`),
  )

const [program, ...args] = orders.argv
const child = spawn(program, args, { ...orders.options, stdio: ['ignore', 'pipe', 'pipe'] })
const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
const seen: Seen = { stdout, stderr, lookups, connections, reached }
process.stdout.write(JSON.stringify(seen))
process.exit(0)

/** Only this mount namespace sees these files. */
function useOwnResolver(dir: string): void {
  const files = {
    'resolv.conf': 'nameserver 127.0.0.1\noptions timeout:30 attempts:1\n',
    hosts: '127.0.0.1 localhost\n93.184.216.34 other.example written.Example # by hand\n',
    'nsswitch.conf': 'hosts: files dns\n',
  }
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(dir, name), content)
    run('mount', '--bind', join(dir, name), `/etc/${name}`)
  }
  const cache = '/run/nscd' // would answer for the machine's own resolver
  if (existsSync(cache)) run('mount', '-t', 'tmpfs', 'none', cache)
}

function run(...[command, ...rest]: [string, ...string[]]): void {
  const { status, stderr: said } = spawnSync(command, rest, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${rest.join(' ')}: ${said}`)
}

/** RFC 1035, as far as one question and its addresses need. */
async function serveNames(): Promise<void> {
  const counts = new Map<string, number>()
  const server = createSocket('udp4')
  server.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5
    const type = query.readUInt16BE(end - 4)
    const question = `${type === A ? 'A' : type === AAAA ? 'AAAA' : type} ${nameIn(query)}`
    lookups.push(question)
    const count = counts.get(question) ?? 0
    counts.set(question, count + 1)
    const addresses = (orders.answers[Math.min(count, orders.answers.length - 1)] ?? []).filter(
      (each) => type === (isIPv4(each) ? A : AAAA),
    )
    const records = addresses.map((each) => {
      const data = isIPv4(each) ? Buffer.from(each.split('.').map(Number)) : bytesOf(each)
      const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]) // it may be kept for no second
      return Buffer.concat([head, data])
    })
    const head = Buffer.from([0x81, 0x80, 0, 1, 0, records.length, 0, 0, 0, 0])
    server.send(
      Buffer.concat([query.subarray(0, 2), head, query.subarray(12, end), ...records]),
      port,
      address,
    )
  })
  server.bind(53, '127.0.0.1')
  await once(server, 'listening')
}

function nameIn(query: Buffer): string {
  const labels: string[] = []
  for (let at = 12; query[at]! > 0; at += query[at]! + 1)
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
  return labels.join('.')
}

/** Node has no function for it; what is asked for here has at most one `::`, and v4 only at its end. */
function bytesOf(address: string): Buffer {
  const hex = address.replace(/[\d.]+\.[\d.]+$/, (v4) => {
    const [a, b, c, d] = v4.split('.').map(Number) as [number, number, number, number]
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
  })
  const [left, right = []] = hex.split('::').map((half) => half.split(':').filter((group) => group !== ''))
  const groups = [...left!, ...Array.from({ length: 8 - left!.length - right.length }, () => '0'), ...right]
  return Buffer.from(
    groups.flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]),
  )
}

/** A server for both families calls a v4 address by its mapped name. */
function bare(address: string | undefined): string {
  return address?.replace(/^::ffff:/, '') ?? 'gone'
}
