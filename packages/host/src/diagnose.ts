import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { below, CordonError } from '@cordon/policy'
import { findDelegatedCgroup, findProgram, type KernelReport, probeKernel } from '@cordon/sandbox'
import { openWorkspace, type Surroundings } from '@cordon/workspace'

/** What `cordon doctor` says (SPEC 4.7): found by trying, not by asking for versions. */
export interface Diagnosis extends KernelReport {
  /** Where a limit of all processes' memory together can be set; undefined: it holds for each alone. */
  readonly memoryCgroup: string | undefined
  /** What would build the launcher; undefined: there is none. */
  readonly compiler: string | undefined
  readonly notices: readonly DoctorNotice[]
}

/** How something confined could get at a later `cordon`, without anything that the sandbox could hold. */
export type DoctorNotice =
  /** npm obeys it before it starts `cordon` for `npx cordon`, with all the person's rights. */
  | { readonly kind: 'npm-runs-code'; readonly file: string; readonly line: number; readonly key: string }
  /** The program itself lies where confined commands may write. */
  | { readonly kind: 'installed-in-workspace'; readonly place: string; readonly workspace: string }

export interface DoctorRequest {
  readonly cwd: string
  readonly surroundings: Surroundings
  /** The directory that the running `cordon` is installed in. */
  readonly installation: string
}

export const diagnose = (request: DoctorRequest): Diagnosis => ({
  ...probeKernel(),
  memoryCgroup: findDelegatedCgroup(),
  compiler: compilerOf(request),
  notices: [...npmNotices(request), ...installationNotices(request)],
})

/** As the install step looks for it. */
function compilerOf({ cwd, surroundings: { env } }: DoctorRequest): string | undefined {
  try {
    return findProgram((env['CC']?.trim() || 'cc').split(/\s+/)[0]!, cwd, env['PATH'] ?? '')
  } catch (error) {
    if (error instanceof CordonError) return undefined
    throw error
  }
}

/** The directories that npm looks into for a project's own settings; the person's own file is not among them. */
function npmNotices({ cwd, surroundings: { home } }: DoctorRequest): readonly DoctorNotice[] {
  const found: DoctorNotice[] = []
  for (let dir = cwd; ; dir = dirname(dir)) {
    if (dir !== home) found.push(...settingsThatRun(join(dir, '.npmrc')))
    if (dir === dirname(dir)) return found
  }
}

/** Of npm's settings, those by which a project's `.npmrc` chooses code that `npx` runs. */
const RUNS_CODE = /^\s*(node[-_]options|script[-_]shell|shell)\s*=/i

function settingsThatRun(file: string): readonly DoctorNotice[] {
  return readLines(file).flatMap((text, index): DoctorNotice[] => {
    const key = RUNS_CODE.exec(text)?.[1]
    return key === undefined ? [] : [{ kind: 'npm-runs-code', file, line: index + 1, key }]
  })
}

/** Larger than anybody writes; a FIFO or a device in its place is nothing that npm reads either. */
const LARGEST_NPMRC = 1024 * 1024

function readLines(file: string): readonly string[] {
  try {
    const stat = statSync(file)
    return stat.isFile() && stat.size <= LARGEST_NPMRC ? readFileSync(file, 'utf8').split('\n') : []
  } catch {
    return [] // most directories have none
  }
}

function installationNotices({ cwd, surroundings, installation }: DoctorRequest): readonly DoctorNotice[] {
  const workspace = rootOf(cwd, surroundings)
  // Nothing is run in the home, or above it.
  return below(workspace, installation) === undefined || below(workspace, surroundings.home) !== undefined
    ? []
    : [{ kind: 'installed-in-workspace', place: installation, workspace }]
}

/** One that cannot be used is no reason not to say how the machine is. */
function rootOf(cwd: string, surroundings: Surroundings): string {
  try {
    return openWorkspace(cwd, surroundings)?.root ?? cwd
  } catch (error) {
    if (error instanceof CordonError) return cwd
    throw error
  }
}
