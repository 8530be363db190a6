import { spawnSync } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Orders {
  readonly argv: readonly [string, ...string[]]
  readonly options: {
    readonly cwd: string
    readonly env: Readonly<Record<string, string>>
    readonly uid?: number
    readonly gid?: number
  }
  /** Every name has these addresses at the first lookup, those at the second …; the last ones stay. */
  readonly answers: readonly (readonly string[])[]
  readonly addresses: readonly string[]
  readonly certificate: { readonly key: string; readonly cert: string }
  readonly dir: string
}

export interface Seen {
  readonly stdout: string
  readonly stderr: string
  /** Type and name of every question that the name server got. */
  readonly lookups: readonly string[]
  /** Where the servers were connected to. */
  readonly connections: readonly string[]
  /** The address and the path of every request. */
  readonly reached: readonly string[]
}

/** Who is not root becomes it in a user namespace of his own, for the servers, and himself again for the command. */
const WAYS: readonly Way[] = [
  { enter: ['unshare', '-mn'], leave: [] },
  {
    enter: ['unshare', '-Umnr'],
    leave: ['unshare', '-U', `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`],
  },
]

interface Way {
  readonly enter: readonly [string, ...string[]]
  readonly leave: readonly string[]
}

const way = WAYS.find(({ enter: [command, ...args], leave }) => {
  const { status } = spawnSync(command, [...args, ...leave, 'true'])
  return status === 0
})

export const hasInternet = way !== undefined

/** Runs a command in an internet of its own: nothing of it leaves the machine. */
export function inInternet(orders: Omit<Orders, 'dir'>): Seen {
  if (!way) throw new Error('there is no network namespace to be had')
  const dir = mkdtempSync(join(tmpdir(), 'cordon-e2e-internet-'))
  const [command, ...args] = way.enter
  const { stdout, stderr, status } = spawnSync(
    command,
    [...args, process.execPath, join(import.meta.dirname, 'internet-inside.ts')],
    {
      input: JSON.stringify({ ...orders, argv: [...way.leave, ...orders.argv], dir }),
      encoding: 'utf8',
      timeout: 110_000,
      killSignal: 'SIGKILL',
    },
  )
  if (status !== 0) throw new Error(`the internet failed: ${stderr}`)
  return JSON.parse(stdout) as Seen
}
