import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makePrivateDirectory, type Workspace } from '@cordon/workspace'
import { describeGrant, type SensitiveGrant } from '../compile/sensitive.ts'
import type { Person } from './approve.ts'

/** SPEC 4.9: what was confirmed in this session, so that it is asked once and not at every command. */
export interface SessionMemory {
  has(key: string): boolean
  add(key: string): void
}

export const sessionMemoryOf = ({ local }: Pick<Workspace, 'local'>, session: string): SessionMemory =>
  openSessionMemory(join(local, 'sessions', `${session}.json`))

/** Kept in the user-local place, one file a session. A file that cannot be read confirms nothing. */
function openSessionMemory(file: string): SessionMemory {
  const keys = new Set(readKeys(file))
  return {
    has: (key) => keys.has(key),
    add: (key) => {
      keys.add(key)
      makePrivateDirectory(dirname(file))
      writeFileSync(file, `${JSON.stringify([...keys])}\n`, { mode: 0o600 })
    },
  }
}

function readKeys(file: string): string[] {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return Array.isArray(value) ? value.filter((key) => typeof key === 'string') : []
  } catch {
    return []
  }
}

/** Returns the grants that were refused. Each is asked about once a session; a no is asked again next time. */
export async function refusedGrants(
  grants: readonly SensitiveGrant[],
  memory: SessionMemory,
  person: Person,
): Promise<SensitiveGrant[]> {
  const refused: SensitiveGrant[] = []
  for (const grant of grants) {
    if (memory.has(grant.key)) continue
    const place = grant.rule.origin ?? 'an unknown place'
    const question = `${describeGrant(grant)}\n  at ${place}\n\nGrant it for this session? [y/N] `
    if (await person.confirms(question)) memory.add(grant.key)
    else refused.push(grant)
  }
  return refused
}
