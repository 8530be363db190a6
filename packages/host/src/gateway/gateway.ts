import type { Tool } from '@modelcontextprotocol/client'
import type { Config, McpServerConfig } from '@cordon/config'
import type { AccessPolicy } from '@cordon/policy'
import { HostPaths, type Surroundings } from '@cordon/workspace'
import { SENSITIVE } from '../compile/sensitive.ts'
import { writableCode } from '../compile/server-code.ts'
import type { Subject } from '../compile/subject.ts'
import type { Hint } from '../confine/hint.ts'
import { noticed } from '../confine/noticed.ts'
import type { ProgramEnd } from '../confine/program.ts'
import { callPaths } from '../execute/call-paths.ts'
import { openAmbientFilesNow } from '../execute/files-now.ts'
import type { Leading } from '../execute/judged.ts'
import type { PathNames } from '../execute/run-mode.ts'
import { Secrets } from '../execute/secrets.ts'
import { ToolSession } from '../execute/session.ts'
import { placesOf, shownPaths } from '../execute/shown-paths.ts'
import { type WordPath, wordPaths } from '../execute/word-paths.ts'
import type { Installation } from '../execute/shipped.ts'
import { localTool, type LocalTool } from '../execute/tool.ts'
import type { ServerWorld } from '../mcp/connection.ts'
import { grantRecipe, type Grantee, type GrantWorld, type Wish, withoutForbidden } from '../mcp/grant.ts'
import { SchemaCache } from '../mcp/schema-cache.ts'
import { seenElsewhere, type TrustDesk } from '../mcp/server-trust.ts'
import type { Compiler, Policies } from '../policies.ts'
import type { Project } from '../project.ts'
import { storeOf } from '../trust/gate.ts'
import { Said } from './said.ts'

/** What the person at the gateway's own terminal, or whoever reads its error output, is told. */
interface Audience {
  /** `server`: the one that caused it. */
  readonly warn: (text: string, server?: string) => void
  /** What is new when a program has ended: none of it is left out, whatever else there is to say (decision 0455). */
  readonly notice: (texts: readonly string[]) => void
  /** A server takes long to start. */
  readonly waiting?: (server: string, seconds: number) => void
}

export interface GatewayOptions {
  readonly project: Project
  /** SPEC 3.1: of all that is served, compiled before any of it is. */
  readonly policies: Policies
  /** Without a person, what is new about a server waits (SPEC 2.1). */
  readonly compiler: Compiler
  readonly installation: Installation
  readonly surroundings: Surroundings
  readonly version: string
  /** Of the configured servers only these, and none of the workspace's own tools. Absent: everything. */
  readonly only?: readonly string[] | undefined
  /** Where mounts lead, and what they are called in the workspace. */
  readonly places?: readonly { readonly path: string; readonly shown: string }[]
  readonly audience: Audience
}

/** SPEC 5.5: what every session of the gateway shares. Nothing in it runs. */
export class Gateway {
  readonly options: GatewayOptions
  readonly cache: SchemaCache
  /** Where it is kept what servers were when a person last looked. */
  readonly desk: TrustDesk
  readonly serverWorld: ServerWorld
  /** The workspace's own tools. */
  readonly localTools: ReadonlyMap<string, LocalTool>
  /** SPEC 4.9: what a call may not have unasked. */
  readonly secrets: Secrets
  /** What tools say of files, as the workspace has them. */
  readonly hostPaths: HostPaths
  readonly #noticed = new Said()

  constructor(options: GatewayOptions) {
    const { project, compiler, installation, surroundings, version, only } = options
    const { conversation, sandbox } = project.loaded.config
    this.options = options
    this.hostPaths = HostPaths.of({ root: project.root.path, home: compiler.home }, options.places)
    this.desk = {
      store: storeOf(project.workspace, compiler, compiler),
      elsewhere: seenElsewhere(project.workspace, surroundings),
      person: compiler.person,
      declined: new Set(),
    }
    this.cache = new SchemaCache(project.workspace.local)
    this.serverWorld = {
      root: project.root,
      home: compiler.home,
      env: surroundings.env,
      sandbox,
      unfinished: project.workspace.unfinished,
      version,
    }
    this.secrets = new Secrets({
      root: project.root.path,
      home: compiler.home,
      patterns: [...SENSITIVE, ...sandbox.sensitive],
    })
    this.localTools = new Map(
      Object.entries(only ? {} : conversation.tools)
        .filter(([, { enable, source }]) => enable && source.kind === 'local')
        .map(([name, config]) => [name, localTool(name, config, installation)]),
    )
  }

  get config(): Config {
    return this.options.project.loaded.config
  }

  get servers(): readonly [string, McpServerConfig][] {
    const { only } = this.options
    return Object.entries(this.config.providers.mcp).filter(([name]) => !only || only.includes(name))
  }

  /** SPEC 4.10: where a server may change what its next start runs. */
  writableCode(server: string): readonly string[] {
    const { project, policies } = this.options
    return [...policies.bySubject].flatMap(([subject, policy]) =>
      subject.kind === 'server' && subject.name === server
        ? writableCode(subject, policy, this.config, project.root)
        : [],
    )
  }

  /** What a call of this tool touches; undefined: that is known of the shipped tools alone. */
  pathsIn(tool: string, args: unknown): readonly PathNames[] | undefined {
    const { project, places = [] } = this.options
    return this.localTools.get(tool)?.shipped === true
      ? callPaths(tool, args, project.root, places)
      : undefined
  }

  /** Where the words of a call lead, of a tool that opens files by itself. */
  wordPaths(args: unknown): readonly WordPath[] {
    const { project, compiler, places = [] } = this.options
    return wordPaths(args, { root: project.root, home: compiler.home, places })
  }

  /** For who decides about calls of this tool. `isHeld`: it compares by itself; programs open files as they like. */
  leading(tool: string, isShipped: boolean): Leading & { readonly isHeld: boolean } {
    const root = this.options.project.root.path
    const isHeld = isShipped && tool !== 'unix_utils'
    return {
      isHeld,
      filesNow: () => openAmbientFilesNow(root, this.policyOf('tool', tool)?.fs ?? []),
      shownPaths: (args, files) => (isHeld ? shownPaths(tool, args, files) : this.wordPaths(args)),
      placesOf: (args, files, what) => (isHeld ? placesOf(tool, args, files, what) : undefined),
    }
  }

  /**
   * SPEC 4.3, 4.10: what is new when a program has ended, also after its session. Each path once, whoever else ran meanwhile,
   * and not among the warnings of a server, of which only so many are shown: it could fill them up before.
   */
  tellNoticed(who: string, end: ProgramEnd | undefined): void {
    const fresh = end ? noticed(end).filter((text) => this.#noticed.isNew(text)) : []
    if (fresh.length > 0) this.options.audience.notice(fresh.map((text) => `${who}: ${text}`))
  }

  policyOf(kind: Subject['kind'], name: string): AccessPolicy | undefined {
    const { bySubject } = this.options.policies
    return [...bySubject].find(([subject]) => subject.kind === kind && subject.name === name)?.[1]
  }

  /** SPEC 5.4: what would allow it. It holds from the next start on: all policies were compiled at this one. */
  grantRecipe(wish: Wish, grantee: Grantee): readonly string[] {
    return grantRecipe(wish, grantee, this.#grants)
  }

  /** SPEC 4.10, 5.4: a hint that opens nothing which is not to be opened because a server asks. */
  withoutForbidden(hint: Hint, grantee: Grantee): Hint {
    return withoutForbidden(hint, grantee, this.#grants)
  }

  get #grants(): GrantWorld {
    const { project, policies, compiler, surroundings } = this.options
    return { project, policies, place: { home: compiler.home, env: surroundings.env } }
  }

  /** Calls of local tools, for one client. */
  openTools(): ToolSession {
    const { project, compiler, surroundings, installation } = this.options
    const { env } = surroundings
    return new ToolSession({ project: () => Promise.resolve(project), compiler, env, installation })
  }
}

/** The workspace's own tools, as a client is told of them. */
export const localOffer = ({ localTools }: Pick<Gateway, 'localTools'>): Tool[] =>
  [...localTools].map(([name, { description, parameters }]) => ({
    name,
    ...(description === undefined ? {} : { description }),
    inputSchema: { type: 'object', ...parameters },
  }))
