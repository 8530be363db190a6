import { readAssistant, readLlmProviders } from './check/assistant.ts'
import { checkFiles } from './check/files.ts'
import { Findings, type Incomplete } from './check/findings.ts'
import { checkWhereAccessIs, readServers } from './check/mcp.ts'
import { readProfiles } from './check/profiles.ts'
import { readSandbox } from './check/sandbox.ts'
import { readToolDefaults, readTools } from './check/tools.ts'
import { type Config } from './config.ts'
import { DEFAULTS } from './defaults.ts'
import { ConfigError, type ConfigProblem } from './errors.ts'
import { type Explanation, explainPath } from './explain.ts'
import { type ConfigOrigin, LAYERS, type Path, type Source } from './layers.ts'
import { nearestOrigin, plainTable, removeCell, type TableCell } from './merge/cell.ts'
import { mergeDocuments } from './merge/merge.ts'
import { checkValue } from './schema/check.ts'
import { definition } from './schema/definition.ts'
import { explainIssues } from './schema/issues.ts'
import { Document, readDocument } from './toml/document.ts'

export interface LoadedConfig {
  readonly config: Config
  /** The effective values as plain data under their TOML names, for `config show`. */
  readonly values: Readonly<Record<string, unknown>>
  readonly warnings: readonly ConfigProblem[]
  /** Where the value was written, or the last layer that added to a list. Undefined: nobody wrote it. */
  readonly origin: (path: Path) => ConfigOrigin | undefined
  readonly explain: (path: Path) => Explanation | undefined
  /** SPEC 2.1: tools and servers that were left out, because a source that is not here may say the rest of them. */
  readonly incomplete: readonly Incomplete[]
}

/**
 * SPEC 2. Pure. Sources are laid over each other by layer, within a layer in the order given. `all: false`: there are
 * sources that nobody may look at yet; then a tool or server that is not whole is left out, instead of an error. What is
 * left out cannot be started, so that never widens anything (decision 0262).
 */
export function mergeSources(sources: readonly Source[], { all = true } = {}): LoadedConfig {
  const { root, problems: merging, documents } = mergeLayers([DEFAULTS, ...sources])
  const leftOut: Incomplete[] = []
  for (;;) {
    const findings = new Findings(root, [...merging])
    const config = check(findings, documents)
    const incomplete = all ? [] : findings.incomplete
    const excused = new Set(incomplete.map(({ problem }) => problem))
    const problems = findings.problems.filter((problem) => !excused.has(problem))
    if (problems.length > 0) throw new ConfigError(problems.toSorted(byPlace))
    if (incomplete.length === 0) return loadedOf(config, findings, leftOut)
    // A server that is gone leaves its tools without one: so all is checked anew.
    leftOut.push(...incomplete.filter(({ entry }) => removeCell(root, entry)))
  }
}

function check(findings: Findings, documents: readonly Document[]): Config {
  checkShape(findings)
  checkFiles(documents, findings.problems)
  return readConfig(findings)
}

function loadedOf(
  config: Config,
  { root, warnings }: Findings,
  incomplete: readonly Incomplete[],
): LoadedConfig {
  return {
    config,
    incomplete,
    get values() {
      return plainTable(root)
    },
    warnings,
    origin: (path) => explainPath(root, path)?.origin,
    explain: (path) => explainPath(root, path),
  }
}

/** As a person would go through the files: layer by layer, from the top. */
const byPlace = ({ origin: a }: ConfigProblem, { origin: b }: ConfigProblem): number =>
  LAYERS.indexOf(a.layer) - LAYERS.indexOf(b.layer) ||
  (a.label === b.label ? (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0) : 0)

/** Stops at text that is not TOML: what the rest means is not known without it. */
export function mergeLayers(sources: readonly Source[]): {
  root: TableCell
  problems: ConfigProblem[]
  documents: readonly Document[]
} {
  const inOrder = sources.toSorted((a, b) => LAYERS.indexOf(a.layer) - LAYERS.indexOf(b.layer))
  const read = inOrder.map(readDocument)
  const unreadable = read.filter((one): one is ConfigProblem => !(one instanceof Document))
  if (unreadable.length > 0) throw new ConfigError(unreadable)
  const problems: ConfigProblem[] = []
  const documents = read.filter((one) => one instanceof Document)
  const [first, ...others] = documents
  const root = mergeDocuments([first!, ...others], problems)
  return { root, problems, documents }
}

/** The definition's own findings, with the place of each. */
export function checkShape(findings: Findings): void {
  const issues = checkValue(definition, findings.values)
  if (issues.length === 0) return
  const locate = (path: Path): ConfigOrigin => {
    findings.markBroken(path)
    return nearestOrigin(findings.root, path)
  }
  findings.problems.push(...explainIssues(issues, [], locate))
}

function readConfig(findings: Findings): Config {
  const servers = readServers(findings)
  const tools = readTools(findings, servers)
  const defaults = readToolDefaults(findings)
  checkWhereAccessIs(findings, servers, tools)
  return {
    sandbox: readSandbox(findings),
    conversation: { tools, defaults },
    providers: { mcp: servers, llm: readLlmProviders(findings) },
    assistant: readAssistant(findings),
    profiles: readProfiles(findings),
  }
}
