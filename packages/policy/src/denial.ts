/** SPEC 1.4: what a person or a model is told about a no, in the same parts on every axis. */
export interface Denial {
  /** What was asked for, and of what. */
  readonly asked: string
  readonly because: string
  /** What is granted on this axis, so that the reader knows what is possible. */
  readonly granted: readonly string[]
  /** The exact TOML that would allow it, or a sentence when no rule could. */
  readonly toAllow: readonly string[] | string
}

export function explain({ asked, because, granted, toAllow }: Denial): string {
  const listed = granted.slice(0, GRANTS_SHOWN).join(', ')
  const more = granted.length > GRANTS_SHOWN ? `, and ${granted.length - GRANTS_SHOWN} more` : ''
  return [
    asked,
    `  because: ${because}`,
    `  granted: ${granted.length > 0 ? listed + more : 'nothing'}`,
    ...(typeof toAllow === 'string'
      ? [`  to allow: ${toAllow}`]
      : ['  to allow:', ...toAllow.map((line) => `    ${line}`)]),
  ].join('\n')
}

const GRANTS_SHOWN = 8
