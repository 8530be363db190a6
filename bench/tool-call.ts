/** One confined tool call, end to end, and `cordon tool run`, against an empty Node; and a hundred calls in one session. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAmbientProject, type Project, ToolSession } from '@cordon/host'
import { runTool } from '@cordon/tools'
import { median, pretty } from './measure.ts'

const CLI = join(import.meta.dirname, '../packages/cli')
const ROUNDS = 41

async function run(): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), 'cordon-bench-'))
  try {
    await measure(base)
  } finally {
    rmSync(base, { recursive: true, force: true })
  }
}

async function measure(base: string): Promise<void> {
  const cwd = join(base, 'ws')
  mkdirSync(join(cwd, '.cordon'), { recursive: true })
  writeFileSync(join(cwd, 'a.txt'), 'hello\n')
  const env = { PATH: process.env['PATH'], HOME: base }
  const call = prepareCall(cwd, env)
  const cli = ['tool', 'run', 'fs_read_file', '--args', '{"path":"a.txt"}']
  const sides = {
    'fs_read_file, confined': call,
    'node -e 0': () => program(process.execPath, ['-e', '0'], cwd, env),
    'cordon tool run': () => program(join(CLI, 'bin/cordon'), cli, cwd, env),
  }
  const times = new Map<string, number[]>(Object.keys(sides).map((name) => [name, []]))
  // In turns, so that whatever else the machine does hits all of them.
  for (let round = -3; round < ROUNDS; round++)
    for (const [name, side] of Object.entries(sides)) {
      const start = process.hrtime.bigint()
      await side()
      if (round >= 0) times.get(name)?.push(Number(process.hrtime.bigint() - start))
    }
  const [ours = Number.NaN, bare = Number.NaN, whole = Number.NaN] = [...times.values()].map(median)
  const verdict = (ratio: number, most: number): string =>
    `ratio ${ratio.toFixed(2)}  (${ratio <= most ? 'within' : 'MISSES'} ≤ ${most})`
  console.log(`one confined tool call against node -e 0
  fs_read_file, confined: ${pretty(ours)}   node -e 0: ${pretty(bare)}   ${verdict(ours / bare, 1.8)}
  cordon tool run, whole program: ${pretty(whole)}   ${verdict(whole / bare, 2.5)}
a hundred calls in one session`)
  await measureSession(cwd, env)
}

/** As a host does it, with a process for every call. */
function prepareCall(cwd: string, env: Readonly<Record<string, string | undefined>>): () => Promise<void> {
  const session = openSession(cwd, env, 'none')
  return async () => {
    const { reply } = await session.call('fs_read_file', { path: 'a.txt' })
    if (reply.type !== 'success') throw new Error(reply.message)
  }
}

function openSession(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  workers: 'stay' | 'none',
  project: () => Promise<Project> = () => openProject(cwd, env),
): ToolSession {
  const [home, uid] = [homedir(), process.getuid?.()]
  return new ToolSession({
    project,
    compiler: { pid: process.pid, uid, home, session: 'bench', person: undefined },
    env,
    installation: { node: process.execPath, tools: join(CLI, 'dist/tools.cjs') },
    workers,
  })
}

const openProject = (cwd: string, env: Readonly<Record<string, string | undefined>>): Promise<Project> =>
  openAmbientProject({
    cwd,
    surroundings: { env, home: homedir(), platform: process.platform, uid: process.getuid?.() },
    cfg: [],
  })

const CALLS = 100

/** Calls of one tool, each with the number of the call. */
const IN_A_SESSION: Readonly<Record<string, (i: number) => object>> = {
  fs_read_file: () => ({ path: 'a.txt' }),
  fs_list_files: () => ({ path: '.' }),
  fs_create_file: (i) => ({ path: `new${i}.txt`, content: 'x' }),
  fs_modify_file: (i) => ({ edits: [{ path: 'b.txt', old: `v${i};`, new: `v${i + 1};` }] }),
  fs_grep_files: () => ({ pattern: 'hello' }),
}

/**
 * A hundred calls in one session, each beside the same operation in this process (issue 12): with one project for all of
 * them, as the gateway and `cordon q` have it, and with the project opened anew for every call.
 */
async function measureSession(cwd: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  for (const [name, args] of Object.entries(IN_A_SESSION)) {
    writeFileSync(join(cwd, 'b.txt'), 'v0;\n')
    const project = await openProject(cwd, env)
    await using kept = openSession(cwd, env, 'stay', () => Promise.resolve(project))
    await using anew = openSession(cwd, env, 'stay')
    const within = (session: ToolSession) => (i: number) =>
      session.call(name, args(i)).then(({ reply }) => reply)
    const sides = [
      within(kept),
      (i: number) => {
        const tool = { name, arguments: args(i), options: { confined: true } }
        return runTool(name, JSON.stringify({ context: { root: cwd, action: 'run', access: null }, tool }))
      },
      within(anew),
    ]
    const times: number[][] = sides.map(() => [])
    for (let i = 0; i < sides.length * CALLS; i++) {
      const start = process.hrtime.bigint()
      const reply = await sides[i % sides.length]!(i)
      times[i % sides.length]!.push(Number(process.hrtime.bigint() - start))
      if (reply.type !== 'success') throw new Error(JSON.stringify(reply))
    }
    const [ours = Number.NaN, alone = Number.NaN, opened = Number.NaN] = times.map(median)
    const onTop = (time: number): string =>
      `${pretty(time - alone)} on top  (${time - alone <= 5e6 ? 'within' : 'MISSES'} ≤ 5 ms)`
    console.log(
      `  ${name}: ${pretty(ours)} a call (the first ${pretty(times[0]![0]!)}), the operation alone ${pretty(alone)}: ${onTop(ours)}; with the project opened for each call ${onTop(opened)}`,
    )
  }
}

const program = (
  path: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(path, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.resume()
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${path} ended with ${code}`))))
  })

await run()
