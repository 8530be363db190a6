import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { Admin } from '../../src/admin.ts'
import { type Serving } from '../../src/http/serve.ts'
import type { DatabaseChoice } from '../../src/storage/database.ts'
import { type Agent, send, type Sent, TestPlace } from '../place.ts'

/** Two providers on one database, an agent whose deletes need a person, and who administers them. */
export class StepUpPlace {
  place!: TestPlace
  other!: Serving
  agent!: Agent
  admin!: Admin
  #made = 0

  async start(choice: DatabaseChoice | undefined): Promise<void> {
    const place = await TestPlace.start(choice)
    this.place = place
    this.other = await place.serve()
    this.agent = await place.agent('careful', [
      { name: 'filesystem:write-subdir', prefix: place.files as never },
      { name: 'filesystem:subdir-read', prefix: place.files as never },
      { name: 'filesystem:delete-step-up' },
    ])
    const { dataDir: dir, clock } = place
    this.admin = await Admin.open({ choice: place.choice, dir, by: 'the test', clock })
  }

  async close(): Promise<void> {
    await this.admin.close()
    await this.other.stop()
    await this.place.close()
  }

  /** For names that nothing else has. */
  next = (): number => this.#made++

  file = (text = 'x'): string => {
    const path = join(this.place.files, `f${this.next()}`)
    writeFileSync(path, text)
    return path
  }

  remove = (path: string, more: object = {}, url?: string): Promise<Sent> =>
    send(this.agent, '/filesystem/file/delete', { path, ...more }, url === undefined ? {} : { url })

  /** The approval that it takes to delete this. */
  asked = async (path: string): Promise<string> => {
    const { status, code, error } = await this.remove(path)
    expect({ status, code }).toEqual({ status: 428, code: 'step_up_required' })
    return String(error['approval'])
  }
}

/** May look, and do everything else with a person. */
export const STEP_UP = `permit (principal, action in [Action::"/filesystem/file/read", Action::"/filesystem/file/stat", Action::"/filesystem/dir/list"], resource);
permit (principal, action, resource) when { context has cosigner && context.cosigner };`
