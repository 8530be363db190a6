import {
  type Progress,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  specTypeSchemas,
  type StandardSchemaV1,
} from '@modelcontextprotocol/client'
import type { CallToolRequest, CallToolResult, ServerContext } from '@modelcontextprotocol/server'
import { formatKeyPath, type RunMode, type ToolConfig } from '@cordon/config'
import { CordonError, tomlString } from '@cordon/policy'
import type { ShownPath } from '@cordon/tools'
import { askConsent } from '../execute/consent.ts'
import { loadPatternTest } from '../execute/patterns.ts'
import { decideRunMode } from '../execute/run-mode.ts'
import type { CallSecrets } from '../execute/secrets.ts'
import { milliseconds } from '../mcp/connection.ts'
import { notesOf, ServerError } from '../mcp/diagnosis.ts'
import type { Grantee, Wish } from '../mcp/grant.ts'
import { type RemotePerson } from './elicit.ts'
import { callLocal, type LocalCall } from './local.ts'
import { sourceOf, titleOf } from './names.ts'
import { errorResult, failureOfServer, resultOfServer, shownResult } from './results.ts'
import type { GatewaySession, Route } from './session.ts'
import { ourText } from './text.ts'

export interface CallContext {
  readonly session: GatewaySession
  readonly person: RemotePerson | undefined
  readonly request: CallToolRequest
  readonly context: ServerContext
  readonly progress: (params: Record<string, unknown>) => void
}

/** SPEC 5.5: consent, then the call, confined; then the result, by its own mode. */
export async function callTool(route: Route, call: CallContext): Promise<CallToolResult> {
  const { session, person, request } = call
  const subject = subjectOf(route, session)
  const { config, name, source } = subject
  const args = request.params.arguments ?? {}
  const { gateway } = session
  let secrets: CallSecrets | undefined
  const isShipped = route.kind === 'local' && gateway.localTools.get(name)?.shipped === true
  const { isHeld, ...leading } = gateway.leading(name, isShipped)
  const pathsIn = (given: unknown) => gateway.pathsIn(name, given)
  const judged = {
    ...leading,
    name: titleOf(subject),
    config,
    secretIn: (given: unknown) => {
      secrets = gateway.secrets.forCall() // what was looked up before a question is not true after it
      return secrets.namedIn(name, given, isShipped ? 'ours' : 'others')
    },
    secretAmong: (paths: readonly ShownPath[]) => (secrets ?? gateway.secrets.forCall()).among(paths),
    pathsIn,
  }
  const consent = await askConsent(judged, args, person)
  if (consent.kind === 'refused')
    return errorResult(
      consent.decision.mode === 'ask' && !person
        ? `${consent.reason}\n${howToAllow(name, source, config)}`
        : consent.reason,
    )
  const { signal, _meta: { progressToken, ...meta } = {} } = call.context.mcpReq
  const perform = (): Promise<CallToolResult> =>
    performCall(route, session, {
      arguments: consent.arguments,
      signal,
      respondent: person,
      shown: isHeld ? consent.shown : undefined,
      leaveOut: consent.decision.secrets === 'take' ? undefined : (secrets ?? gateway.secrets.forCall()),
      params: { ...request.params, _meta: meta },
      ...(progressToken === undefined
        ? {}
        : { progress: (made) => call.progress({ ...made, progressToken }) }),
    })
  const result = await (route.kind === 'local'
    ? perform()
    : session.during(route.tool.server, call.context, perform))
  const { result: run } = config
  const { mode } = decideRunMode(run, consent.arguments, await loadPatternTest(run), pathsIn)
  return handOver(result, { name, mode }, person)
}

/** What else a client sent with a call, for a server. */
export interface PerformedCall extends LocalCall {
  readonly params?: Readonly<Record<string, unknown>>
  readonly progress?: (made: Progress) => void
}

type CallConfig = Pick<ToolConfig, 'run' | 'runIsWritten' | 'result' | 'timeout_secs' | 'max_output_bytes'>

export interface CallSubject {
  readonly name: string
  readonly config: CallConfig
  /** As the configuration names it. */
  readonly source: string
}

export function subjectOf(route: Route, { gateway }: GatewaySession): CallSubject {
  if (route.kind === 'local') {
    const { config } = gateway.localTools.get(route.name)!
    return { name: route.name, config, source: 'local' }
  }
  const { name, server, remote, config } = route.tool
  return { name, config: config ?? gateway.config.conversation.defaults, source: sourceOf(server, remote) }
}

/** For the person whom the model tells of it: what to write, where the run mode alone was in the way. */
function howToAllow(name: string, source: string, config: CallConfig): string {
  const isKnown = source === 'local' || 'source' in config
  return [
    'to allow it, a person writes into a configuration file of theirs:',
    `  [${formatKeyPath(['conversation', 'tools', name])}]`,
    ...(isKnown ? [] : [`  source = ${tomlString(source)}`]),
    '  run = "unattended"',
  ].join('\n')
}

/** SPEC 5.5: confined, under the policy of the tool or its server. Whatever goes wrong in it is a result. */
export function performCall(
  route: Route,
  session: GatewaySession,
  call: PerformedCall,
): Promise<CallToolResult> {
  const { config } = subjectOf(route, session)
  return (
    route.kind === 'local' ? callLocal(route.name, session, call) : runRemote(route, session, call)
  ).catch((error: unknown) => {
    if (error instanceof ServerError) {
      // What it said is for whoever looks after it; a model gets what it may know.
      session.warn(error.message)
      return errorResult(error.forModel)
    }
    if (error instanceof CordonError) return errorResult(error.message)
    if (SdkError.isInstance(error) && error.code === SdkErrorCode.RequestTimeout)
      return errorResult(`the tool did not answer within ${config.timeout_secs} s (timeout_secs)`)
    // Nobody has the stack to look at it.
    if (error instanceof RangeError && route.kind === 'server')
      return errorResult('the tool’s answer is nested too deeply')
    throw error
  })
}

async function runRemote(
  { tool, server, as }: Extract<Route, { kind: 'server' }>,
  session: GatewaySession,
  { arguments: args, signal, params = {}, progress }: PerformedCall,
): Promise<CallToolResult> {
  const config = tool.config ?? session.gateway.config.conversation.defaults
  const grantee: Grantee = as
    ? {
        kind: 'tool',
        name: as.tool,
        of: { server: server.name, source: `mcp.${server.name}.${tool.remote}` },
      }
    : { kind: 'server', name: server.name }
  return server.ask(
    async (client, connection) => {
      connection.news() // what was refused before is not this call's
      const notes = (said: string): Record<'person' | 'model', readonly string[]> => {
        const { refused, unreached, hints } = connection.news()
        const failed = said !== ''
        // SPEC 5.4: what is known exactly is not guessed at as well.
        const guesses = failed && refused.length + unreached.length === 0 ? hints(said) : []
        const diagnosis = {
          refused,
          unreached: failed ? unreached : [],
          hints: guesses.map((hint) => session.gateway.withoutForbidden(hint, grantee)),
        }
        const allow = (wish: Wish): readonly string[] => session.gateway.grantRecipe(wish, grantee)
        return { person: notesOf(diagnosis, 'person', allow), model: notesOf(diagnosis, 'model', allow) }
      }
      const asked = client.request(
        {
          method: 'tools/call',
          params: { ...params, name: tool.remote, arguments: args },
        },
        RESULT,
        {
          signal,
          timeout: milliseconds(config.timeout_secs),
          ...(progress ? { onprogress: progress } : {}),
        },
      )
      const result = await asked.catch((error: unknown) => {
        if (!ProtocolError.isInstance(error)) throw error
        const { person, model } = notes(error.message)
        for (const note of person) session.warn(`tool ${tool.name}: ${note}`)
        const ours = ourText(model)
        const texts = [
          failureOfServer(error.message, config.max_output_bytes),
          ...(ours === undefined ? [] : [ours]),
        ]
        throw new ProtocolError(error.code, texts.join('\n'))
      })
      const { person, model } = notes(result.isError === true ? textOf(result) : '')
      for (const note of person) session.warn(`tool ${tool.name}: ${note}`)
      return resultOfServer(result, config.max_output_bytes, model)
    },
    { asked: { stage: 'call', tool: tool.name }, as, signal },
  )
}

/**
 * What an answer to a call must be, named here and not left to the SDK: for every request it would first let its schema refuse
 * `undefined`, and write the refusal down, to learn that there is a schema (decision 0356). As there, an answer without
 * `content` is an empty one, unless it is of another family.
 */
const RESULT: StandardSchemaV1<unknown, CallToolResult> = {
  '~standard': {
    version: 1,
    vendor: 'cordon',
    validate: (value) =>
      isAnswerToCall(value)
        ? specTypeSchemas.CallToolResult['~standard'].validate(value)
        : { issues: [{ message: 'content is missing' }] },
  },
}

const isAnswerToCall = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  ('content' in value || !['task', 'inputRequests', 'requestState'].some((key) => key in value))

const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n')

/** `conversation.tools.<name>.result`: whether what came of it is handed over. */
async function handOver(
  result: CallToolResult,
  { name, mode }: { readonly name: string; readonly mode: RunMode },
  person: RemotePerson | undefined,
): Promise<CallToolResult> {
  switch (mode) {
    case 'unattended':
      return result
    case 'skip':
      return errorResult(
        `tool ${name}: it was run, and its result mode is skip, so the result is not handed over`,
      )
    case 'ask':
    case 'edit':
      if (
        mode === 'ask' &&
        (await person?.confirms(`Hand over the result of ${name}?\n${shownResult(result)}`))
      )
        return result
      return errorResult(
        `tool ${name}: it was run, and its result was not handed over: its result mode is ${mode}`,
      )
  }
}
