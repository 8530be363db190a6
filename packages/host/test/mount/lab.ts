import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAmbientProjectIn } from '../../src/conversation/open.ts'
import { compileProject, type Policies } from '../../src/policies.ts'
import { changeMounts, type MountCommand, type MountOutcome, planIn } from '../../src/mount/change.ts'
import { MountError } from '../../src/mount/errors.ts'
import { listMounts, type MountView } from '../../src/mount/list.ts'
import type { MountFlag, MountPlan } from '../../src/mount/plan.ts'
import type { Project } from '../../src/project.ts'
import { parseQuestion } from '../../src/why/question.ts'
import { why } from '../../src/why/why.ts'
import { openWorkspace } from '@cordon/workspace'
import { storeOf } from '../../src/trust/gate.ts'
import { TRUSTING } from '../trusting.ts'

/** A workspace, a home, and a place outside of both, all real. */
export class Lab {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-mount-')))
  readonly root = this.#dir('ws')
  readonly home = this.#dir('home')
  readonly outside = this.#dir('outside')
  readonly surroundings = { env: {}, platform: 'linux', home: this.home, uid: process.getuid?.() }
  readonly user = { pid: process.pid, session: 'lab', uid: this.surroundings.uid }

  constructor() {
    mkdirSync(join(this.root, '.cordon'))
  }

  #dir(name: string): string {
    mkdirSync(join(this.base, name))
    return join(this.base, name)
  }

  /** A directory outside, with a file in it. */
  place(name: string): string {
    const path = join(this.outside, name)
    mkdirSync(path, { recursive: true })
    writeFileSync(join(path, 'file'), name)
    return path
  }

  write(toml: string): void {
    writeFileSync(join(this.root, '.cordon/config.toml'), toml)
  }

  options(cwd = this.root, cfg: readonly string[] = []): MountCommand['options'] {
    return { cwd, surroundings: this.surroundings, cfg, trust: TRUSTING }
  }

  project(cfg: readonly string[] = []): Promise<Project> {
    return openAmbientProjectIn(this.options(this.root, cfg), this.user, 'last used')
  }

  async plan(flags: readonly MountFlag[], cwd?: string): Promise<MountPlan> {
    return planIn(await this.project(), this.options(cwd), flags)
  }

  /** The whole message, or what was planned instead of it. */
  async problem(flags: readonly MountFlag[], cwd?: string): Promise<string> {
    try {
      return `planned ${JSON.stringify((await this.plan(flags, cwd)).steps)}`
    } catch (error) {
      if (error instanceof MountError) return error.message
      throw error
    }
  }

  change(flags: readonly MountFlag[], more: Partial<MountCommand> = {}): Promise<MountOutcome> {
    const audience = { person: undefined, tell: () => {} }
    return changeMounts({
      options: this.options(),
      user: this.user,
      conversation: 'last used',
      flags,
      audience,
      ...more,
    })
  }

  async policies(): Promise<Policies> {
    return compileProject(await this.project(), { ...this.user, home: this.home, person: undefined })
  }

  async allows(tool: string, capability: string, target: string): Promise<boolean> {
    const place = { cwd: this.root, home: this.home, env: {} }
    const question = parseQuestion(capability, target)
    return why(await this.project(), await this.policies(), tool, question, place).allowed
  }

  async mounts(): Promise<MountView[]> {
    return listMounts(await this.project(), this.user)
  }

  /** As the store has them; what the test wrote as configuration is trusted there as well. */
  async approvedMounts(): Promise<readonly unknown[]> {
    const workspace = openWorkspace(this.root, this.surroundings)!
    return (await storeOf(workspace, this.surroundings, this.user).read()).mounts
  }

  /** Everything in a directory, links with where they lead, without `.cordon`. */
  tree(dir = this.root): string[] {
    return readdirSync(dir)
      .filter((name) => name !== '.cordon')
      .toSorted()
      .flatMap((name) => {
        const path = join(dir, name)
        const shown = path.slice(this.root.length + 1)
        const stat = lstatSync(path)
        if (stat.isSymbolicLink()) return [`${shown} -> ${readlinkSync(path)}`]
        return stat.isDirectory() ? [`${shown}/`, ...this.tree(path)] : [shown]
      })
  }
}

export const mount = (text: string): MountFlag => ({ kind: 'mount', text })
export const noMount = (name?: string): MountFlag => ({ kind: 'no-mount', name })
