/** SPEC 1.4: what a person or a model is told about a no, in the same parts on every axis. */
export interface Denial {
  /** What was asked for, and of what. */
  readonly asked: string
  readonly because: string
  /** What is granted on this axis, so that the reader knows what is possible; left out when no rule matters. */
  readonly granted?: readonly string[]
  /** What to paste, or that no rule is; left out where that is for a person to ask for (SPEC 4.10). */
  readonly toAllow?: Allowing
}

/** Lines that work as they are pasted; no sentence stands in their place. */
export type Allowing = readonly string[] | 'no rule'

export function explain({ asked, because, granted, toAllow }: Denial): string {
  return [
    asked,
    `  because: ${because}`,
    ...(granted ? [`  granted: ${list(granted)}`] : []),
    ...(toAllow === undefined ? [] : allowing(toAllow)),
  ].join('\n')
}

const allowing = (toAllow: Allowing): readonly string[] =>
  toAllow === 'no rule'
    ? ['  no rule can allow it']
    : ['  to allow it:', ...toAllow.map((line) => `    ${line}`)]

function list(granted: readonly string[]): string {
  const more = granted.length > GRANTS_SHOWN ? `, and ${granted.length - GRANTS_SHOWN} more` : ''
  return granted.length > 0 ? granted.slice(0, GRANTS_SHOWN).join(', ') + more : 'nothing'
}

const GRANTS_SHOWN = 8
