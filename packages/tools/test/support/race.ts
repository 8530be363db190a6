import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { runTool, type ToolResult } from '@cordon/tools'

/** One tool under attack: one operation, and what must be true after it. `real` is the true directory, by its handle. */
type Attack = (world: World, i: number) => Promise<'done' | 'refused'>

interface World {
  readonly root: string
  readonly outside: string
  readonly real: string
  readonly call: (name: string, args: object, options?: object) => Promise<ToolResult>
}

export interface Outcome {
  readonly done: number
  readonly refused: number
}

const FIRST_LOOK = 'fs_grep_files (confined)'
const INSIDE = 'inside'
const SECRET = 'SECRET of the outside'

/** Runs one tool while another process swaps its directory for a link to the outside. Throws if anything gets through. */
export async function raceTool(
  base: string,
  name: string,
  enough: (rounds: number, ms: number, tally: Outcome) => boolean,
): Promise<Outcome> {
  const attack = ATTACKS[name]
  if (!attack) throw new Error(`no attack on ${name}`)
  const [root, outside] = [join(base, `race-${name}`), join(base, `outside-${name}`)]
  for (const path of [join(root, 'dir'), join(root, 'other'), outside]) mkdirSync(path, { recursive: true })
  writeFileSync(join(root, 'dir/leaf'), INSIDE)
  writeFileSync(join(root, 'dir/counter'), 'n=0\n')
  for (const file of ['leaf', 'counter', 'victim', 'new'])
    writeFileSync(join(outside, file), file === 'counter' ? 'n=0\n' : SECRET)
  // Reading changes the access time of a file that was changed after it was last read: a witness for "never read".
  for (const file of readdirSync(outside)) utimesSync(join(outside, file), 1000, 2000)
  const witness = name === FIRST_LOOK ? 'contents' : 'contents and times'
  const before = lookAt(outside, witness)
  const handle = openSync(join(root, 'dir'), 'r')
  const swapper = spawn(
    process.execPath,
    [join(import.meta.dirname, '../children/swapper.ts'), root, outside],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const world: World = {
    root,
    outside,
    real: `/proc/self/fd/${handle}`,
    call: (tool, args, options = {}) =>
      runTool(
        tool,
        JSON.stringify({
          context: { root, action: 'run', access: { fs: [{ path: '.', read: true, write: true }] } },
          tool: { name: tool, arguments: args, options },
        }),
      ),
  }
  const tally = { done: 0, refused: 0 }
  try {
    await once(swapper.stdout, 'data')
    const start = performance.now()
    for (let i = 0; !enough(i, performance.now() - start, tally); i++) tally[await attack(world, i)]++
  } finally {
    swapper.kill('SIGKILL')
    await once(swapper, 'exit')
    closeSync(handle)
  }
  const after = lookAt(outside, witness)
  if (after !== before) throw new Error(`${name} reached the outside:\n${before}\n${after}`)
  return tally
}

/** Names, contents and times. The times are taken first, because looking changes them. */
function lookAt(directory: string, witness: 'contents' | 'contents and times'): string {
  const names = readdirSync(directory).sort()
  const times = names.map((name) => statSync(join(directory, name)).atimeMs)
  const contents = names.map((name) => readFileSync(join(directory, name), 'utf8'))
  for (const name of names) utimesSync(join(directory, name), 1000, 2000)
  return JSON.stringify(witness === 'contents' ? { names, contents } : { names, times, contents })
}

const must = (condition: boolean, what: string): void => {
  if (!condition) throw new Error(what)
}

const outcomeOf = (result: ToolResult): 'done' | 'refused' => {
  must(!JSON.stringify(result).includes('SECRET'), `the outside was shown: ${JSON.stringify(result)}`)
  return result.type === 'success' ? 'done' : 'refused'
}

const ATTACKS: Readonly<Record<string, Attack>> = {
  async fs_read_file({ call }) {
    const result = await call('fs_read_file', { path: 'dir/leaf' })
    if (result.type === 'success')
      must(JSON.stringify(result.content).includes(INSIDE), `read something else: ${JSON.stringify(result)}`)
    return outcomeOf(result)
  },
  async fs_list_files({ call }, i) {
    const result = await call('fs_list_files', i % 2 === 0 ? {} : { path: 'dir' })
    must(!JSON.stringify(result).includes('victim'), `listed the outside: ${JSON.stringify(result)}`)
    return outcomeOf(result)
  },
  async fs_grep_files({ call }) {
    return outcomeOf(await call('fs_grep_files', { pattern: 'inside|SECRET', path: 'dir' }))
  },
  /** ripgrep's first look is only a hint; the kernel, which is not here, keeps it inside. Nothing of it is shown. */
  async [FIRST_LOOK]({ call }) {
    return outcomeOf(
      await call('fs_grep_files', { pattern: 'inside|SECRET', path: 'dir' }, { confined: true }),
    )
  },
  async fs_create_file(world, i) {
    const result = await world.call('fs_create_file', { path: `dir/new-${i}`, content: String(i) })
    if (result.type === 'success') must(takeFromDir(world, `new-${i}`) === String(i), `new-${i} is not there`)
    return outcomeOf(result)
  },
  async fs_modify_file({ call, real }) {
    const now = readFileSync(`${real}/counter`, 'utf8')
    const next = `n=${Number(now.slice(2)) + 1}\n`
    const result = await call('fs_modify_file', { edits: [{ path: 'dir/counter', old: now, new: next }] })
    must(
      readFileSync(`${real}/counter`, 'utf8') === (result.type === 'success' ? next : now),
      `lost an update: ${JSON.stringify(result)}`,
    )
    return outcomeOf(result)
  },
  async fs_delete_file({ call, real }, i) {
    writeFileSync(`${real}/victim`, String(i))
    const result = await call('fs_delete_file', { path: 'dir/victim' })
    must(
      existsSync(`${real}/victim`) === (result.type !== 'success'),
      `deleted something else: ${JSON.stringify(result)}`,
    )
    return outcomeOf(result)
  },
  async fs_move_file(world, i) {
    const { call, real, root } = world
    const [here, there] = [`${real}/victim`, join(root, `other/v${i}`)]
    writeFileSync(here, String(i))
    const out = await call('fs_move_file', { from: 'dir/victim', to: `other/v${i}` })
    must(existsSync(here) === (out.type !== 'success'), `moved something else: ${JSON.stringify(out)}`)
    if (out.type !== 'success') return outcomeOf(out)
    must(readFileSync(there, 'utf8') === String(i), `v${i} is not what was moved`)
    const back = await call('fs_move_file', { from: `other/v${i}`, to: `dir/back-${i}` })
    const content = back.type === 'success' ? takeFromDir(world, `back-${i}`) : readFileSync(there, 'utf8')
    must(content === String(i), `v${i} is lost: ${JSON.stringify(back)}`)
    return outcomeOf(back)
  },
}

/**
 * The content of a file that was made in `dir`. While the true directory is out of the way, a tool that makes
 * missing directories makes a new one, which is as much inside; it is emptied so that the attack goes on.
 */
function takeFromDir({ real, root }: World, name: string): string {
  if (existsSync(`${real}/${name}`)) return readFileSync(`${real}/${name}`, 'utf8')
  const made = join(root, 'dir')
  must(lstatSync(made).isDirectory(), `${name} was made somewhere else`)
  const content = readFileSync(join(made, name), 'utf8')
  unlinkSync(join(made, name)) // empty, it gives way to the true one
  return content
}

/** What is proven of each: the first look of a confined search is kept inside by the kernel, not by us. */
export const RACED: ReadonlyMap<string, string> = new Map(
  Object.keys(ATTACKS).map((name) => [
    name,
    name === FIRST_LOOK ? 'shows nothing of the outside' : 'never reaches the outside',
  ]),
)
