import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { type SessionOptions, ToolSession } from '../../src/execute/session.ts'
import { openAmbientProject, type Project } from '../../src/project.ts'
import { TRUSTING } from '../trusting.ts'
import { launchers } from './seen.ts'

const TOOLS = join(import.meta.dirname, '../../../cli/dist/tools.cjs')

/** A workspace and a home, and sessions in it. */
export class SessionPlace implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'cordon-session-')))
  readonly root = join(this.base, 'ws')
  readonly home = join(this.base, 'home')
  /** Where approvals are kept, once there are some. */
  approvals = ''
  readonly #sessions: ToolSession[] = []

  constructor(files: Readonly<Record<string, string>>) {
    mkdirSync(this.home)
    mkdirSync(join(this.root, '.cordon'), { recursive: true })
    for (const [name, text] of Object.entries(files)) this.write(name, text)
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.root, name)), { recursive: true })
    writeFileSync(join(this.root, name), text)
  }

  project(): Promise<Project> {
    const surroundings = {
      env: {},
      platform: process.platform,
      home: this.home,
      uid: process.getuid?.(),
    }
    return openAmbientProject({ cwd: this.root, surroundings, cfg: [], trust: TRUSTING })
  }

  session(
    workers: SessionOptions['workers'] = 'stay',
    tools = TOOLS,
    project = () => this.project(),
  ): ToolSession {
    const uid = process.getuid?.()
    const session = new ToolSession({
      project,
      compiler: { pid: process.pid, uid, home: this.home, session: 'test', person: undefined },
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: this.home },
      installation: { node: process.execPath, tools },
      workers,
    })
    this.#sessions.push(session)
    return session
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const session of this.#sessions) await session.close()
    rmSync(this.base, { recursive: true, force: true })
  }
}

/** Waits for the end of one; a test that waits for ever has found one that stays. */
export async function untilGone(launcher: number | undefined): Promise<void> {
  expect(launcher).toBeTypeOf('number')
  while (launchers().some((pid) => pid === launcher)) await setTimeout(5)
}
