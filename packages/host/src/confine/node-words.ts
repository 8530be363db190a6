import { dirname, join } from 'node:path'
import { below } from '@cordon/policy'
import type { HintFacts } from './hint.ts'
import type { PathMention } from './mentions.ts'

/**
 * Node names the package that it does not find, and who imports it, and not the `node_modules` where the host has it: that one may
 * lie around the workspace, be granted by no rule, or hold a link that leads elsewhere, as `npm link` and pnpm make them.
 */
export function packagesMissed(said: string, facts: HintFacts): readonly PathMention[] {
  const importer = IMPORTER.exec(said)
    ?.slice(1)
    .find((each) => each !== undefined)
  return [...said.matchAll(MISSED)].flatMap(([, name = '']): PathMention[] => {
    const from = importer === undefined ? facts.cwd : dirname(importer)
    const modules = upFrom(from).find((dir) => facts.exists(join(dir, 'node_modules', name)))
    const path = modules === undefined ? undefined : placeOf(join(modules, 'node_modules'), name, facts)
    // SPEC 4.9: a complaint, or a link, does not choose the place of a secret.
    return path === undefined || facts.isSensitive(path) ? [] : [{ path, trouble: 'absent' }]
  })
}

/** Of a package that has its own dependencies beside it, all of them; of one that `npm link` leads to, the link. */
function placeOf(modules: string, name: string, { root, realName }: HintFacts): string {
  const linked = join(modules, name)
  const real = realName(linked)
  if (below(realName(modules), real) !== undefined) return modules
  const [around] = /^.*?\/node_modules(?=\/)/.exec(real) ?? []
  return around !== undefined && below(root.path, around) === undefined ? around : linked
}

const upFrom = (dir: string): readonly string[] => (dir === '/' ? [dir] : [dir, ...upFrom(dirname(dir))])

/** The first part of `name/file` and of `@scope/name/file`; no path and no module of Node's own. */
const MISSED = /Cannot find (?:package|module) '((?:@[\w.~-]+\/)?[\w~-][\w.~-]*)(?:\/[^'\n]*)?'/g
const IMPORTER = /' imported from (\/[^\n]+)|\nRequire stack:\n- (\/[^\n]+)/
