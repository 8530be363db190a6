import { type Flag, type Item } from './linux/items.ts'
import { UnplannableError } from './plan/errors.ts'
import { type Plan } from './plan/types.ts'

/** What belongs to one call; the plan holds for many. */
export interface Call {
  /** `argv[0]` is what the program is called; what is started is the plan's `survey.exe`. */
  readonly argv: readonly [string, ...string[]]
  readonly cwd?: string
  /** Exactly this, nothing more: see `buildEnvironment`. */
  readonly env: Readonly<Record<string, string>>
  /** Texts that are readable inside, by path below `FILES`: kept in memory, never on the host's disk. */
  readonly files?: ReadonlyMap<string, string>
}

/** Where `Call.files` lie: on the sealed root, so that not even the program can change them. */
export const FILES = '/run/cordon'

/** Everything the launcher has to be told. */
export const itemsFor = (
  plan: Plan,
  { argv, cwd = plan.survey.cwd, env, files = new Map() }: Call,
  more: readonly Flag[],
): readonly Item[] => [
  ...withFiles(plan, files).map((item) =>
    item.tag === 'flags' ? { ...item, flags: [...item.flags, ...more] } : item,
  ),
  { tag: 'cwd', path: cwd },
  { tag: 'exec', path: plan.survey.exe },
  ...argv.map((text): Item => ({ tag: 'arg', text })),
  ...Object.entries(env).map(([name, value]): Item => ({ tag: 'env', text: `${name}=${value}` })),
]

/** Made before the root is sealed; there is none to make them on without namespaces. */
function withFiles({ items, isolation }: Plan, files: ReadonlyMap<string, string>): readonly Item[] {
  if (files.size === 0) return items
  if (isolation !== 'namespaces')
    throw new UnplannableError('without namespaces there is no place for files of its own')
  const sealed = items.findIndex((item) => item.tag === 'seal')
  return [
    ...items.slice(0, sealed),
    { tag: 'dir', path: '/run', mode: 0o755 },
    { tag: 'dir', path: FILES, mode: 0o755 },
    ...[...files].map(([path, text]) => ({ tag: 'content', path, text }) as const),
    ...items.slice(sealed),
    { tag: 'allow', path: FILES, rights: ['read-file', 'read-dir'] },
  ]
}
