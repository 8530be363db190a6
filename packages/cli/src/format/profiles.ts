import type { ProfileView } from '@cordon/host'
import { shellWord, show } from '@cordon/policy'
import type { Stream } from '../world.ts'
import { formatTable } from './text.ts'

export const profileJson = ({ name, from, profile }: ProfileView): Record<string, unknown> => ({
  name,
  from,
  description: profile.description ?? null,
  hosts: profile.access.net.filter(({ allow }) => allow).map(hostOf),
  variables: profile.access.env.filter(({ read }) => read).map((rule) => rule.name),
  paths: profile.access.fs.map(({ path, grants }) => ({ path, grants: [...grants] })),
  outside: profile.outside.map(({ path, grants, replace }) => ({ path, grants: [...grants], replace })),
  unix_sockets: profile.unixSockets ?? null,
})

export const formatProfiles = (profiles: readonly ProfileView[]): string =>
  formatTable(
    profiles.map(({ name, from, profile: { description } }) => [
      show(name),
      from,
      description === undefined ? '' : show(description),
    ]),
  )

/** In the words of a person who asks what it may do. */
export function formatProfile(
  { name, from, profile }: ProfileView,
  { style }: Pick<Stream, 'style'>,
): string {
  const { access, outside, unixSockets, description } = profile
  const rows = [
    ...access.fs.map(({ path, grants }) => ['path', show(path), [...grants].join(', ') || 'nothing']),
    ...(access.fs.length === 0 ? [['path', '.', 'the workspace, as without a profile']] : []),
    ...outside.map(({ path, grants, replace }) => [
      'outside',
      show(path),
      [...grants].join(', ') + (replace ? ' (copied in, and written back at the end)' : ''),
    ]),
    ...access.net.map((rule) => ['host', show(hostOf(rule)), rule.allow ? 'allowed' : 'refused']),
    ...access.env.map((rule) => ['variable', show(rule.name), rule.read ? 'passed on' : 'withheld']),
    ...(unixSockets === 'private' ? [['sockets', 'unix', 'of its own']] : []),
  ]
  return (
    `${style('bold', show(name))} (${from})${description === undefined ? '' : `: ${show(description)}`}\n` +
    formatTable(rows.map((row) => [`  ${row[0]}`, ...row.slice(1)])) +
    `  to use it: cordon run --profile ${shellWord(name)} -- COMMAND\n`
  )
}

const hostOf = ({
  scheme,
  host,
  port,
  pathPrefix,
}: ProfileView['profile']['access']['net'][number]): string =>
  `${scheme === undefined ? '' : `${scheme}://`}${host}${port === undefined ? '' : `:${port}`}${pathPrefix ?? ''}`
