import { type Call, itemsFor } from './call.ts'
import { type Exit, exitFrom } from './exit.ts'
import { type Plan } from './plan/types.ts'

/** How the call ended that this process was started again for. */
export interface End {
  readonly exit: Exit
  /** The end of what it wrote to stderr; empty where that is a terminal, or the same file as stdout. */
  readonly said: string
}

/** Throws `LaunchError` when the sandbox could not be built. The plan is made anew, from the same command line. */
export function endFrom(report: string, plan: Plan, call: Call): End {
  const split = report.indexOf('\n\n') + 1
  const items = itemsFor(plan, call, [])
  return {
    exit: exitFrom(report.slice(0, split), plan, items, { code: EXIT_LAUNCHER, signal: null }),
    said: report.slice(split + 1),
  }
}

const EXIT_LAUNCHER = 125
