import { spawn, type SpawnOptions, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { CORDON, temporary } from './cordon.ts'
import { play, type Played, type Step } from './terminal.ts'

/** Who runs cordon. Root plays both: itself, and an ordinary user that no database needs to know. */
export interface Person {
  readonly name: string
  readonly uid?: number
  readonly gid?: number
}

const STRANGER = 64_322

export const PEOPLE: readonly Person[] =
  process.getuid?.() === 0
    ? [{ name: 'root' }, { name: 'an ordinary user', uid: STRANGER, gid: STRANGER }]
    : [{ name: 'an ordinary user' }]

export const [SOMEBODY] = PEOPLE.toReversed() as [Person]

/** The built program and its Node where everybody can reach them; copied only when the checkout is closed to others. */
export const PROGRAM: { readonly node: string; readonly cordon: string } = (() => {
  if ([CORDON, process.execPath].every(isOpen)) return { node: process.execPath, cordon: CORDON }
  const dir = temporary()
  const cli = dirname(dirname(CORDON))
  for (const part of ['bin', 'dist', 'launcher'])
    cpSync(join(cli, part), join(dir, part), { recursive: true })
  cpSync(process.execPath, join(dir, 'node'))
  open(dir)
  return { node: join(dir, 'node'), cordon: join(dir, 'bin/cordon.cjs') }
})()

function isOpen(path: string): boolean {
  const above = path === '/' ? true : isOpen(dirname(path))
  return above && (statSync(path).mode & 0o005) === 0o005
}

/** Code compiled once for all tests: every home is new, and so is its cache. */
const CACHE = process.getuid?.() === 0 ? {} : { NODE_COMPILE_CACHE: join(tmpdir(), 'cordon-e2e-cache') }

function open(dir: string): void {
  chmodSync(dir, 0o755)
  for (const name of readdirSync(dir, { withFileTypes: true }))
    if (name.isDirectory()) open(join(dir, name.name))
    else chmodSync(join(dir, name.name), 0o755)
}

/** A marked workspace and a home beside it, both of the person. */
export class Place {
  readonly person: Person
  readonly dir = temporary()
  readonly root = join(this.dir, 'w')
  readonly home = join(this.dir, 'home')

  constructor(person: Person = SOMEBODY) {
    this.person = person
    chmodSync(this.dir, 0o755)
    for (const dir of [this.root, this.home, join(this.root, '.cordon')]) this.mkdir(dir)
  }

  mkdir(dir: string): string {
    mkdirSync(dir, { recursive: true })
    this.give(dir)
    return dir
  }

  /** In the workspace, unless the path is absolute. */
  write(name: string, text: string, mode = 0o644): string {
    const file = name.startsWith('/') ? name : join(this.root, name)
    this.mkdir(dirname(file))
    writeFileSync(file, text)
    chmodSync(file, mode)
    this.give(file)
    return file
  }

  /** A configuration that is in effect: written and trusted. */
  config(toml: string): void {
    this.write('.cordon/config.toml', toml)
    this.trust()
  }

  /** The person uses it: its mark counts also for the directories below (docs/decisions/0148). */
  init(): void {
    const { code, stderr } = this.cordon(['init'])
    if (code !== 0) throw new Error(`cordon init: ${stderr}`)
  }

  /** Whatever was written as configuration, from the root to here (SPEC 2.1). */
  trust(cwd?: string): void {
    const { code, stderr } = this.cordon(['trust', '--yes'], cwd === undefined ? {} : { cwd })
    if (code !== 0) throw new Error(`cordon trust: ${stderr}`)
  }

  give(path: string): void {
    if (this.person.uid !== undefined) chownSync(path, this.person.uid, this.person.gid!)
  }

  /** The environment of everything that is started here. */
  env(more: Readonly<Record<string, string>> = {}): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.home, ...CACHE, ...more }
  }

  /** `cordon run …`, to its end. */
  run(args: readonly string[], more: Options = {}): Ended {
    return this.cordon(['run', ...args], more)
  }

  cordon(args: readonly string[], { env, input, cwd }: Options = {}): Ended {
    const { status, signal, stdout, stderr, error } = spawnSync(PROGRAM.node, [PROGRAM.cordon, ...args], {
      ...this.#who(),
      cwd: cwd ?? this.root,
      env: this.env(env),
      ...(input === undefined ? { stdio: ['ignore', 'pipe', 'pipe'] } : { input }),
      maxBuffer: 64 * 1024 * 1024,
      timeout: 110_000,
      killSignal: 'SIGKILL',
    })
    if (error) throw error
    return { code: status, signal, bytes: stdout, stdout: stdout.toString(), stderr: stderr.toString() }
  }

  /** A shell script around `cordon …`, which is its `"$@"`. */
  shell(script: string, args: readonly string[]): Ended {
    const { status, signal, stdout, stderr, error } = spawnSync(
      '/bin/sh',
      ['-c', script, 'sh', PROGRAM.node, PROGRAM.cordon, ...args],
      {
        ...this.#who(),
        cwd: this.root,
        env: this.env(),
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 110_000,
      },
    )
    if (error) throw error
    return { code: status, signal, bytes: stdout, stdout: stdout.toString(), stderr: stderr.toString() }
  }

  /** `cordon run …` in a real pseudo-terminal. */
  terminal(args: readonly string[], steps: readonly Step[]): Played {
    const argv = [PROGRAM.node, PROGRAM.cordon, 'run', ...args]
    return play({ argv, cwd: this.root, env: this.env({ TERM: 'xterm' }), steps }, this.#who())
  }

  /** An interactive shell of the person, outside; `$CORDON` starts ours. */
  atShell(steps: readonly Step[]): Played {
    const env = this.env({ TERM: 'xterm', CORDON: `${PROGRAM.node} ${PROGRAM.cordon}` })
    const prompt: Step[] = [
      ['bash-', 'PS1="> "\r'],
      ['> ', ''], // the echo of the line above
    ]
    const all = [...prompt, ...steps]
    return play({ argv: ['bash', '--norc', '-i'], cwd: this.root, env, steps: all }, this.#who())
  }

  /** The same while this process goes on, to serve what the command asks for. */
  runMeanwhile(args: readonly string[], { env }: Pick<Options, 'env'> = {}): Promise<Ended> {
    return this.cordonMeanwhile(['run', ...args], { env })
  }

  /** `cordon …` while this process goes on. */
  async cordonMeanwhile(
    args: readonly string[],
    { env, cwd }: { readonly env?: Options['env']; readonly cwd?: string } = {},
  ): Promise<Ended> {
    const child = spawn(PROGRAM.node, [PROGRAM.cordon, ...args], {
      ...this.#who(),
      cwd: cwd ?? this.root,
      env: this.env(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const out: Buffer[] = []
    const err: Buffer[] = []
    child.stdout?.on('data', (chunk: Buffer) => out.push(chunk))
    child.stderr?.on('data', (chunk: Buffer) => err.push(chunk))
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    const bytes = Buffer.concat(out)
    return { code, signal, bytes, stdout: bytes.toString(), stderr: Buffer.concat(err).toString() }
  }

  start(args: readonly string[], options: SpawnOptions = {}): ChildProcess {
    return spawn(PROGRAM.node, [PROGRAM.cordon, 'run', ...args], {
      ...this.#who(),
      cwd: this.root,
      env: this.env(),
      stdio: ['ignore', 'pipe', 'pipe'],
      ...options,
    })
  }

  #who(): { uid?: number; gid?: number } {
    const { uid, gid } = this.person
    return uid === undefined ? {} : { uid, gid: gid! }
  }
}

export interface Options {
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly input?: string | Uint8Array
  readonly cwd?: string
}

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly bytes: Buffer
  readonly stdout: string
  readonly stderr: string
}
