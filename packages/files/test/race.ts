import { execFileSync, spawn } from 'node:child_process'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { parseRelPath as rel, type RelPath } from '@cordon/policy'
import { type Anchor, FileError } from '../src/index.ts'
import { allOf } from './place.ts'

/** What one run of the race saw. */
export interface Outcome {
  readonly swaps: number
  /** By operation: how often it went through, and how often it was refused, by code. */
  readonly counts: Record<string, Record<string, number>>
  /** Everything that must never happen, as text. Empty is a pass. */
  readonly breaches: string[]
}

const SECRET = 'secret'
const FILES = ['f', 'g', 'h']

/**
 * Another process exchanges a directory with a link to the outside, and its parent with another, as fast
 * as it can, while every operation runs `rounds` times on paths that lead through both; and longer, as long as `isEnough`
 * says no: who wins is the scheduler's business.
 */
export async function race(
  open: (path: string) => Anchor,
  base: string,
  rounds: number,
  isEnough: (counts: Outcome['counts']) => boolean = () => true,
): Promise<Outcome> {
  const { inside, outside } = build(base)
  const before = snapshot(outside)
  const swapper = await startSwapper(base, [
    [join(inside, 'a'), join(inside, 'a-link')],
    [join(inside, 'a/d'), join(inside, 'a/d-link')],
  ])
  const anchor = open(inside)
  const run = new Run(anchor)
  try {
    for (let round = 0; round < rounds || (!isEnough(run.counts) && round < 50 * rounds); round++) {
      run.everything(round)
      if (round % 16 === 0) await run.streams()
    }
  } finally {
    anchor.close()
  }
  const swaps = await swapper.stop()
  const after = snapshot(outside)
  if (JSON.stringify(after) !== JSON.stringify(before))
    run.breaches.push(`outside changed: ${JSON.stringify({ before, after })}`)
  run.breaches.push(...lost(inside, run.kept))
  return { swaps, counts: run.counts, breaches: run.breaches }
}

function build(base: string): { inside: string; outside: string } {
  const inside = join(base, 'inside')
  const outside = join(base, 'outside')
  for (const [top, text] of [
    [inside, 'mine'],
    [outside, SECRET],
  ] as const) {
    mkdirSync(join(top, 'a/d/sub'), { recursive: true })
    for (const name of FILES) writeFileSync(join(top, 'a/d', name), text)
    writeFileSync(join(top, 'a/d/sub', `only-${text}`), text)
  }
  mkdirSync(join(outside, 'a/d/only-outside/sub'), { recursive: true })
  writeFileSync(join(outside, 'a/d/only-outside/sub/f'), SECRET)
  for (let i = 0; i < 50; i++) writeFileSync(join(outside, 'a/d', `victim-${i}`), SECRET)
  symlinkSync(join(outside, 'a'), join(inside, 'a-link'))
  symlinkSync(join(outside, 'a/d'), join(inside, 'a/d-link'))
  return { inside, outside }
}

/** Each operation, what it may answer, and what must still be there afterwards. */
class Run {
  readonly counts: Outcome['counts'] = {}
  readonly breaches: string[] = []
  /** Names in `a/d` that were reported as written and not reported as removed. */
  readonly kept: Map<string, string> = new Map(FILES.map((name) => [name, 'mine']))
  readonly #anchor: Anchor

  constructor(anchor: Anchor) {
    this.#anchor = anchor
  }

  everything(round: number): void {
    const anchor = this.#anchor
    this.#try('read', () => this.#mine(anchor.readFile(at('f'))))
    this.#try('read range', () => this.#mine(anchor.readRange(at('f'), { start: 0, length: 6 })))
    this.#try('stat', () => this.#mustBe(anchor.stat(at('f')).size, 'mine'.length))
    this.#try('read victim', () => this.#mine(anchor.readFile(at(`victim-${round % 50}`))))
    this.#try('list', () => this.#names(anchor.list(rel('a/d')).map(({ name }) => String(name))))
    this.#try('walk', () => this.#names([...anchor.walk(rel('a'))].map(({ path }) => String(path))))
    this.#try('list some', () =>
      this.#names(anchor.listSome(rel('a/d'), BOUNDS).entries.map(({ name }) => String(name))),
    )
    this.#try('tree', () =>
      this.#names(anchor.tree(rel('a'), { ...BOUNDS, depth: 9 }).entries.map(({ path }) => String(path))),
    )
    this.#try('write', () => anchor.writeFile(at('f'), 'mine'))
    this.#try('unlink victim', () => anchor.unlink(at(`victim-${round % 50}`)))
    this.#try('sweep', () => anchor.sweepTemps(rel('a/d')))
    this.#try('mkdirp', () => anchor.mkdirp(rel(`a/d/made/${round}`)))
    this.#try('rmdir', () => anchor.rmdir(rel(`a/d/made/${round}`)))
    this.#try('symlink', () => anchor.symlink(at(`link-${round}`), 'f'))
    this.#try('unlink link', () => anchor.unlink(at(`link-${round}`)))
    this.#create(`new-${round}`)
    this.#rename(`new-${round}`, `moved-${round}`)
    this.#remove(`moved-${round - 8}`)
  }

  async streams(): Promise<void> {
    const anchor = this.#anchor
    await this.#tryAsync('stream in', async () => {
      await anchor.writeStream(rel('a/d/g'), [Buffer.from('mi'), Buffer.from('ne')])
    })
    await this.#tryAsync('stream out', async () => {
      this.#mine(await allOf(anchor.readPieces(rel('a/d/g'))))
    })
    await this.#tryAsync('hash', async () => this.#mustBe((await anchor.hash(at('f'))).size, 'mine'.length))
    await this.#tryAsync('write if match', () =>
      anchor.writeStream(at('f'), [Buffer.from('mine')], { expect: { sha256: MINE } }),
    )
    await this.#tryAsync('copy', async () => {
      const name = `copy-${this.kept.size}`
      await anchor.copy(at('f'), at(name))
      this.kept.set(name, 'mine')
    })
    await this.#tryAsync('remove tree', async () => {
      anchor.mkdirp(rel('a/d/tree/below'))
      const { failed } = await anchor.removeTree(rel('a/d/tree'))
      if (failed) throw failed
    })
    // On the outside there is one, too: with every file that must survive.
    await this.#tryAsync('remove outside', async () => {
      const { failed } = await anchor.removeTree(rel('a/d/only-outside'))
      if (failed) throw failed
    })
    await this.#tryAsync('stage', async () => {
      const staged = anchor.stage(rel('a/d'))
      try {
        await staged.write(Buffer.from('mine'))
        await staged.commit(rel('a/d/h'))
      } finally {
        await staged.abort()
      }
      this.kept.set('h', 'mine')
    })
  }

  #create(name: string): void {
    this.#try('create', () => {
      this.#anchor.createExclusive(rel(`a/d/${name}`), name)
      this.kept.set(name, name)
    })
  }

  #rename(from: string, to: string): void {
    this.#try('rename', () => {
      this.#anchor.rename(rel(`a/d/${from}`), rel(`a/d/${to}`))
      this.kept.delete(from)
      this.kept.set(to, from)
    })
  }

  #remove(name: string): void {
    this.#try('unlink', () => {
      this.#anchor.unlink(rel(`a/d/${name}`))
      this.kept.delete(name)
    })
  }

  #mine(content: Buffer): void {
    if (content.toString() !== 'mine') this.breaches.push(`read ${content.toString()}`)
  }

  #mustBe(is: number, should: number): void {
    if (is !== should) this.breaches.push(`saw ${is} instead of ${should}`)
  }

  #names(names: string[]): void {
    const bad = names.find((name) => name.includes('victim') || name.includes(`only-${SECRET}`))
    if (bad !== undefined) this.breaches.push(`listed ${bad}`)
  }

  #try(name: string, act: () => unknown): void {
    try {
      act()
      this.#count(name, 'done')
    } catch (error) {
      this.#refused(name, error)
    }
  }

  async #tryAsync(name: string, act: () => Promise<void>): Promise<void> {
    try {
      await act()
      this.#count(name, 'done')
    } catch (error) {
      this.#refused(name, error)
    }
  }

  #refused(name: string, error: unknown): void {
    if (!(error instanceof FileError)) throw error
    if (error.message.includes('/proc/')) this.breaches.push(`a handle in a message: ${error.message}`)
    this.#count(name, error.code)
  }

  #count(name: string, what: string): void {
    const counts = (this.counts[name] ??= {})
    counts[what] = (counts[what] ?? 0) + 1
  }
}

const BOUNDS = { entries: 10_000, bytes: 1_000_000 }
const MINE = createHash('sha256').update('mine').digest('hex')

const at = (name: string): RelPath => rel(`a/d/${name}`)

const real = (a: string, b: string): string => (lstatSync(a).isSymbolicLink() ? b : a)

/** Where the real directory is now, under whichever of its names, everything acknowledged must be there. */
function lost(inside: string, kept: Map<string, string>): string[] {
  const a = real(join(inside, 'a'), join(inside, 'a-link'))
  const d = real(join(a, 'd'), join(a, 'd-link'))
  const breaches = readdirSync(d)
    .filter((name) => name.startsWith('.cordon-tmp-'))
    .map((name) => `left ${name}`)
  for (const [name, text] of kept) {
    try {
      const is = readFileSync(join(d, name), 'utf8')
      if (is !== text) breaches.push(`${name} holds ${is}`)
    } catch (error) {
      breaches.push(`lost ${name}: ${String(error)}`)
    }
  }
  return breaches
}

/** Names, contents and change times: a removal, a write, a chmod or a new name would show. */
function snapshot(top: string): string[] {
  return readdirSync(top, { recursive: true, encoding: 'utf8' })
    .concat('.')
    .sort()
    .map((name) => {
      const path = join(top, name)
      const stats = lstatSync(path, { bigint: true })
      const content = stats.isFile()
        ? readFileSync(path, 'utf8')
        : stats.isSymbolicLink()
          ? readlinkSync(path)
          : ''
      return `${name} ${stats.mode} ${stats.ctimeNs} ${stats.nlink} ${content}`
    })
}

async function startSwapper(base: string, pairs: string[][]): Promise<{ stop: () => Promise<number> }> {
  const program = join(base, 'swapper')
  execFileSync('cc', ['-O2', '-Wall', '-Werror', '-o', program, join(import.meta.dirname, 'swapper.c')])
  const child = spawn(program, pairs.flat(), { stdio: ['pipe', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const closed = new Promise((done) => child.once('close', done))
  await new Promise((done) => child.stdout.once('data', done))
  return {
    stop: async () => {
      child.stdin.end('x')
      await closed
      return Number(output.trim().split('\n').at(-1))
    },
  }
}
