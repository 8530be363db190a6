import { isDeepStrictEqual } from 'node:util'
import { CordonError } from '@cordon/policy'
import type { EditableLayer } from '../../project.ts'
import { readRunner, type Wanted } from '../install/runner.ts'
import type { Launch } from './document.ts'
import { hasHidden, type Variable, whyNotEverywhere } from './entry.ts'
import { type ImportRecord, isSamePath } from './records.ts'
import type { ClientSurvey, FoundServer, SurveyedFile } from './survey.ts'

/** What becomes of one server of a client. */
export type ImportStep =
  | ({ readonly kind: 'take' } & Taken)
  /** It is in our configuration already; the client still starts it itself. */
  | { readonly kind: 'known'; readonly server: FoundServer; readonly name: string }
  | { readonly kind: 'wrapped' | 'remote'; readonly server: FoundServer }
  | { readonly kind: 'left'; readonly server: FoundServer; readonly why: string }

export interface Taken {
  readonly server: FoundServer
  /** Ours, which must be a server name of our configuration. */
  readonly name: string
  readonly layer: EditableLayer
  readonly launch: Launch
  readonly variables: readonly Variable[]
  /** What it is pointed to, by arguments and values. */
  readonly places: readonly string[]
  readonly notes: readonly string[]
  /** Set: the package is installed first, and its program started instead of the runner. */
  readonly wanted: Wanted | undefined
}

export interface ImportPlan {
  readonly files: readonly { readonly file: SurveyedFile; readonly steps: readonly ImportStep[] }[]
}

export interface PlanOptions {
  readonly records: readonly ImportRecord[]
  /** Names that our configuration has, in whatever layer. */
  readonly taken: Iterable<string>
  /** Names to which our configuration grants something without a server: not for the next one that comes by it. */
  readonly granted: ReadonlySet<string>
  /** Undefined: a person's own, and for what belongs to this workspace, their own for it. */
  readonly layer: EditableLayer | undefined
  readonly install: 'packages' | 'nothing'
}

/** Pure: what an import would do, server by server. */
export function planImport({ files }: Pick<ClientSurvey, 'files'>, options: PlanOptions): ImportPlan {
  const names = new Set(options.taken)
  const granted = new Set([...options.granted].filter((name) => !names.has(name)))
  const ours = new Map<string, Taken>()
  return {
    files: files.map((file) => ({
      file,
      steps: file.servers.map((server) => planServer(file, server, { ...options, names, granted, ours })),
    })),
  }
}

interface Planning extends PlanOptions {
  readonly names: Set<string>
  /** By command line and layer: two clients that start the same server share ours. */
  readonly ours: Map<string, Taken>
}

function planServer(file: SurveyedFile, server: FoundServer, planning: Planning): ImportStep {
  const { entry } = server
  if (entry.kind === 'left') return { kind: 'left', server, why: entry.why }
  if (entry.kind !== 'local') return { kind: entry.kind, server }
  const { command, args, variables, places } = entry
  if (server.name === '__proto__' || hasHidden(server.name) || plainName(server.name) === '')
    return { kind: 'left', server, why: 'its name cannot be one of ours; rename it in the client' }
  const launch = { command, args }
  const known = imported(planning.records, file.place.file, server, launch)
  if (known !== undefined && planning.names.has(known)) return { kind: 'known', server, name: known }
  let wanted: Wanted | undefined
  try {
    wanted = planning.install === 'packages' ? readRunner(command, args ?? []) : undefined
  } catch (error) {
    if (error instanceof CordonError) return { kind: 'left', server, why: error.message }
    throw error
  }
  const layer = planning.layer ?? (server.scope === 'project' ? 'user-workspace' : 'user')
  const elsewhere =
    layer === 'user' || server.scope === 'user' ? whyNotEverywhere([command, ...(args ?? [])]) : undefined
  if (elsewhere !== undefined) return { kind: 'left', server, why: elsewhere }
  if (layer === 'workspace' && wanted)
    return {
      kind: 'left',
      server,
      why: 'its package is installed in your own place, whose path says nothing to others who use the workspace; import it without --shared',
    }
  const key = JSON.stringify([layer, command, args ?? [], variables.map(({ name }) => name)])
  const same = planning.ours.get(key)
  const name = same?.name ?? freeName(server.name, file.place.client, planning)
  planning.names.add(name)
  const plain = plainName(server.name)
  const passedOver =
    name !== plain && planning.granted.has(plain)
      ? [
          `not as ${plain}, to which your configuration grants something from before: cordon config explain providers.mcp.${plain}`,
        ]
      : []
  const step: Taken = {
    server,
    name,
    layer,
    launch,
    variables,
    places,
    notes: passedOver,
    wanted,
  }
  planning.ours.set(key, step)
  return { kind: 'take', ...step }
}

/** The name under which this very entry was imported before, as it is now. */
const imported = (
  records: readonly ImportRecord[],
  file: string,
  server: FoundServer,
  { command, args }: Launch,
): string | undefined =>
  records
    .find((record) => record.file === file)
    ?.servers.find(
      ({ path, was }) =>
        isSamePath(path, server.path) &&
        was.command === command &&
        isDeepStrictEqual(was.args ?? [], [...(args ?? [])]),
    )?.name

/** Letters, digits, `_` and `-`: what a server may be called in our configuration. */
const plainName = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 48)

function freeName(
  name: string,
  client: string,
  { names, granted }: Pick<Planning, 'names' | 'granted'>,
): string {
  const plain = plainName(name)
  const candidates = [
    plain,
    `${plain}-${client}`,
    ...Array.from({ length: 99 }, (_, i) => `${plain}-${i + 2}`),
  ]
  return (
    candidates.find((candidate) => !names.has(candidate) && !granted.has(candidate)) ??
    `${plain}-${names.size}`
  )
}
