/** One confined tool call, end to end, against an empty Node (issue 6); `cordon tool run` for information. */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { executeTool, openAmbientProject, prepareTool } from '@cordon/host'
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
  const call = await prepareCall(cwd, env)
  const cli = [join(CLI, 'bin/cordon.cjs'), 'tool', 'run', 'fs_read_file', '--args', '{"path":"a.txt"}']
  const sides = {
    'fs_read_file, confined': call,
    'node -e 0': () => node(['-e', '0'], cwd, env),
    'cordon tool run': () => node(cli, cwd, env),
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
  const held = ours / bare <= 1.8 ? 'within' : 'MISSES'
  console.log(`one confined tool call against node -e 0
  fs_read_file, confined: ${pretty(ours)}   node -e 0: ${pretty(bare)}   ratio ${(ours / bare).toFixed(2)}  (${held} ≤ 1.8)
  cordon tool run, whole program: ${pretty(whole)}   ratio ${(whole / bare).toFixed(2)}  (for information)`)
}

/** As a host does it: the configuration and the policy once, then call after call. */
async function prepareCall(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<() => Promise<void>> {
  const surroundings = { env, home: homedir(), platform: process.platform, uid: process.getuid?.() }
  const project = openAmbientProject({ cwd, surroundings, cfg: [] })
  const compiler = {
    pid: process.pid,
    uid: process.getuid?.(),
    home: homedir(),
    session: 'bench',
    person: undefined,
  }
  const installation = { node: process.execPath, tools: join(CLI, 'dist/tools.cjs') }
  const { tool, policy } = await prepareTool(project, 'fs_read_file', compiler, installation)
  const world = { root: project.root, home: homedir(), env, sandbox: project.loaded.config.sandbox }
  const answers = { configured: {}, respondent: undefined }
  return async () => {
    const { reply } = await executeTool({ tool, arguments: { path: 'a.txt' }, policy, answers }, world)
    if (reply.type !== 'success') throw new Error(reply.message)
  }
}

const node = (
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.resume()
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`node ended with ${code}`))))
  })

await run()
