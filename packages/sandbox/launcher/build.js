// The package's install step: builds the launcher with the system's C compiler. Without one the installation
// succeeds, and every confined call says what is missing (SPEC 4.3).
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const FLAGS = ['-O2', '-Wall', '-Wextra', '-Werror', '-std=c11', '-D_GNU_SOURCE', '-fstack-protector-strong']

const note = (text) => process.stderr.write(`@cordon/sandbox: ${text}\n`)

function compile(output, extra) {
  const sources = readdirSync(join(here, 'src'))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(here, 'src', name))
  const cc = process.env.CC ?? 'cc'
  return spawnSync(cc, [...FLAGS, ...extra, ...sources, '-o', output], { encoding: 'utf8' })
}

function build() {
  if (process.platform !== 'linux') return note('no launcher on this platform')
  mkdirSync(join(here, 'build'), { recursive: true })
  const output = join(here, 'build', 'cordon-launch')
  const fresh = `${output}.${process.pid}`
  // Static where libc allows it: nothing of the environment or of the system's libraries is then loaded.
  for (const extra of [['-static'], []]) {
    const { error, status, stderr } = compile(fresh, extra)
    if (error)
      return note(`no C compiler (${error.code}): confined calls will refuse to run until it is built`)
    if (status === 0) return renameSync(fresh, output)
    if (extra.length === 0) note(`the launcher does not compile here:\n${stderr}`)
  }
}

build()
