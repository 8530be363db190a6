import { readAccess } from '../check/access.ts'
import { Findings } from '../check/findings.ts'
import { checkRunRules } from '../check/run-rules.ts'
import { ConfigError } from '../errors.ts'
import { type ConfigOrigin } from '../layers.ts'
import { checkShape, mergeLayers } from '../load.ts'
import { formatKeyPath } from '../toml/key-path.ts'

/**
 * Refuses an edit that puts something wrong at its key. What is wrong elsewhere in the file is not this edit's
 * business, and what depends on other layers is seen when all of them are loaded.
 */
export function checkEdited(text: string, path: readonly string[], origin: ConfigOrigin): void {
  const { root, problems } = mergeLayers([{ layer: 'workspace', label: '', text }])
  const findings = new Findings(root, problems)
  checkShape(findings)
  const access = path.indexOf('access')
  if (access > 0) readAccess(findings, path.slice(0, access + 1))
  if (path[0] === 'conversation' && path[3] === 'run') checkRunRules(findings, path.slice(0, 4))
  const key = formatKeyPath(path)
  const here = problems.filter((problem) => isWithin(problem.key, key) || isWithin(key, problem.key))
  if (here.length > 0) throw new ConfigError(here.map((problem) => ({ ...problem, origin })))
}

const isWithin = (key: string, outer: string): boolean =>
  key === outer || key.startsWith(`${outer}.`) || key.startsWith(`${outer}[`)
