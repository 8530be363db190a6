import {
  copyFileSync,
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AccessPolicy, parseAccessPolicy } from '@cordon/policy'
import {
  type PlanRequest,
  type Exit,
  findLauncher,
  type LauncherState,
  openAmbientSurvey,
  type Plan,
  planConfinement,
  probeKernel,
  spawnConfined,
  type SpawnOptions,
} from '@cordon/sandbox'
import { type Item } from '../src/linux/items.ts'

export interface Identity {
  readonly name: string
  readonly as?: { readonly uid: number; readonly gid: number }
}

/** Root runs every test twice: as itself, and as an ordinary user that needs not exist in any database. */
export const IDENTITIES: readonly Identity[] =
  process.getuid?.() === 0
    ? [{ name: 'root' }, { name: 'an ordinary user', as: { uid: 64_321, gid: 64_321 } }]
    : [{ name: 'an ordinary user' }]

const made: string[] = []
/** For `afterAll`: vitest ends its workers without an exit event. */
export function removeWorlds(): void {
  for (const dir of made) rmSync(dir, { recursive: true, force: true })
}

type Ready = Extract<LauncherState, { state: 'ready' }>

let copied: Ready | undefined

/** A launcher that the ordinary user can reach, wherever the repository lies. */
export function reachableLauncher(): Ready {
  if (copied) return copied
  const built = findLauncher()
  if (built.state === 'missing') throw new Error(`${built.why}: run node packages/sandbox/launcher/build.js`)
  const path = join(scratchDir(), 'cordon-launch')
  copyFileSync(built.path, path)
  chmodSync(path, 0o755)
  copied = { state: 'ready', path }
  return copied
}

/** A new directory that everybody may enter; gone when the tests are. */
export function scratchDir(parent: string = tmpdir()): string {
  const dir = realpathSync(mkdtempSync(join(parent, 'cordon-sandbox-')))
  chmodSync(dir, 0o755)
  made.push(dir)
  return dir
}

export interface World {
  readonly dir: string
  readonly root: string
  readonly home: string
}

/** A home and a workspace with these files, owned by the identity. Names that end in `/` are directories. */
export function makeWorld(
  who: Identity,
  files: Readonly<Record<string, string>> = {},
  dir: string = scratchDir(),
): World {
  const world = { dir, root: join(dir, 'w'), home: join(dir, 'home') }
  mkdirSync(world.root, { recursive: true })
  mkdirSync(world.home, { recursive: true })
  for (const [name, content] of Object.entries(files)) {
    const path = join(dir, name.startsWith('~/') ? `home/${name.slice(2)}` : `w/${name}`)
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true })
    if (!name.endsWith('/')) writeFileSync(path, content)
  }
  give(who, dir)
  return world
}

export function give({ as }: Identity, path: string): void {
  if (!as) return
  chownSync(path, as.uid, as.gid)
  for (const entry of readdirSync(path, { withFileTypes: true, recursive: true }))
    lchownSync(join(entry.parentPath, entry.name), as.uid, as.gid)
}

export interface Request {
  readonly who: Identity
  readonly world: World
  readonly access?: unknown
  /** For /bin/sh -c, with the workspace as the working directory. */
  readonly script?: string
  readonly argv?: readonly [string, ...string[]]
  readonly env?: Readonly<Record<string, string>>
  readonly plan?: Partial<PlanRequest>
  readonly spawn?: Partial<SpawnOptions>
}

export interface Outcome extends Exit {
  readonly stdout: string
  readonly stderr: string
  readonly plan: Plan
}

export const BASE_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin' }

export function planFor({ world, access = {}, argv, env = {}, plan = {} }: Request): Plan {
  const policy: AccessPolicy = parseAccessPolicy(access)
  const survey = openAmbientSurvey({
    secrets: 'at-start',
    policy,
    root: world.root,
    home: world.home,
    cwd: world.root,
    argv0: argv?.[0] ?? '/bin/sh',
    env: { ...BASE_ENV, HOME: world.home, ...env },
  })
  return planConfinement({ policy, survey, kernel: probeKernel(), mode: 'enforce', ...plan })
}

/** The plan with one more directory below the workspace that is treated as /etc is, and what is mounted in it afterwards. */
export function withSecretsIn(
  plan: Plan,
  path: string,
  when: 'in-turn' | 'last',
  inside: readonly Item[] = [],
): Plan {
  const items = plan.items.flatMap((item): readonly Item[] => {
    if (item.tag === 'cover-private') return [{ ...item, when }] // the launcher's lists come in the order of the plan
    const isWorkspace = item.tag === 'bind' && item.path === plan.survey.root.canonical
    return isWorkspace ? [item, { tag: 'cover-private', path, when }, ...inside] : [item]
  })
  return { ...plan, items }
}

export function start(request: Request): { readonly plan: Plan } & ReturnType<typeof spawnConfined> {
  const plan = planFor(request)
  const { who, world, argv, script = ':', env = {}, spawn = {} } = request
  const confined = spawnConfined(plan, {
    argv: argv ?? ['sh', '-c', script],
    env: { ...BASE_ENV, HOME: world.home, ...env },
    launcher: spawn.launcher ?? reachableLauncher(),
    ...(who.as ? { as: who.as } : {}),
    ...spawn,
  })
  return { plan, ...confined }
}

/** Runs it to the end and returns everything it said. */
export async function run(request: Request): Promise<Outcome> {
  const { plan, stdin, stdout, stderr, exit } = start(request)
  stdin?.end()
  const [out, err, end] = await Promise.all([text(stdout), text(stderr), exit])
  return { ...end, stdout: out, stderr: err, plan }
}

async function text(stream: NodeJS.ReadableStream | null): Promise<string> {
  let all = ''
  if (stream) for await (const chunk of stream) all += String(chunk)
  return all
}

/** Each line of a script is tried alone; prints `ok` or `no` and the line. */
export const attempts = (...lines: string[]): string =>
  lines
    .map((line) => `if (${line}) >/dev/null 2>&1; then echo 'ok ${line}'; else echo 'no ${line}'; fi`)
    .join('\n')

/** Pids with this command line, after the time that the kernel takes to finish what it kills. */
export async function processesWith(commandLine: string): Promise<readonly string[]> {
  for (let tries = 0; ; tries++) {
    const found = readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && cmdline(pid) === `${commandLine}\0`,
    )
    if (found.length === 0 || tries === 6000) return found
    await sleep(10)
  }
}

export function cmdline(pid: string): string {
  try {
    readlinkSync(`/proc/${pid}/exe`)
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return '' // it is gone, or is only waiting to be collected
  }
}
