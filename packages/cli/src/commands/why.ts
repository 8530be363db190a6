import { type AnyRule, parseQuestion, why, type Why } from '@cordon/host'
import { shellWord, show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { EXIT } from '../exit.ts'
import { type CommonOptions, withCommonOptions } from '../options.ts'
import { compileQuietly, openProject } from '../project.ts'
import type { Stream } from '../world.ts'

export const register: Register = (parser, world) => {
  withCommonOptions(parser)
    .argument('<tool>', 'a tool, an MCP server or a profile')
    .argument('<capability>', 'read, create, update, delete or execute; net; env')
    .argument('<target>', 'a path in the workspace, a URL, or the name of a variable')
    .addHelpText(
      'after',
      `
Exit code: 0 allowed, 1 denied, 2 a question or a configuration that makes no
sense.

Examples:
  cordon why fs_read_file read src/main.ts
  cordon why fetch net https://api.github.com/repos
  cordon why fetch env GITHUB_TOKEN`,
    )
    .action(async (tool: string, capability: string, target: string, options: CommonOptions) => {
      const question = parseQuestion(capability, target)
      const project = await openProject(world, options)
      const policies = await compileQuietly(world, project)
      const found = why(project, policies, tool, question)
      world.out.write(
        options.json ? `${JSON.stringify(whyJson(found), undefined, 2)}\n` : formatWhy(found, world.out),
      )
      world.finish(found.allowed ? EXIT.ok : EXIT.denied)
    })
}

/** The shape that scripts rely on: these seven keys are always there. */
export function whyJson(found: Why): Record<string, unknown> {
  const { question, allowed, canonical, rule, because, others, fix, subject } = found
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
    fix: fix ? { ...fix, command: setCommand(fix) } : null,
  }
}

/** For people: the answer first, then why, then how to change it. */
export function formatWhy(found: Why, { style }: Pick<Stream, 'style'>): string {
  const { question, allowed, canonical, rule, because, others, fix, subject } = found
  const verdict = allowed ? style('green', 'allowed') : style('red', 'denied')
  const lines = [`${verdict}: ${subject}, ${question.capability} ${show(question.target)}`]
  if (canonical !== undefined && canonical !== question.target) lines.push(`  really:  ${show(canonical)}`)
  lines.push(`  because: ${because}`)
  if (rule?.rule.origin) lines.push(`  rule at: ${rule.rule.origin}`)
  for (const other of others)
    lines.push(style('dim', `  lost:    ${ruleText(other)} at ${other.rule.origin ?? '?'}`))
  if (fix) lines.push('  to allow it:', `    ${setCommand(fix)}`)
  else if (isUnapproved(rule)) lines.push('  to allow it, at a terminal:', '    cordon policy compile')
  return `${lines.join('\n')}\n`
}

/** SPEC 3.2: an approval revives it, not a rule. */
const isUnapproved = (any: AnyRule | undefined): boolean =>
  any?.axis === 'fs' && any.rule.external && any.rule.approvedTarget === undefined

const setCommand = ({ layer, key, value }: NonNullable<Why['fix']>): string =>
  `cordon config set ${layer === 'workspace' ? '' : `--${layer} `}${shellWord(key)} ${shellWord(value)}`

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

const ruleText = (any: AnyRule): string =>
  Object.entries(ruleData(any))
    .filter(([, value]) => value !== undefined)
    .map(
      ([key, value]) => `${key} ${Array.isArray(value) ? value.join('+') || 'nothing' : show(String(value))}`,
    )
    .join(', ')
