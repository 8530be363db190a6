import type { GuardSurvey } from '../guard/survey.ts'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type AccessPolicy, below, type Context } from '@cordon/policy'
import { boundaryFor, onlyReads } from '../compile/boundary.ts'
import { mountNames } from '../compile/guard.ts'
import { type Subject, subjectsOf } from '../compile/subject.ts'
import { compileProject, type Compiler } from '../policies.ts'
import type { Project } from '../project.ts'
import { contextFor } from './execute.ts'
import type { Installation } from './shipped.ts'
import { type LocalTool, resolveTool } from './tool.ts'
import { Ways } from './ways.ts'

/** A tool ready to be called: started how, and under which policy. */
export interface PreparedTool {
  readonly tool: LocalTool
  readonly policy: AccessPolicy
  readonly boundary: AccessPolicy | undefined
  /** Of who may write: what was guarded when it was compiled. */
  readonly guard: GuardSurvey | undefined
  /** What the tool is told of its policy. */
  readonly context: Context
  readonly warnings: readonly string[]
}

/** Who prepares a tool, and for what. */
export interface Preparation {
  readonly name: string
  readonly compiler: Compiler
  readonly installation: Installation
  readonly conversationId?: string | undefined
}

/**
 * SPEC 3.1: its policy is compiled first; one that does not compile fails the call. What was compiled for an earlier call is
 * taken again while it would come out the same: for a tool that only reads, of the same configuration, without any answer of a
 * person's in it, and with every path of its rules still leading where it led (decision 0252). What was compiled anew and did come out the same
 * is the one from before, so that what was planned for that counts (decision 0301).
 */
export class Preparations {
  readonly #kept = new Map<string, Kept>()
  readonly #last = new Map<string, Compiled>()

  async prepare(project: Project, preparation: Preparation): Promise<PreparedTool> {
    const { name } = preparation
    const kept = this.#kept.get(name)
    if (kept?.project === project && kept.ways.areSame()) return kept.prepared
    return await this.#compile(project, preparation)
  }

  async #compile(
    project: Project,
    { name, compiler, installation, conversationId }: Preparation,
  ): Promise<PreparedTool> {
    this.#kept.delete(name)
    const tool = resolveTool(project.loaded.config, name, installation)
    const only = (subject: Subject): boolean => subject.kind === 'tool' && subject.name === name
    const ways = Ways.follow(pathsOf(project, only))
    // What is guarded is more than what rules name: so for who writes it is looked for at each call (SPEC 4.10).
    const now = { ...project, guard: project.guard.anew() }
    const { bySubject, warnings, answered } = await compileProject(now, compiler, {
      only,
      guarding: 'writers',
    })
    const [compiled] = bySubject
    if (!compiled) throw new Error('a local tool did not compile')
    const [subject, policy] = compiled
    const { root, workspace } = project
    const context = contextFor(policy, {
      root,
      workspaceId: workspace.id,
      ...(conversationId === undefined ? {} : { conversationId }),
    })
    const boundary = boundaryFor(now, subject, policy)
    const isGuarded = !onlyReads(project.loaded.config, subject)
    const guard = isGuarded ? now.guard : undefined
    const prepared = { tool, ...this.#asBefore(name, { policy, boundary, context }), guard, warnings }
    // What changed while it was compiled may be in it or not.
    if (!isGuarded && answered === false && ways.areSame()) this.#kept.set(name, { project, prepared, ways })
    return prepared
  }

  #asBefore(name: string, compiled: Compiled): Compiled {
    const last = this.#last.get(name)
    const isSame =
      last !== undefined &&
      isDeepStrictEqual(
        [last.policy, last.boundary, last.context.data],
        [compiled.policy, compiled.boundary, compiled.context.data],
      )
    if (isSame) return last
    this.#last.set(name, compiled)
    return compiled
  }
}

type Compiled = Pick<PreparedTool, 'policy' | 'boundary' | 'context'>

interface Kept {
  readonly project: Project
  readonly prepared: PreparedTool
  readonly ways: Ways
}

/** All that is looked at while compiling: where rules lead, and Cordon's own places where a rule covers them. */
const pathsOf = (
  { root, loaded, guard }: Project,
  only: (subject: Subject) => boolean,
): readonly string[] => [
  root.path,
  ...subjectsOf(loaded.config)
    .filter(only)
    .flatMap(({ access }) => (access?.fs ?? []).map(({ path }) => join(root.path, path))),
  ...[...loaded.config.sandbox.guard, ...mountNames(loaded.config)].map((path) => join(root.path, path)),
  ...guard.ownDirectories().filter((place) => below(root.path, place) !== undefined),
]
