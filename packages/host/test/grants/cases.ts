import { CAPABILITIES, type Capability, formatRule, type RuleData } from '@cordon/policy'

/** One call of one shipped tool under one policy. */
export interface GrantsCase {
  readonly tool: string
  readonly rules: readonly RuleData[]
  /** Mounts that another tool has. */
  readonly others?: readonly RuleData[]
  readonly arguments: Readonly<Record<string, unknown>>
  /** The paths of the call, in the order in which the tool asks about them. */
  readonly paths: readonly string[]
}

const LINKED = ['fork', 'note', 'in/deep']
const EXTERNAL = [...LINKED, 'fork/n']
const RULE_PATHS = [
  '.',
  'f',
  'a',
  'a/f',
  'a/b',
  'a/b/c',
  'a/b/c/f',
  'd',
  'd/e',
  'd/f',
  'd/to-file',
  'l',
  'll',
  'a/later',
  'new',
  'new/deep/er',
  'a/new',
  'a/new/x',
  '.npmrc',
  '.claude',
  '.git',
  '.git/hooks',
  ...EXTERNAL,
  ...EXTERNAL,
]
const TARGETS = [
  '.',
  'f',
  'g',
  'a',
  'a/f',
  'a/g',
  'a/b/f',
  'a/b/g',
  'a/b/c',
  'a/b/c/f',
  'a/b/to-f',
  'a/later',
  'd/f',
  'd/e',
  'd/e/g',
  'd/to-file',
  'd/to-nothing',
  'l',
  'l/f',
  'l/g',
  'l/to-f',
  'll/c/f',
  'esc/passwd',
  'new',
  'new/deep/er/x',
  'new/x',
  'a/new',
  'a/new/x/y',
  '.npmrc',
  '.envrc',
  '.claude/settings.json',
  '.claude/agents/new',
  '.git/config',
  '.git/hooks/pre',
  '.git/hooks/new',
  'fork',
  'fork/f',
  'fork/g',
  'fork/n/f',
  'fork/n/g',
  'fork/up/one/note',
  'fork/.git/config',
  'note',
  'in',
  'in/deep',
  'in/deep/f',
  'in/deep/g',
  'f/x',
]
const TOOLS = [
  'fs_read_file',
  'fs_list_files',
  'fs_grep_files',
  'fs_create_file',
  'fs_modify_file',
  'fs_delete_file',
  'fs_move_file',
  'unix_utils',
  'start',
]

/** Not shipped: of the shipped tools none starts a file of the workspace, so that nobody would play `execute`. */
const START = `[conversation.tools.start]
source = "local"
command = ["sh", "-c", 'exec "./$0"', "{{tool.arguments.path}}"]
`

/** mulberry32: small, and the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** So many calls under one policy, one after the other: all but the first meet a worker that is there already. */
export const CALLS_OF_A_POLICY = 4

export function caseFrom(seed: number): GrantsCase {
  const { tool, rules, others } = policyFrom(Math.floor(seed / CALLS_OF_A_POLICY))
  const random = randomFrom(seed)
  const pick = picker(random)
  // Every other target lies below a rule, or nearly everything would be refused.
  const near = TARGETS.filter((target) =>
    rules.some(({ path }) => path === '.' || target === path || target.startsWith(`${path}/`)),
  )
  const target = (): string => pick(random() < 0.6 && near.length > 0 ? near : TARGETS)
  const paths =
    tool === 'fs_move_file' || (tool === 'fs_modify_file' && random() < 0.3)
      ? [target(), target()]
      : [target()]
  return { tool, rules, others, paths, arguments: argumentsFor(tool, paths, pick(['cat', 'touch'])) }
}

function policyFrom(seed: number): Required<Pick<GrantsCase, 'tool' | 'rules' | 'others'>> {
  const random = randomFrom(seed)
  const pick = picker(random)
  const rules = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
    const path = pick(RULE_PATHS)
    // One in six hides, one in three grants everything: what people write.
    const kind = random()
    const granted = CAPABILITIES.filter(() => (kind < 0.16 ? false : kind < 0.5 ? true : random() < 0.45))
    return ruleOf(path, granted)
  })
  const tool = pick(TOOLS)
  const others = random() < 0.4 ? [ruleOf(pick(LINKED), CAPABILITIES)] : []
  return { tool, rules, others }
}

const picker =
  (random: () => number) =>
  <T>(from: readonly T[]): T =>
    from[Math.floor(random() * from.length)]!

const ruleOf = (path: string, granted: readonly Capability[]): RuleData => ({
  path,
  ...(EXTERNAL.includes(path) ? { external: true } : {}),
  ...Object.fromEntries(granted.map((name) => [name, true])),
})

function argumentsFor(
  tool: string,
  paths: readonly string[],
  util: 'cat' | 'touch',
): GrantsCase['arguments'] {
  const [path, other] = paths
  switch (tool) {
    case 'fs_grep_files':
      return { pattern: 'old', path }
    case 'fs_create_file':
      return { path, content: 'made', overwrite: true }
    case 'fs_modify_file':
      return { edits: paths.map((each) => ({ path: each, old: 'old', new: 'new' })) }
    case 'fs_move_file':
      return { from: path, to: other, overwrite: true }
    case 'unix_utils':
      return { util, args: ['--', path] }
    default:
      return { path }
  }
}

/** The rules as a person writes them, for this one tool. */
export const configOf = ({
  tool,
  rules,
  others = [],
}: Pick<GrantsCase, 'tool' | 'rules' | 'others'>): string =>
  `${tool === 'start' ? START : ''}${accessOf(tool, rules)}${others.length > 0 ? accessOf(tool === OTHER[0] ? OTHER[1] : OTHER[0], others) : ''}`

/** Whoever is not asked about. */
const OTHER = ['fs_read_file', 'fs_list_files'] as const

const accessOf = (tool: string, rules: readonly RuleData[]): string =>
  `[conversation.tools.${tool}.access]\nfs = [\n${rules.map((rule) => `  ${formatRule(rule)},\n`).join('')}]\n`
