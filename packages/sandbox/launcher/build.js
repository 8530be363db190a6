// The package's install step: builds the launcher with the system's C compiler. Without one the installation
// succeeds, and every confined call says what is missing (SPEC 4.3).
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const FLAGS = ['-O2', '-Wall', '-Wextra', '-Werror', '-std=c11', '-D_GNU_SOURCE', '-fstack-protector-strong']

// The first that this compiler can do. Static: nothing of the environment or of the system's libraries is loaded.
// With libc/ instead of the system's libc it starts ten times as fast (docs/decisions/0096).
const WAYS = [
  {
    sources: ['src', 'libc'],
    flags: ['-static', '-nostdlib', '-mstack-protector-guard=global', '-U_FORTIFY_SOURCE'],
  },
  { sources: ['src'], flags: ['-static'] },
  { sources: ['src'], flags: [] },
]

const note = (text) => process.stderr.write(`@cordon/sandbox: ${text}\n`)

const filesIn = (dir) =>
  readdirSync(join(here, dir))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(here, dir, name))

function compile(output, { sources, flags }) {
  const cc = process.env.CC ?? 'cc'
  return spawnSync(cc, [...FLAGS, ...flags, ...sources.flatMap(filesIn), '-o', output], { encoding: 'utf8' })
}

function build() {
  if (process.platform !== 'linux') return note('no launcher on this platform')
  mkdirSync(join(here, 'build'), { recursive: true })
  const output = join(here, 'build', 'cordon-launch')
  const fresh = `${output}.${process.pid}`
  let said = ''
  for (const way of WAYS) {
    const { error, status, stderr } = compile(fresh, way)
    if (error)
      return note(`no C compiler (${error.code}): confined calls will refuse to run until it is built`)
    if (status === 0) return renameSync(fresh, output)
    said = stderr
  }
  note(`the launcher does not compile here:\n${said}`)
}

build()
