import { type Capability } from '@cordon/policy'
import { type Named, type OutsideConfig, type ProfileConfig } from '../config.ts'
import { cellAt } from '../merge/cell.ts'
import { formatKeyPath } from '../toml/key-path.ts'
import { readAccess } from './access.ts'
import { type Findings, tableOf } from './findings.ts'

/** `[profiles.<name>]` (SPEC 4.8). */
export function readProfiles(findings: Findings): Named<ProfileConfig> {
  const profiles = Object.create(null) as Record<string, ProfileConfig>
  for (const [name, value] of Object.entries(tableOf(findings.values['profiles']))) {
    const { description, unix_sockets } = tableOf(value) as {
      description?: string
      unix_sockets?: 'pairs' | 'private'
    }
    profiles[name] = {
      ...(description === undefined ? {} : { description }),
      access: readAccess(findings, ['profiles', name, 'access']),
      outside: readOutside(findings, ['profiles', name, 'outside']),
      ...(unix_sockets === undefined ? {} : { unixSockets: unix_sockets }),
    }
  }
  return profiles
}

function readOutside(findings: Findings, path: readonly string[]): readonly OutsideConfig[] {
  const cell = cellAt(findings.root, path)
  if (cell?.kind !== 'rules') return []
  return cell.elements.flatMap(({ value, written }, index) => {
    const here = [...path, index]
    if (findings.isBroken(here)) return []
    const { path: place, read, write, execute, replace = false } = value as Written
    const add = (message: string, fix: string): void =>
      findings.add([...here, 'path'], `\`${formatKeyPath(here)}\`: ${message}`, fix)
    if (place !== '~' && !place.startsWith('~/') && !place.startsWith('/'))
      add(
        'the path of a place outside is absolute, or begins with ~/',
        'write it from the root, or from the home: path = "~/shared"; for the workspace use access.fs',
      )
    if (replace && !(read && write))
      add('a file that is written back is read and written', 'write read = true, write = true')
    const grants = new Set<Capability>([
      ...(read ? (['read'] as const) : []),
      ...(write ? (['create', 'update', 'delete'] as const) : []),
      ...(execute ? (['execute'] as const) : []),
    ])
    return [{ path: place, grants, replace, origin: written.originText }]
  })
}

/** As the definition lets it through. */
interface Written {
  readonly path: string
  readonly read?: boolean
  readonly write?: boolean
  readonly execute?: boolean
  readonly replace?: boolean
}
