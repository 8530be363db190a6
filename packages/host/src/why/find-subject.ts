import { type Config, suggest } from '@cordon/config'
import { quote, show } from '@cordon/policy'
import type { Subject } from '../compile/subject.ts'
import { QuestionError } from './question.ts'

/** A tool by its name, else a server, else a profile. A tool of a stateful server runs under the server's policy. */
export function findSubject(
  config: Config,
  subjects: readonly Subject[],
  name: string,
  /** What the subjects are, where only some kinds were asked about. */
  kinds = 'tool, server or profile',
  /** Names that would do as well, besides those of the subjects. */
  more: readonly string[] = [],
): Subject {
  const source = config.conversation.tools[name]?.source
  const owner = source?.kind === 'mcp' ? source.server : undefined
  for (const kind of ['tool', 'server', 'profile'] as const) {
    const wanted = kind === 'server' ? (owner ?? name) : name
    const found = subjects.find((subject) => subject.kind === kind && subject.name === wanted)
    if (found) return found
  }
  if (source?.kind === 'builtin')
    throw new QuestionError(
      `${quote(name)} is a builtin tool: it runs inside Cordon and has no access of its own`,
    )
  throw noneNamed(kinds, name, [...subjects.map((subject) => subject.name), ...more])
}

/** What was probably meant instead, or all that there is. */
export const noneNamed = (kinds: string, name: string, names: readonly string[]): QuestionError =>
  new QuestionError(`no ${kinds} is named ${quote(name)}; ${others(name, [...new Set(names)])}`)

function others(name: string, names: readonly string[]): string {
  const meant = suggest(name, names)
  if (meant !== undefined) return `did you mean ${show(meant)}?`
  return names.length === 0 ? 'none is configured' : `there are: ${names.map(show).join(', ')}`
}
