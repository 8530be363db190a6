import { join } from 'node:path'
import type { Compiler } from '../src/policies.ts'
import type { ProjectOptions } from '../src/project.ts'
import { TRUSTING } from './trusting.ts'

/** A project in `ws`, of a person whose home is beside it and whom nobody can ask. */
export function projectIn(base: string): { readonly options: ProjectOptions; readonly compiler: Compiler } {
  const surroundings = { env: {}, platform: 'linux', home: join(base, 'home'), uid: process.getuid?.() }
  const { uid, home } = surroundings
  return {
    options: { cwd: join(base, 'ws'), surroundings, cfg: [], trust: TRUSTING },
    compiler: { pid: process.pid, uid, home, session: 'test', person: undefined },
  }
}
