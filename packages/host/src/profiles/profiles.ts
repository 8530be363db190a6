import { formatKey, mergeSources, type ProfileConfig } from '@cordon/config'
import { CordonError, quote } from '@cordon/policy'
import { PLAIN } from '../compile/subject.ts'
import type { Project, ProjectOptions } from '../project.ts'
import { changeLayer, type Changed } from '../settings.ts'
import { noneNamed } from '../why/find-subject.ts'
import { SHIPPED_NAMES, shippedText } from './shipped.ts'

/** A profile as `cordon profile` lists it. */
export interface ProfileView {
  readonly name: string
  /** Whose it is; `both` where somebody adds to a shipped one. */
  readonly from: 'shipped' | 'configured' | 'both'
  readonly profile: ProfileConfig
}

class ProfileError extends CordonError {
  readonly code = 'QUESTION'
}

/** All that `--profile` takes here. The project was opened with the shipped ones (`shippedProfiles`). */
export const listProfiles = ({ loaded }: Project): readonly ProfileView[] =>
  Object.entries(loaded.config.profiles)
    .filter(([name]) => name !== PLAIN)
    .map(([name, profile]) => ({ name, profile, from: fromOf(name, loaded) }))

function fromOf(name: string, { explain }: Project['loaded']): ProfileView['from'] {
  if (!SHIPPED_NAMES.includes(name)) return 'configured'
  const keys = [
    'outside',
    'unix_sockets',
    ...['fs', 'net', 'env', 'commands'].map((axis) => ['access', axis]),
  ]
  const origins = keys.flatMap((key) => {
    const found = explain(['profiles', name, ...[key].flat()])
    return found ? [found, ...(found.elements ?? [])].map(({ origin }) => origin.layer) : []
  })
  return origins.some((layer) => layer !== 'built-in') ? 'both' : 'shipped'
}

export function findProfile(project: Project, name: string): ProfileView {
  const all = listProfiles(project)
  const found = all.find((each) => each.name === name)
  if (found) return found
  throw noneNamed(
    'profile',
    name,
    all.map((each) => each.name),
  )
}

/** Writes a shipped profile into the person's own configuration, to be changed there. */
export function copyProfile(name: string, under: string, options: ProjectOptions): Promise<Changed> {
  const text = shippedText(name, formatKey(under))
  if (text === undefined) throw noneNamed('shipped profile', name, SHIPPED_NAMES)
  if (SHIPPED_NAMES.includes(under) || under === PLAIN)
    throw new ProfileError(
      `${quote(under)} is taken: give yours another name, as in \`cordon profile copy ${name} my-${name}\``,
    )
  return changeLayer(options, 'user', (was) => {
    const { config } = mergeSources([{ layer: 'user', label: 'your configuration', text: was }])
    if (config.profiles[under]) throw new ProfileError(`you have a profile ${quote(under)} already`)
    return `${was.trimEnd()}\n\n${text}`
  })
}
