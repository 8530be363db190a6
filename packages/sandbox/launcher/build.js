// The package's install step: builds the launcher with the system's C compiler. Without one the installation
// succeeds, and every confined call says what is missing (SPEC 4.3). `--strict`, for our own builds: a warning of the
// compiler, and a launcher that cannot be built, is an error.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const strict = process.argv.includes('--strict')
const HARDENED = [
  '-fstack-protector-strong',
  '-U_FORTIFY_SOURCE',
  '-D_FORTIFY_SOURCE=3',
  '-Wl,-z,relro,-z,now',
]
const WARNINGS = strict ? ['-Wall', '-Wextra', '-Wshadow', '-Werror'] : []
const FLAGS = ['-O2', '-std=c11', '-D_GNU_SOURCE', ...HARDENED, ...WARNINGS]

// The first that can be built and starts. Static before dynamic: then nothing of the system's is loaded at each start.
// Without the linker's option musl-gcc makes a dynamic program of the first and says nothing.
const WAYS = [
  { name: 'static, at a random address', flags: ['-fPIE', '-static-pie', '-Wl,--no-dynamic-linker'] },
  { name: 'static', flags: ['-static'] },
  { name: 'dynamic, because there is no static libc', flags: ['-fPIE', '-pie'] },
]

const note = (text) => process.stderr.write(`@cordon/sandbox: ${text}\n`)

function fail(text) {
  note(text)
  if (strict) process.exitCode = 1
}

const sources = () =>
  readdirSync(join(here, 'src'))
    .filter((name) => name.endsWith('.c'))
    .map((name) => join(here, 'src', name))

/** CC may have options of its own, as for make; empty, it is as if it were not set. */
function compile(output, flags) {
  const [cc, ...options] = (process.env.CC?.trim() || 'cc').split(/\s+/)
  return spawnSync(cc, [...options, ...FLAGS, ...flags, ...sources(), '-o', output], { encoding: 'utf8' })
}

/** Under a name that it does not know it does nothing, and ends with this code. */
const starts = (launcher) => spawnSync(launcher, { argv0: 'cordon', env: {} }).status === 125

function build() {
  if (process.platform !== 'linux') return note('no launcher on this platform')
  mkdirSync(join(here, 'build'), { recursive: true })
  const output = join(here, 'build', 'cordon-launch')
  const fresh = `${output}.${process.pid}`
  let said = ''
  for (const { name, flags } of WAYS) {
    const { error, status, stderr } = compile(fresh, flags)
    if (error)
      return fail(
        `warning: no C compiler (${error.code}), so the launcher was not built and nothing can be confined; install one (apt install gcc libc6-dev, or the like), then: npm rebuild @cordon/sandbox`,
      )
    if (status === 0 && starts(fresh)) {
      renameSync(fresh, output)
      return note(`the launcher is ${name}`)
    }
    said = stderr || 'what was built does not start\n'
    rmSync(fresh, { force: true })
  }
  fail(`the launcher cannot be built here:\n${said}`)
}

build()
