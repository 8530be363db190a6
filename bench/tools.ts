/** fs_grep_files as a whole process, bundled as it ships: against ripgrep, and with a policy against without. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { build } from 'rolldown'
import { compare } from './measure.ts'

const FILES = 50_000
const PER_DIRECTORY = 100

async function run(): Promise<void> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-bench-')))
  try {
    const main = await bundle(join(import.meta.dirname, '../node_modules/.cache/cordon-bench'))
    const tree = join(base, 'tree')
    const bytes = plant(tree)
    console.log(`${FILES.toLocaleString('en')} files, ${(bytes / 1e6).toFixed(0)} MB`)
    for (const pattern of ['needle', 'ne{2}dle[0-9]', '[a-z]+_[a-z]+_needle'])
      compareWithRipgrep(main, tree, pattern)
    comparePolicies(main, tree)
  } finally {
    rmSync(base, { recursive: true })
  }
}

/** Confined, as the host runs it; and by itself, where every file is read through our own handles (decision 0071). */
function compareWithRipgrep(main: string, tree: string, pattern: string): void {
  for (const confined of [true, false]) compareOne(main, tree, pattern, { confined })
}

function compareOne(
  main: string,
  tree: string,
  pattern: string,
  options: { readonly confined: boolean },
): void {
  compare({
    title: `fs_grep_files ${pattern} (${options.confined ? 'confined' : 'by itself'}) against rg on the same`,
    ours: { name: 'fs_grep_files', run: () => grep(main, tree, pattern, null, options) },
    theirs: { name: 'rg', run: () => search(tree, pattern) },
    batch: 1,
    rounds: 7,
    atMost: 2,
  })
}

/** A policy as one would write it: most of it readable, some narrower rules, one place denied. */
function comparePolicies(main: string, tree: string): void {
  const narrower = Array.from({ length: 50 }, (_, i) => ({
    path: `p${i % 20}/s${i}`,
    read: true,
    write: i % 2 === 0,
  }))
  const access = { fs: [{ path: '.', read: true }, { path: 'secret' }, ...narrower] }
  compare({
    title: 'fs_grep_files with a policy of 52 rules against the same without a policy',
    ours: { name: 'with', run: () => grep(main, tree, 'needle', access, { confined: true }) },
    theirs: { name: 'without', run: () => grep(main, tree, 'needle', null, { confined: true }) },
    batch: 1,
    rounds: 11,
    atMost: 1.2,
  })
}

function grep(main: string, root: string, pattern: string, access: unknown, options: object): void {
  const call = {
    context: { root, action: 'run', access },
    tool: { name: 'fs_grep_files', arguments: { pattern, limit: 10_000 }, options },
  }
  const { status, stdout } = spawnSync(process.execPath, [main], {
    input: JSON.stringify(call),
    maxBuffer: 1e9,
  })
  if (status !== 0) throw new Error(`fs_grep_files failed: ${stdout.toString('utf8')}`)
}

function search(root: string, pattern: string): void {
  const { status } = spawnSync(rgPath, ['--no-config', '-n', '-e', pattern, '.'], {
    cwd: root,
    maxBuffer: 1e9,
  })
  if (status !== 0) throw new Error('rg found nothing')
}

/** In the repository, so that what is not bundled (the ripgrep binary) is found. */
async function bundle(directory: string): Promise<string> {
  await build({
    input: { main: join(import.meta.dirname, '../packages/tools/src/main.ts') },
    platform: 'node',
    external: ['@vscode/ripgrep'],
    resolve: { conditionNames: ['cordon-source', 'node', 'import', 'default'] },
    output: { dir: directory, format: 'esm', cleanDir: true },
    logLevel: 'silent',
  })
  return join(directory, 'main.js')
}

const WORDS =
  'const let function return import export if else for while value index error path file read open result policy'.split(
    ' ',
  )

/** Source-like text, about 2.5 KB a file, the same every time; one file in fifty has what is looked for. */
function plant(tree: string): number {
  let seed = 1
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below
  let bytes = 0
  for (let n = 0; n < FILES; n++) {
    const directory = join(
      tree,
      `p${Math.floor(n / PER_DIRECTORY) % 20}`,
      `s${Math.floor(n / PER_DIRECTORY)}`,
    )
    if (n % PER_DIRECTORY === 0) mkdirSync(directory, { recursive: true })
    const lines = Array.from({ length: 20 + random(120) }, () =>
      Array.from({ length: 6 }, () => WORDS[random(WORDS.length)]).join(' '),
    )
    if (n % 50 === 0) lines.push(`the_long_needle${n % 10} is here`)
    const content = `${lines.join('\n')}\n`
    bytes += content.length
    writeFileSync(join(directory, `f${n}.ts`), content)
  }
  return bytes
}

await run()
