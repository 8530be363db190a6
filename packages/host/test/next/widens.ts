import { isDeepStrictEqual } from 'node:util'
import {
  type AccessPolicy,
  CAPABILITIES,
  evaluateFs,
  FsIndex,
  parseRelPath,
  type RelPath,
} from '@cordon/policy'
import type { Policies } from '../../src/policies.ts'
import type { Project } from '../../src/project.ts'

/** What one command would run under: its whole configuration, and every policy compiled from it. */
export interface Compiled {
  readonly project: Project
  readonly policies: Policies
}

/** Everything that `after` grants and `before` did not, in words. Empty: nothing. */
export function widened(before: Compiled, after: Compiled, probes: readonly string[]): string[] {
  const was = new Map(
    [...before.policies.bySubject].map(([{ kind, name }, policy]) => [`${kind} ${name}`, policy]),
  )
  return [
    ...settingsWidened(before.project, after.project),
    ...[...after.policies.bySubject].flatMap(([{ kind, name }, policy]) => {
      const old = was.get(`${kind} ${name}`)
      return old ? policyWidened(`${kind} ${name}`, old, policy, probes) : [`${kind} ${name} is new`]
    }),
  ]
}

function settingsWidened(before: Project, after: Project): string[] {
  const [was, is] = [before.loaded.config, after.loaded.config]
  const limits = Object.entries(was.sandbox.limits).filter(
    ([name, value]) => (is.sandbox.limits[name as keyof typeof is.sandbox.limits] ?? Infinity) > value,
  )
  const raised = Object.keys(is.sandbox.limits).filter((name) => !(name in was.sandbox.limits))
  const commands = Object.entries(is.conversation.tools).filter(
    ([name, { command, run, source }]) =>
      !isDeepStrictEqual({ command, run, source }, pick(was.conversation.tools[name])),
  )
  return [
    ...(is.sandbox.mode === was.sandbox.mode ? [] : [`sandbox.mode is ${is.sandbox.mode}`]),
    ...[...limits.map(([name]) => name), ...raised].map((name) => `sandbox.limits.${name} is higher`),
    ...commands.map(([name]) => `tool ${name} starts something else, or differently`),
    ...Object.keys(is.providers.mcp)
      .filter((name) => !isDeepStrictEqual(is.providers.mcp[name], was.providers.mcp[name]))
      .map((name) => `server ${name} is another`),
  ]
}

const pick = (tool: Project['loaded']['config']['conversation']['tools'][string] | undefined): unknown =>
  tool && { command: tool.command, run: tool.run, source: tool.source }

function policyWidened(
  who: string,
  was: AccessPolicy,
  is: AccessPolicy,
  probes: readonly string[],
): string[] {
  const [old, now] = [new FsIndex(was.fs), new FsIndex(is.fs)]
  const paths = [...was.fs, ...is.fs].flatMap(({ path }) => [path, join(path, 'x')])
  const files = [...new Set([...paths, ...probes.map((path) => parseRelPath(path))])].flatMap((path) =>
    CAPABILITIES.filter((each) => grants(now, path, each) && !grants(old, path, each)).map(
      (each) => `${who} may ${each} ${path}`,
    ),
  )
  const targets = is.fs.filter(
    ({ path, approvedTarget }) =>
      approvedTarget !== undefined &&
      !was.fs.some((rule) => rule.path === path && rule.approvedTarget === approvedTarget),
  )
  return [
    ...files,
    ...targets.map(({ path, approvedTarget }) => `${who}: ${path} leads to ${approvedTarget}`),
    ...added(was.net, is.net, who),
    ...added(was.env, is.env, who),
    ...(isDeepStrictEqual(was.commands, is.commands) ? [] : [`${who}: commands differ`]),
  ]
}

const grants = (index: FsIndex, path: RelPath, capability: (typeof CAPABILITIES)[number]): boolean =>
  evaluateFs(index, path, capability).kind === 'granted'

const join = (path: RelPath, name: string): RelPath => parseRelPath(path === '.' ? name : `${path}/${name}`)

/** Rules of these axes do not depend on the files, so the ones there are must have been there. */
const added = (was: readonly object[], is: readonly object[], who: string): string[] =>
  is
    .filter((rule) => !was.some((old) => isDeepStrictEqual(bare(old), bare(rule))))
    .map((rule) => `${who}: ${JSON.stringify(rule)}`)

const bare = (rule: object): object => ({ ...rule, origin: undefined })
