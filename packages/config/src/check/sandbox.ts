import { FsAccessError, parseRelPath, type RelPath } from '@cordon/policy'
import { type SandboxConfig } from '../config.ts'
import { type Findings, tableOf } from './findings.ts'

/** `[sandbox]`, with what nobody wrote filled in. */
export function readSandbox(findings: Findings): SandboxConfig {
  const written = tableOf(findings.values['sandbox']) as Partial<Record<keyof SandboxConfig, unknown>>
  const { mode, sensitive, unix_sockets, limits } = written as Partial<SandboxConfig>
  return {
    mode: mode ?? 'enforce',
    sensitive: sensitive ?? [],
    guard: readGuard(written.guard, findings),
    unix_sockets: unix_sockets ?? 'pairs',
    limits: limits ?? {},
  }
}

/** SPEC 4.10: paths as in rules, from the workspace's root. */
function readGuard(written: unknown, findings: Findings): readonly RelPath[] {
  if (!Array.isArray(written) || findings.isBroken(['sandbox', 'guard'])) return []
  return written.flatMap((text: unknown, index) => {
    try {
      return [parseRelPath(text)]
    } catch (error) {
      if (!(error instanceof FsAccessError)) throw error
      findings.add(['sandbox', 'guard', index], error.message, "write a path below the workspace's root")
      return []
    }
  })
}
