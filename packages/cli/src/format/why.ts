import { type AnyRule, typedEdit, type Why } from '@cordon/host'
import { show } from '@cordon/policy'
import type { Stream } from '../world.ts'

/** The shape that scripts rely on: these keys are always there. */
export function whyJson(found: Why): Record<string, unknown> {
  const { question, allowed, canonical, rule, because, others, notes, fix, subject } = found
  return {
    allowed,
    subject,
    capability: question.capability,
    target: question.target,
    canonical: canonical ?? null,
    rule: rule ? ruleData(rule) : null,
    origin: rule?.rule.origin ?? null,
    because,
    others: others.map((other) => ({ ...ruleData(other), origin: other.rule.origin ?? null })),
    notes,
    fix: fix
      ? { key: fix.key, value: fix.value, layer: fix.layer, command: typedEdit(fix) }
      : found.command === undefined
        ? null
        : { command: found.command },
  }
}

/** For people: the answer first, then why, then how to change it. */
export function formatWhy(found: Why, { style }: Pick<Stream, 'style'>): string {
  const { question, allowed, canonical, rule, because, others, notes, fix, subject } = found
  const verdict = allowed ? style('green', 'allowed') : style('red', 'denied')
  const lines = [`${verdict}: ${subject}, ${question.capability} ${show(question.target)}`]
  if (canonical !== undefined && canonical !== question.target) lines.push(`  really:  ${show(canonical)}`)
  lines.push(`  because: ${because}`)
  if (rule?.rule.origin) lines.push(`  rule at: ${rule.rule.origin}`)
  for (const other of others)
    lines.push(style('dim', `  overruled: the rule for ${ruleText(other)} at ${other.rule.origin ?? '?'}`))
  for (const note of notes) lines.push(`  ${style('yellow', 'note:')}    ${note}`)
  if (fix) lines.push('  to allow it:', `    ${typedEdit(fix)}`)
  else if (found.command !== undefined)
    lines.push(`  to allow it${found.at === 'terminal' ? ', at a terminal' : ''}:`, `    ${found.command}`)
  return `${lines.join('\n')}\n`
}

function ruleData(any: AnyRule): Record<string, unknown> {
  switch (any.axis) {
    case 'fs': {
      const { path, grants, external } = any.rule
      return { path, grants: [...grants], ...(external ? { external } : {}) }
    }
    case 'net': {
      const { host, scheme, port, pathPrefix, allow } = any.rule
      return { host, scheme, port, path_prefix: pathPrefix, allow }
    }
    case 'env':
      return { name: any.rule.name, read: any.rule.read }
  }
}

const ruleText = (any: AnyRule): string => {
  switch (any.axis) {
    case 'fs':
      return `${show(any.rule.path)} (${[...any.rule.grants].join(', ') || 'nothing'})`
    case 'net': {
      const { scheme, host, port, pathPrefix, allow } = any.rule
      const target = `${scheme ? `${scheme}://` : ''}${host}${port === undefined ? '' : `:${port}`}${pathPrefix ?? ''}`
      return `${show(target)} (${allow ? 'allowed' : 'denied'})`
    }
    case 'env':
      return `${show(any.rule.name)} (${any.rule.read ? 'passed on' : 'withheld'})`
  }
}
