import type { Tool } from '@modelcontextprotocol/client'
import { show } from '@cordon/policy'
import {
  type ApprovalStore,
  recordedPlaces,
  type ServerSeen,
  serversSeenIn,
  sha256,
  type Surroundings,
  type ToolSeen,
  type Workspace,
} from '@cordon/workspace'
import type { Person } from '../approve/approve.ts'
import { differenceOf } from '../trust/difference.ts'
import { visible } from '../trust/review.ts'
import type { ServerIdentity } from './identity.ts'

/** Who may be shown what changed. Undefined: nobody can be asked, and what changed waits (SPEC 2.1). */
export interface TrustDesk {
  readonly store: Pick<ApprovalStore, 'read' | 'changeServer'>
  /** What other workspaces of this user know of a server (decision 0564). */
  readonly elsewhere: (server: string) => readonly ServerSeen[]
  readonly person: Person | undefined
  /** The servers of which a change was declined: they are not asked about again (`cordon trust` can still accept it). */
  readonly declined: Set<string>
}

interface WithheldTool {
  readonly name: string
  /** There was none of that name. */
  readonly isNew: boolean
}

/** As part of a sentence about the server. */
export function withheldText(withheld: readonly WithheldTool[]): string {
  const names = (isNew: boolean): string =>
    withheld
      .filter((tool) => tool.isNew === isNew)
      .map(({ name }) => show(name))
      .join(', ')
  const [changed, added] = [names(false), names(true)]
  return [
    ...(changed === '' ? [] : [`changed ${changed}`]),
    ...(added === '' ? [] : [`has new tools (${added})`]),
  ].join(' and ')
}

/** The tools that a model may see, and why it does not see the others. */
export interface AdmittedTools {
  readonly tools: readonly Tool[]
  /** New or changed since the server was first seen. */
  readonly withheld: readonly WithheldTool[]
}

/**
 * SPEC 5, trust: the first time a server is used it is taken as it is; its command line is a person's word already. When
 * later the same command line leads to another program, a person is asked. False: it must not be started (decision 0230).
 */
export async function admitProgram(
  server: string,
  argv: readonly string[],
  identity: ServerIdentity,
  desk: TrustDesk,
): Promise<boolean> {
  const { store } = desk
  const program = programText(identity)
  const command = commandDigest(argv)
  let known: Pick<ServerSeen, 'program'> | undefined = await knownServer(store, server, command)
  if (!known) {
    const taken = programElsewhere(desk.elsewhere(server), command, program) ?? program
    await store.changeServer(server, (now) =>
      now?.command === command ? undefined : { command, program: taken, ...toolsKept(now, taken) },
    )
    known = { program: taken }
  }
  if (known.program === program) return true
  const text = changeText(`the program of MCP server ${show(server)}`, known.program, program)
  const accepted = await askOnce(desk, server, text, 'Start it as it is now? [y/N] ')
  await store.changeServer(server, (now) => {
    if (now?.command !== command) return undefined
    if (!accepted) return { ...now, waiting: { ...now.waiting, program } }
    const { waiting, ...rest } = now
    return { ...rest, program, ...(waiting?.tools ? { waiting: { tools: waiting.tools } } : {}) }
  })
  return accepted
}

/**
 * What the same command line was in another workspace, last, where it led to the same files and none knows them as they are now;
 * undefined: it is as known, or new. A file inside a workspace is that one's own, and so never the same as another's.
 */
function programElsewhere(seen: readonly ServerSeen[], command: string, program: string): string | undefined {
  const same = seen.filter(
    (entry) => entry.command === command && filesIn(entry.program) === filesIn(program),
  )
  if (same.some((entry) => entry.program === program)) return undefined
  return same.toSorted((a, b) => (a.seen_at < b.seen_at ? -1 : 1)).at(-1)?.program
}

const filesIn = (program: string): string => (program.match(/^(?:program|runs) .*$/gm) ?? []).join('\n')

/** Ambient: reads the approvals of all other workspaces. */
export const seenElsewhere =
  ({ local }: Pick<Workspace, 'local'>, around: Surroundings): TrustDesk['elsewhere'] =>
  (server) =>
    recordedPlaces(around)
      .filter((place) => place.local !== local)
      .flatMap((place) => serversSeenIn(place.local, around.uid))
      .filter((entry) => entry.server === server)

/** Another version of the same package is another program, by a person's word (`mcp update`). What it says of its tools is not. */
const toolsKept = (was: ServerSeen | undefined, program: string): Pick<ServerSeen, 'tools' | 'clients'> =>
  was?.tools && packageIn(was.program) !== undefined && packageIn(was.program) === packageIn(program)
    ? { tools: was.tools, ...(was.clients ? { clients: was.clients } : {}) }
    : {}

const packageIn = (program: string): string | undefined => /^package (.+)@[^@\n]*$/m.exec(program)?.[1]

/** A server, and the client that its tools are for. */
export interface OfferingServer {
  readonly name: string
  readonly argv: readonly string[]
  /** What it was told that the client can be asked for. */
  readonly capabilities: readonly string[]
}

/**
 * The same for what the server tells a model about its tools: name, description, schema and all else. A server may have more
 * tools for a client that can be asked for more: when such a client comes first, what is only new is taken as it is
 * (decision 0472).
 */
export async function admitTools(
  { name: server, argv, capabilities }: OfferingServer,
  tools: readonly Tool[],
  desk: TrustDesk,
): Promise<AdmittedTools> {
  const { store } = desk
  const client = capabilities.join('+')
  const command = commandDigest(argv)
  const offered = tools.map((tool) => ({ tool, seen: seenOf(tool) }))
  let known = await knownServer(store, server, command)
  if (!known?.tools) {
    const all = bounded(offered.map(({ seen }) => seen))
    await store.changeServer(server, (now) =>
      now?.command === command && !now.tools ? { ...now, tools: all, clients: [client] } : undefined,
    )
    return { tools, withheld: [] }
  }
  if (known.clients && !known.clients.includes(client)) {
    await store.changeServer(server, (now) => {
      if (now?.command !== command || !now.clients || now.clients.includes(client)) return undefined
      const added = offered
        .map(({ seen }) => seen)
        .filter(({ name }) => !now.tools?.some((tool) => tool.name === name))
      return { ...withTools(now, added), clients: [...now.clients, client] }
    })
    known = (await knownServer(store, server, command)) ?? known
  }
  const seenBefore = known
  const digests = new Map(known.tools?.map((tool) => [tool.name, tool.sha256]))
  const changed = offered.filter(({ seen }) => digests.get(seen.name) !== seen.sha256)
  if (changed.length === 0) return { tools, withheld: [] }
  // What is too long to be shown is not to be had by a yes.
  const fresh = changed.map(({ seen }) => seen).filter(({ text }) => text !== undefined)
  const shown = fresh.map((seen) => toolChangeText(server, seenBefore, seen)).join('\n')
  const question = `Let the assistant see ${fresh.length === 1 ? 'it' : 'them'}? [y/N] `
  const accepted = fresh.length > 0 && (await askOnce(desk, server, shown, question))
  await store.changeServer(server, (now) => {
    if (now?.command !== command) return undefined
    return accepted ? acceptTools(now, fresh) : { ...now, waiting: { ...now.waiting, tools: bounded(fresh) } }
  })
  const out = accepted ? changed.filter(({ seen }) => seen.text === undefined) : changed
  return {
    tools: offered.filter((each) => !out.includes(each)).map(({ tool }) => tool),
    withheld: out.map(({ seen: { name } }) => ({ name, isNew: !digests.has(name) })),
  }
}

/** A no is for the session: a server that goes on changing does not get a question for each. */
async function askOnce(
  { person, declined }: TrustDesk,
  server: string,
  text: string,
  question: string,
): Promise<boolean> {
  if (!person || declined.has(server)) return false
  const accepted = await askPaged((page) => person.confirms(page), text, question)
  if (!accepted) declined.add(server)
  return accepted
}

/** All of it is shown before it can be accepted, a screen at a time. */
export async function askPaged(
  confirms: (question: string) => Promise<boolean>,
  text: string,
  question: string,
): Promise<boolean> {
  const lines = text.replace(/\n$/, '').split('\n')
  for (let from = 0; ; from += PAGE) {
    const page = `${lines.slice(from, from + PAGE).join('\n')}\n`
    const more = lines.length - from - PAGE
    if (more <= 0) return confirms(`${page}\n${question}`)
    if (!(await confirms(`${page}\nThere are ${more} more lines. Show them? [y/N] `))) return false
  }
}

const PAGE = 60

/** What a person is shown of a server that is not as it was; undefined: nothing waits. */
export function serverChangeText(seen: ServerSeen): string | undefined {
  const { server, program, waiting } = seen
  const texts = [
    ...(waiting?.program === undefined
      ? []
      : [changeText(`the program of MCP server ${show(server)}`, program, waiting.program)]),
    ...(waiting?.tools ?? [])
      .filter(({ text }) => text !== undefined)
      .map((tool) => toolChangeText(server, seen, tool)),
  ]
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** What a person accepted of a server, or had when it was first used, whole. */
export const serverText = ({ server, program, tools = [], seen_at }: ServerSeen): string =>
  [
    `MCP server ${show(server)} is known since ${show(seen_at)} as:\n${indented(program.split('\n'))}`,
    ...tools.map(({ name, text, sha256: digest }) => {
      const shown = text ?? `too long to be kept, sha256 ${digest}\n`
      return `its tool ${show(name)}:\n${indented(shown.split('\n'))}`
    }),
  ].join('')

/** Accepts exactly what was shown; what has changed again meanwhile waits for the next look. */
export const acceptServer = (store: Pick<ApprovalStore, 'changeServer'>, shown: ServerSeen): Promise<void> =>
  store.changeServer(shown.server, (now) => {
    if (!now || JSON.stringify(now) !== JSON.stringify(shown)) return undefined
    const { waiting, ...known } = acceptTools(
      now,
      (now.waiting?.tools ?? []).filter(({ text }) => text !== undefined),
    )
    return { ...known, program: waiting?.program ?? known.program }
  })

function acceptTools(seen: ServerSeen, fresh: readonly ToolSeen[]): ServerSeen {
  const { waiting, ...known } = withTools(seen, fresh)
  const program = waiting?.program
  return { ...known, ...(program === undefined ? {} : { waiting: { program } }) }
}

/** Known with these, in the place of others of their names. */
function withTools(seen: ServerSeen, fresh: readonly ToolSeen[]): ServerSeen {
  const names = new Set(fresh.map(({ name }) => name))
  const others = (seen.tools ?? []).filter(({ name }) => !names.has(name))
  return { ...seen, tools: bounded([...others, ...fresh]) }
}

/** What a person sees of one tool that is not as it was. */
function toolChangeText(server: string, known: Pick<ServerSeen, 'tools'>, now: ToolSeen): string {
  const was = known.tools?.find(({ name }) => name === now.name)
  const what = `tool ${show(now.name)} of MCP server ${show(server)}`
  if (was && was.text === undefined)
    return `${what} changed; what it was is too long to be shown. ${changeText('It', undefined, now.text!)}`
  return changeText(what, was?.text, now.text!)
}

function changeText(what: string, was: string | undefined, now: string): string {
  if (was === undefined) return `${what} is new:\n${indented(now.split('\n'))}`
  return `${what} is not as it was:\n${indented(differenceOf(was, now))}`
}

const indented = (lines: readonly string[]): string => lines.map((line) => `  ${visible(line)}\n`).join('')

async function knownServer(
  store: Pick<ApprovalStore, 'read'>,
  server: string,
  command: string,
): Promise<ServerSeen | undefined> {
  const { servers } = await store.read()
  return servers.findLast((entry) => entry.server === server && entry.command === command)
}

const commandDigest = (argv: readonly string[]): string => sha256(JSON.stringify(argv))

/** One thing a line, so that a difference names what differs. */
const programText = ({ program, entry, package: packaged, sha256: digest }: ServerIdentity): string =>
  [
    `program ${program}`,
    ...(entry === undefined ? [] : [`runs ${entry}`]),
    ...(packaged === undefined ? [] : [`package ${packaged}`]),
    `sha256 ${digest}`,
  ]
    .map((line) => `${line}\n`)
    .join('')

const LONGEST_KEPT = 64 * 1024

/** Whatever of it a model may read counts, in whichever order the server writes it. */
function seenOf(tool: Tool): ToolSeen {
  const text = `${JSON.stringify(sorted(tool), undefined, 2)}\n`
  return { name: tool.name, sha256: sha256(text), ...(text.length > LONGEST_KEPT ? {} : { text }) }
}

/**
 * Of what one server says, so much is kept to show a difference later; of the rest the digest alone. All servers and a
 * person's other words share one file of 16 MiB (decision 0563).
 */
const MOST_KEPT = 1024 * 1024

function bounded(tools: readonly ToolSeen[]): readonly ToolSeen[] {
  let room = MOST_KEPT
  return tools.map((tool) => {
    if (tool.text === undefined) return tool
    room -= Buffer.byteLength(JSON.stringify(tool.text))
    return room >= 0 ? tool : { name: tool.name, sha256: tool.sha256 }
  })
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
