/** What confinement costs (issue 4), as ratios measured in one run: `node --conditions=cordon-source bench/sandbox.ts`. */
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { compileProject, openAmbientProject } from '@cordon/host'
import { type AccessPolicy, parseAccessPolicy } from '@cordon/policy'
import {
  buildEnvironment,
  findLauncher,
  openAmbientSurvey,
  type Plan,
  planConfinement,
  probeKernel,
  spawnConfined,
  type SpawnOptions,
  type SurveyRequest,
} from '@cordon/sandbox'

const BWRAP = ['/usr/bin/bwrap', '--unshare-all', '--ro-bind', '/', '/', '/bin/true'] as const
const ROUNDS = 200

const dir = mkdtempSync(join(tmpdir(), 'cordon-bench-'))
const env = buildEnvironment({ fs: [], net: [], env: [] }, process.env)

function planFor(
  policy: AccessPolicy,
  root: string,
  argv0: string,
  look: Pick<SurveyRequest, 'secrets' | 'namesKept'> = {},
): Plan {
  const survey = openAmbientSurvey({ policy, root, home: homedir(), cwd: root, argv0, env, ...look })
  return planConfinement({ policy, survey, kernel: probeKernel(), mode: 'enforce' })
}

const bare = (argv: readonly string[], cwd: string, as?: SpawnOptions['as']) => (): Promise<void> =>
  new Promise((done, fail) => {
    const child = spawn(argv[0]!, argv.slice(1), { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], ...as })
    child.stdout.resume()
    child.stderr.resume()
    child.once('close', (code) => (code === 0 ? done() : fail(new Error(`${argv.join(' ')}: ${code}`))))
  })

const confined =
  (plan: Plan, argv: readonly [string, ...string[]], more: Pick<SpawnOptions, 'as' | 'launcher'> = {}) =>
  async (): Promise<void> => {
    const child = spawnConfined(plan, { argv, env, stdio: ['ignore', 'pipe', 'pipe'], ...more })
    child.stdout?.resume()
    child.stderr?.resume()
    const { code } = await child.exit
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${code}`)
  }

/** Alternating, so that a busy machine is busy for all of them; the fastest of each, which it disturbed least. */
async function compare<Name extends string>(
  subjects: Readonly<Record<Name, () => Promise<void>>>,
  rounds: number,
): Promise<Record<Name, number>> {
  const names = Object.keys(subjects) as Name[]
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>
  for (let round = -5; round < rounds; round++)
    for (const name of names) {
      const start = performance.now()
      await subjects[name]()
      if (round >= 0) times[name].push(performance.now() - start)
    }
  return Object.fromEntries(names.map((name) => [name, Math.min(...times[name])])) as Record<Name, number>
}

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const ratio = (a: number, b: number): string => (a / b).toFixed(2)
const ms = (time: number): string => `${time.toFixed(2)} ms`

async function benchSpawn(): Promise<void> {
  const root = join(dir, 'empty')
  mkdirSync(root)
  // A plan that is used many times knows the secrets of /etc; one for a single call lets the launcher look.
  const plan = planFor(parseAccessPolicy({}), root, '/bin/true')
  const looking = planFor(parseAccessPolicy({}), root, '/bin/true', { secrets: 'at-start' })
  const repository = join(dir, 'repository')
  const guarded = planFor(await guardedPolicy(repository), repository, '/bin/true')
  const subjects = {
    bare: bare(['/bin/true'], root),
    confined: confined(plan, ['/bin/true']),
    looking: confined(looking, ['/bin/true']),
    guarded: confined(guarded, ['/bin/true']),
  }
  if (!existsSync(BWRAP[0])) say('bwrap is not installed, so it is not compared (apt install bubblewrap)')
  const times = existsSync(BWRAP[0])
    ? await compare({ ...subjects, bwrap: bare(BWRAP, root) }, ROUNDS)
    : { ...(await compare(subjects, ROUNDS)), bwrap: undefined }
  say(
    `spawn: confined ${ms(times.confined)}, bare ${ms(times.bare)}: ratio ${ratio(times.confined, times.bare)} (bound 2.5)`,
  )
  say(
    `spawn: confined, with the guard of a repository ${ms(times.guarded)}: ratio ${ratio(times.guarded, times.bare)} (bound 2.5)`,
  )
  say(
    `spawn: confined, looking through /etc at each start ${ms(times.looking)}: ratio ${ratio(times.looking, times.bare)}`,
  )
  if (times.bwrap !== undefined)
    say(
      `spawn: confined against bwrap ${ms(times.bwrap)}: ratio ${ratio(times.confined, times.bwrap)} (bound 1.0)`,
    )
}

const ENTRIES = 3000
const SETTLED = 4000

/**
 * Issue 13: with an `/etc` of 3,000 entries, as Cordon's own commands start: as root, for whom the kernel holds what is secret
 * there, and as an ordinary user, who looks through it (docs/decisions/0247, 0402). The stand-in is mounted in a mount namespace of
 * its own, where this is run once more.
 */
function benchEtc(): Promise<void> {
  if (process.getuid?.() !== 0) {
    say('only root can put another /etc in the place of this one, so it is not measured')
    return Promise.resolve()
  }
  const etc = join(dir, 'etc')
  makeEtc(etc)
  const mounted = 'mount --bind "$0" /etc && exec "$@"'
  const again = [process.execPath, '--conditions=cordon-source', fileURLToPath(import.meta.url), 'in-etc']
  const unshare = ['--mount', '--propagation', 'private', 'sh', '-c', mounted, etc, ...again]
  // The root's own programs are not for the ordinary user.
  const system = { ...process.env, PATH: '/usr/bin:/bin', HOME: '/nonexistent' }
  const { status } = spawnSync('unshare', unshare, { stdio: 'inherit', env: system })
  if (status !== 0) throw new Error(`unshare: ${status}`)
  return Promise.resolve()
}

/** This machine's own, and more: of ten entries a directory, three links and six files, about as Debian's is with a desktop. */
function makeEtc(etc: string): void {
  cpSync('/etc', etc, { recursive: true, verbatimSymlinks: true })
  const missing = ENTRIES - readdirSync(etc, { recursive: true }).length
  for (let i = 0; i < missing / 10; i++) {
    const at = join(etc, `more/d${i}`)
    mkdirSync(at, { recursive: true })
    for (let k = 0; k < 9; k++)
      if (k < 3) symlinkSync('../d0/f8', join(at, `l${k}`))
      else writeFileSync(join(at, `f${k}`), '')
  }
}

async function benchInEtc(): Promise<void> {
  const root = join(dir, 'empty')
  mkdirSync(root)
  chmodSync(dir, 0o755)
  const found = findLauncher()
  if (found.state === 'missing') throw new Error(found.why)
  const launcher = { ...found, path: join(dir, 'cordon-launch') } // the repository may lie where nobody may enter
  copyFileSync(found.path, launcher.path)
  const as = { uid: 65_534, gid: 65_534 }
  const own = join(dir, 'own') // where Cordon keeps what is this user's
  mkdirSync(own)
  chownSync(own, as.uid, as.gid)
  const looking = { secrets: 'at-start' } as const
  const plan = planFor(parseAccessPolicy({}), root, '/bin/true', looking)
  const remembering = planFor(parseAccessPolicy({}), root, '/bin/true', {
    ...looking,
    namesKept: join(own, 'names'),
  })
  await setTimeout(SETTLED) // what has just been made is not remembered
  const times = await compare(
    {
      bareRoot: bare(['/bin/true'], root),
      root: confined(plan, ['/bin/true'], { launcher }),
      bareUser: bare(['/bin/true'], root, as),
      user: confined(remembering, ['/bin/true'], { launcher, as }),
      reading: confined(plan, ['/bin/true'], { launcher, as }),
    },
    ROUNDS,
  )
  const entries = readdirSync('/etc', { recursive: true }).length
  for (const [name, by, who] of [
    ['root', 'bareRoot', 'root'],
    ['user', 'bareUser', 'an ordinary user'],
    ['reading', 'bareUser', 'an ordinary user whose launcher remembers no names'],
  ] as const)
    say(
      `spawn: confined, with an /etc of ${entries} entries, as ${who} ${ms(times[name])}, bare ${ms(times[by])}: ratio ${ratio(times[name], times[by])} (bound 2.5)`,
    )
}

/** SPEC 4.10: the default policy in a repository with an editor's and a package manager's files. */
async function guardedPolicy(root: string): Promise<AccessPolicy> {
  for (const name of ['.cordon', '.vscode', '.husky']) mkdirSync(join(root, name), { recursive: true })
  for (const name of ['.npmrc', '.envrc']) writeFileSync(join(root, name), '')
  spawnSync('git', ['init', '-q', root])
  const surroundings = {
    env: process.env,
    home: homedir(),
    platform: process.platform,
    uid: process.getuid?.(),
  }
  const project = await openAmbientProject({ cwd: root, surroundings, cfg: [] })
  const compiler = { ...surroundings, pid: process.pid, session: 'bench', person: undefined }
  const { bySubject } = await compileProject(project, compiler)
  const [policy] = bySubject.values()
  return policy!
}

/** A peer, when it is there: `npm i --no-save @anthropic-ai/sandbox-runtime`, and bubblewrap, socat and ripgrep. */
interface SandboxRuntime {
  readonly SandboxManager: {
    initialize(config: unknown): Promise<void>
    wrapWithSandbox(command: string): Promise<string>
  }
}

async function benchSandboxRuntime(): Promise<void> {
  const name = '@anthropic-ai/sandbox-runtime'
  const peer = (await import(name).catch(() => undefined)) as SandboxRuntime | undefined
  if (!peer) return say(`${name} is not installed, so it is not compared`)
  const root = join(dir, 'peer')
  mkdirSync(root)
  await peer.SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [] },
  })
  const plan = planFor(parseAccessPolicy({}), root, '/bin/true')
  const wrapped = async (): Promise<void> => {
    const command = await peer.SandboxManager.wrapWithSandbox('/bin/true')
    await bare(['/bin/sh', '-c', command], root)()
  }
  const times = await compare({ confined: confined(plan, ['/bin/true']), peer: wrapped }, 30)
  say(
    `spawn: confined against ${name} ${ms(times.peer)}: ratio ${ratio(times.confined, times.peer)} (bound 0.2)`,
  )
}

/** The whole way from rules to a process: survey, plan and spawn. */
async function benchRules(): Promise<void> {
  const root = join(dir, 'rules')
  const rules = Array.from({ length: 1000 }, (_, i) => ({ path: `d${i % 20}/r${i}`, read: i % 2 === 0 }))
  for (const { path } of rules) mkdirSync(join(root, path), { recursive: true })
  const policy = (count: number): AccessPolicy =>
    parseAccessPolicy({
      fs: [{ path: '.', read: true, write: true, execute: true }, ...rules.slice(0, count)],
    })
  const [few, many] = [policy(0), policy(1000)]
  const times = await compare(
    {
      few: () => confined(planFor(few, root, '/bin/true'), ['/bin/true'])(),
      many: () => confined(planFor(many, root, '/bin/true'), ['/bin/true'])(),
    },
    40,
  )
  say(`rules: ${(((times.many - times.few) * 1000) / 1000).toFixed(1)} µs for each of 1,000 (bound 20)`)
}

/**
 * Files of 14 KB, as C headers are on average, of 4 KB, as the sources of a young project are, and of a tenth: the smaller
 * they are, the more of the time is opening (docs/decisions/0048).
 */
async function benchFiles(): Promise<void> {
  for (const [size, lines] of [
    ['14 KB', 1400],
    ['4 KB', 400],
    ['0.4 KB', 40],
  ] as const) {
    const root = join(dir, `files-${lines}`)
    makeRepository(join(root, 'repo'), lines)
    // Several times in one shell: the start has a bound of its own, and would be 6 % of once.
    const once = 'grep -r "line 4999" repo > /dev/null'
    const walk = ['/bin/sh', '-c', Array.from({ length: GREPS }, () => once).join('; ')] as const
    const clone = ['/bin/sh', '-c', 'rm -rf copy && git clone -q --no-hardlinks repo copy'] as const
    await benchWorkload(`grep -r (${GREPS} times) of 5,000 files of ${size}`, walk, root, 20)
    await benchWorkload(`git clone of 5,000 files of ${size}`, clone, root, 6)
  }
}

function makeRepository(root: string, lines: number): void {
  for (let i = 0; i < 5000; i++) {
    const at = join(root, `d${i % 100}`)
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, `f${i}.txt`), `line ${i}\n`.repeat(lines))
  }
  for (const args of [
    ['init', '-q'],
    ['add', '.'],
    ['commit', '-qm', 'all'],
  ])
    spawnSync('git', ['-c', 'user.name=b', '-c', 'user.email=b@b', ...args], { cwd: root })
}

async function benchWorkload(
  name: string,
  argv: readonly [string, ...string[]],
  root: string,
  rounds: number,
): Promise<void> {
  const plan = planFor(parseAccessPolicy({}), root, '/bin/sh')
  const subjects = { outside: bare(argv, root), inside: confined(plan, argv) }
  const alone = buildLandlockAlone()
  const times =
    alone === undefined
      ? { ...(await compare(subjects, rounds)), alone: undefined }
      : await compare({ ...subjects, alone: bare([alone, root, ...argv], root) }, rounds)
  say(
    `${name}: inside ${ms(times.inside)}, outside ${ms(times.outside)}: ratio ${ratio(times.inside, times.outside)} (bound 1.1)`,
  )
  if (times.alone !== undefined)
    say(
      `  of which Landlock alone, with one rule and without a sandbox: ${ratio(times.alone, times.outside)}`,
    )
}

const GREPS = 10

/** What the kernel takes for Landlock, whoever uses it (docs/decisions/0048). */
function buildLandlockAlone(): string | undefined {
  const output = join(dir, 'landlock-alone')
  const source = fileURLToPath(new URL('landlock-alone.c', import.meta.url))
  const { status } = spawnSync(process.env['CC'] ?? 'cc', [
    '-O2',
    '-Wall',
    '-Wextra',
    '-Werror',
    source,
    '-o',
    output,
  ])
  return status === 0 ? output : undefined
}

const parts = {
  spawn: benchSpawn,
  etc: benchEtc,
  peer: benchSandboxRuntime,
  rules: benchRules,
  files: benchFiles,
}
const chosen = process.argv.slice(2)
try {
  if (chosen.includes('in-etc')) await benchInEtc()
  for (const [name, part] of Object.entries(parts))
    if (chosen.length === 0 || chosen.includes(name)) await part()
} finally {
  rmSync(dir, { recursive: true, force: true })
}
// The peer leaves helpers running that would keep us.
process.exit()
