import type { AccessPolicy } from '@cordon/policy'
import { boundaryFor } from '../compile/boundary.ts'
import type { Subject } from '../compile/subject.ts'
import { compileProject, type Compiler } from '../policies.ts'
import type { Project } from '../project.ts'
import { openJournalKey } from './journal-key.ts'
import type { Installation } from './shipped.ts'
import { type LocalTool, resolveTool } from './tool.ts'

/** A tool ready to be called: started how, and under which policy. */
export interface PreparedTool {
  readonly tool: LocalTool
  readonly policy: AccessPolicy
  readonly boundary: AccessPolicy | undefined
  readonly journalKey?: string
  readonly warnings: readonly string[]
}

/** SPEC 3.1: its policy is compiled first; one that does not compile fails the call. */
export async function prepareTool(
  project: Project,
  name: string,
  compiler: Compiler,
  installation: Installation,
): Promise<PreparedTool> {
  const tool = resolveTool(project.loaded.config, name, installation)
  const only = (subject: Subject): boolean => subject.kind === 'tool' && subject.name === name
  const { bySubject, warnings } = await compileProject(project, compiler, { only })
  const [compiled] = bySubject
  if (!compiled) throw new Error('a local tool did not compile')
  const [subject, policy] = compiled
  const boundary = boundaryFor(project, subject, policy)
  const journal = name === 'fs_modify_file' ? { journalKey: openJournalKey(project.workspace) } : {}
  return { tool, policy, boundary, warnings, ...journal }
}
