/**
 * Starts the tools (`main.ts`, bundled beside this) with the code that V8 made of them when they were built (decision 0243).
 * Without it, and with any other Node, everything works, only slower.
 */
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Script } from 'node:vm'

const here = dirname(import.meta.filename)
const program = join(here, 'tools.cjs')

/** The program is ASCII. @public scripts/compile-tools.cjs */
export const script = new Script(
  `(function (exports, require, module, __filename, __dirname) {${readFileSync(program, 'latin1')}\n})`,
  { filename: program, cachedData: codeOf(join(here, 'tools.code')) },
)

const main = script.runInThisContext() as (...parts: readonly unknown[]) => void
main({}, createRequire(program), {}, program, here)

/** V8 compares no more than the length of the source, so code that is older than the program is of another one. */
function codeOf(file: string): Buffer | undefined {
  try {
    return statSync(file).mtimeMs < statSync(program).mtimeMs ? undefined : readFileSync(file)
  } catch {
    return undefined // there is none
  }
}
