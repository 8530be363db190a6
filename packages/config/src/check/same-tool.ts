import type { Named, RunMode, RunRule, ToolConfig } from '../config.ts'

type Run = ToolConfig['run']

/**
 * SPEC 2.1, decision 0339: a tool of a server that is configured under several names is one tool. Another name is no way around what
 * a person said of the first, so each has the strictest of all: whether it is offered, run, and its result handed over.
 */
export function holdSameTools(tools: Named<ToolConfig>): Named<ToolConfig> {
  const same = Map.groupBy(Object.entries(tools), ([name, { source }]) =>
    source.kind === 'mcp' ? `${source.server}\0${source.tool ?? name}` : undefined,
  )
  const held = Object.create(null) as Record<string, ToolConfig>
  for (const [name, tool] of Object.entries(tools)) held[name] = tool
  for (const [key, entries] of same) {
    if (key === undefined || entries.length === 1) continue
    const all = entries.map(([, tool]) => tool)
    const strictest = {
      enable: all.every(({ enable }) => enable),
      run: all.map(({ run }) => run).reduce(stricterRun),
      runIsWritten: all.every(({ runIsWritten }) => runIsWritten),
      result: all.map(({ result }) => result).reduce(stricterRun),
    }
    for (const [name, tool] of entries) held[name] = { ...tool, ...strictest }
  }
  return held
}

/** Rules by arguments are not compared one by one: what either of two lists skips is skipped, and about the rest a person is asked. */
function stricterRun(a: Run, b: Run): Run {
  if (typeof a === 'string' && typeof b === 'string') return stricterMode(a, b)
  if (a === 'skip' || b === 'skip') return 'skip'
  if (a === 'unattended') return b
  if (b === 'unattended') return a
  const skipped = [a, b].flatMap((run) => (typeof run === 'string' ? [] : run.filter(isSkip)))
  return skipped.length === 0 ? 'ask' : skipped
}

const isSkip = ({ mode }: RunRule): boolean => mode === 'skip'

/** `edit` lets a person change the arguments, so it is no stricter than `ask`; the first one said stays. */
function stricterMode(a: RunMode, b: RunMode): RunMode {
  return STRICTNESS[b] > STRICTNESS[a] ? b : a
}

const STRICTNESS: Readonly<Record<RunMode, number>> = { unattended: 0, ask: 1, edit: 1, skip: 2 }
