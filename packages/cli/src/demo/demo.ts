import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { initProject, RecordedModel } from '@cordon/host'
import { tomlString } from '@cordon/policy'
import { wrapBelow } from '../format/wrap.ts'
import { query } from '../query.ts'
import type { World } from '../world.ts'
import { makePlace, sweepPlaces } from './place.ts'
import { type Change, FILES, QUESTION, stepOf } from './story.ts'

export interface DemoFlags {
  readonly pace: number
}

/**
 * A whole conversation in a temporary workspace, without key or network: the model is recorded, everything else is what
 * `cordon q` does. Leaves nothing behind.
 */
export async function demo(world: World, { pace }: DemoFlags): Promise<void> {
  sweepPlaces(world)
  const dir = makePlace()
  const clean = (): void => rmSync(dir, { recursive: true, force: true })
  const dieBy = (signal: NodeJS.Signals): void => {
    clean()
    world.dieBy(signal)
  }
  world.atEnd(clean)
  const stop = world.onInterrupt(dieBy)
  try {
    await using model = await RecordedModel.start((_, index) => ({
      ...stepOf(index, changeIn(dir)),
      pace,
    }))
    const inside = await prepare(world, dir, model.url, dieBy)
    introduce(world)
    await query(inside, QUESTION, {
      cfg: [],
      attach: ['../Downloads/report.txt'],
      mounts: [{ kind: 'mount', text: 'fork=../fork' }],
      tool: [],
      withheld: [],
      persist: true,
    })
    conclude(world, dir)
  } finally {
    stop()
    clean()
  }
}

/** Its files, its own place for everything that Cordon keeps, and a configuration that is a person's. */
async function prepare(world: World, dir: string, url: string, dieBy: World['dieBy']): Promise<World> {
  for (const [name, text] of Object.entries(FILES)) write(join(dir, name), text)
  const home = join(dir, 'home')
  const env = {
    // Nothing of the person's own configuration: no other model, and none of their keys.
    ...Object.fromEntries(Object.entries(world.env).filter(([name]) => !/^CORDON_|_API_KEY$/.test(name))),
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_CACHE_HOME: join(home, '.cache'),
    CORDON_BACKGROUND: 'off',
    KEY: join(home, '.ssh/id_ed25519'),
  }
  const cwd = join(dir, 'shop')
  const inside = Object.create(world, {
    cwd: { value: cwd },
    home: { value: home },
    env: { value: env },
    dieBy: { value: dieBy },
  }) as World
  write(join(home, '.config/cordon/config.toml'), configFor(world, url))
  await initProject(cwd, inside, { pid: world.pid, command: 'cordon demo' })
  return inside
}

/** As everybody has it: reading needs no question, changing a file does, where somebody can be asked. */
const configFor = (world: World, url: string): string => `[assistant]
model = "recorded/demo"

[providers.llm.recorded]
kind = "openai-compatible"
base_url = ${tomlString(url)}

[conversation.tools.fs_modify_file]
run = "${world.askLine ? 'ask' : 'unattended'}"

[conversation.tools.check_style]
source = "mcp.style"
run = "unattended"

[providers.mcp.style]
command = ${tomlString(world.node)}
arguments = ["tools/style-server.mjs"]

[[providers.mcp.style.access.env]]
name = "KEY"
read = true
`

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  writeFileSync(file, text)
}

function introduce({ err }: World): void {
  err.write(
    [
      err.style('bold', 'A conversation in a temporary workspace.'),
      wrapBelow(
        'The model is recorded: no key, no network. Tools, policy and sandbox are real.',
        '',
        err.columns,
      ),
      '',
      `${err.style('dim', '$')} cordon q --attach ../Downloads/report.txt --mount fork=../fork \\`,
      `    "${QUESTION}"`,
      '',
      '',
    ].join('\n'),
  )
}

/** What came of the one change that the model wants: a person may say no to it, or edit it. */
function changeIn(dir: string): Change {
  const text = readFileSync(join(dir, 'shop', PRICE), 'utf8')
  return text === FILES[`shop/${PRICE}`] ? 'none' : text.includes('price + tax') ? 'as wanted' : 'another'
}

const PRICE = 'src/price.js'

function conclude({ err }: World, dir: string): void {
  err.write(
    [
      '',
      wrapBelow(
        `src/price.js ${changeIn(dir) === 'none' ? 'is as it was' : 'is changed'}; the key in the home was never in the sandbox.`,
        '',
        err.columns,
      ),
      'All of it is deleted now.',
      '',
      err.style('bold', 'Next, in a project of yours:'),
      '  cordon init',
      'may a tool do it, and which rule says so:',
      '  cordon why fs_create_file create src/new.ts',
      'which models can be reached:',
      '  cordon models',
      'and then:',
      '  cordon q "what is this project about?"',
      '',
    ].join('\n'),
  )
}
