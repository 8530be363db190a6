import { type Socket as UdpSocket } from 'node:dgram'
import { type Server } from 'node:net'
import { type Exchange } from './exchange.ts'
import { type LauncherState } from './kernel.ts'
import { type Flag, type Item } from './linux/items.ts'
import { UnplannableError } from './plan/errors.ts'
import { type InsideSocket } from './plan/network.ts'
import { type Plan } from './plan/types.ts'
import { type StopSignal } from './stop-signal.ts'

/** One start of a program; the plan that it is started under holds for many. */
export interface SpawnOptions {
  /** `argv[0]` is what the program is called; what is started is the plan's `survey.exe`. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd?: string
  /** Exactly this, nothing more: see `buildEnvironment`. */
  readonly env: Readonly<Record<string, string>>
  /** Texts that are readable inside, by path, such as below `FILES`: kept in memory, never on the host's disk. */
  readonly files?: ReadonlyMap<string, string>
  readonly stdio?: readonly [Stdio, Stdio, Stdio]
  /** Stderr passes through the launcher, no faster than it is taken, and `Exit.said` is the end of it. */
  readonly keepErrors?: boolean
  /** With `keepErrors`: stdout is kept like it. `with errors`: it is one stream with stderr, and goes where that goes. */
  readonly keepOutput?: 'with errors' | 'apart' | undefined
  /** With all three of its streams, which are pipes then; nobody else has them. */
  readonly exchange?: Exchange | undefined
  /** Aborting kills everything inside. */
  readonly signal?: StopSignal
  /** What files that are copied in hold, by their path; undefined where there is none yet (SPEC 4.8). */
  readonly replaced?: ReadonlyMap<string, Uint8Array | undefined>
  /** SPEC 4.5: serves the network inside. Called once for each of the plan's sockets, at the latest when it is first used; who connects before, waits. */
  readonly onSocket?: (socket: InsideSocket, handle: Server | UdpSocket) => void
  /** Whether the program shares the terminal's session (docs/decisions/0043). Default: when stdin is a terminal. */
  readonly terminal?: 'keep' | 'detach'
  /** For a host that is root: the user to be. */
  readonly as?: { readonly uid: number; readonly gid: number }
  /** Where the launcher is, when it is not where the package's install step puts it. */
  readonly launcher?: LauncherState
}

type Stdio = 'pipe' | 'inherit' | 'ignore'

/** Where our own files lie: on the sealed root, so that not even the program can change them (decision 0090). */
export const FILES = '/run/cordon'

/** Everything the launcher has to be told. */
export const itemsFor = (
  plan: Plan,
  {
    argv,
    cwd = plan.survey.cwd,
    env,
    files = new Map(),
  }: Pick<SpawnOptions, 'argv' | 'cwd' | 'env' | 'files'>,
  more: readonly Flag[],
): readonly Item[] => [
  ...withFiles(plan, files).map((item) =>
    item.tag === 'flags' ? { ...item, flags: [...item.flags, ...more] } : item,
  ),
  { tag: 'cwd', path: cwd },
  { tag: 'exec', path: plan.survey.exe },
  ...argv.map((text): Item => ({ tag: 'arg', text })),
  ...Object.entries(env).map(([name, value]): Item => ({ tag: 'env', text: `${name}=${value}` })),
]

/** Made before the root is sealed; there is none to make them on without namespaces. */
function withFiles({ items, isolation }: Plan, files: ReadonlyMap<string, string>): readonly Item[] {
  if (files.size === 0) return items
  if (isolation !== 'namespaces')
    throw new UnplannableError('without namespaces there is no place for files of its own')
  const sealed = items.findIndex((item) => item.tag === 'seal')
  return [
    ...items.slice(0, sealed),
    ...directories(files.keys()),
    ...[...files].map(([path, text]) => ({ tag: 'content', path, text }) as const),
    ...items.slice(sealed),
    ...[...files.keys()].map((path) => ({ tag: 'allow', path, rights: ['read-file'] }) as const),
  ]
}

/** Those that are not of the system, which nobody could make anything in: on the way to the files, parents first. */
function directories(paths: Iterable<string>): readonly Item[] {
  const made = new Set<string>()
  for (const path of paths)
    if (/^\/(?:run|mnt)\//.test(path))
      for (let at = path.indexOf('/', 1); at !== -1; at = path.indexOf('/', at + 1))
        made.add(path.slice(0, at))
  return [...made].map((path) => ({ tag: 'dir', path, mode: 0o755 }))
}
