/** The decision itself (SPEC 1.2): against the number of rules, a linear scan, and Cedar. */
import { evaluateFs, FsIndex, type FsRule, parseFsRule, parseRelPath, Problems } from '@cordon/policy'
import { isAuthorized, preparsePolicySet, statefulIsAuthorized } from '@cedar-policy/cedar-wasm/nodejs'
import { compare } from './measure.ts'

function run(): void {
  const [few, many] = [rules(10), rules(10_000)]
  const [small, large] = [new FsIndex(few), new FsIndex(many)]
  const target = parseRelPath('packages/p3/src/lib/deep/file.ts')
  const decide = (index: FsIndex) => () => evaluateFs(index, target, 'read')
  compare({
    title: 'a decision on 10,000 rules against one on 10',
    ours: { name: '10,000 rules', run: decide(large) },
    theirs: { name: '10 rules', run: decide(small) },
    batch: 20_000,
    atMost: 1.5,
  })
  compare({
    title: 'a decision on 10,000 rules against a linear scan of them',
    ours: { name: 'index', run: decide(large) },
    theirs: { name: 'linear scan', run: () => scan(many, target) },
    batch: 20,
  })
  compareWithCedar(few, decide(small))
}

/** The same ten prefix rules as Cedar policies, preparsed: the fastest way Cedar offers. */
function compareWithCedar(few: readonly FsRule[], ours: () => unknown): void {
  const policies = few
    .map((rule) => `permit(principal, action, resource) when { resource.path like "${rule.path}/*" };`)
    .join('\n')
  const parsed = preparsePolicySet('bench', { staticPolicies: policies })
  if (parsed.type !== 'success') throw new Error(`cedar refuses the policies: ${JSON.stringify(parsed)}`)
  const path = 'packages/p3/src/lib/deep/file.ts'
  const question = {
    principal: { type: 'Tool', id: 't' },
    action: { type: 'Action', id: 'read' },
    resource: { type: 'File', id: path },
    context: {},
    entities: [{ uid: { type: 'File', id: path }, attrs: { path }, parents: [] }],
  }
  const ask = (): unknown => statefulIsAuthorized({ ...question, preparsedPolicySetId: 'bench' })
  const check = isAuthorized({ ...question, policies: { staticPolicies: policies } })
  if (check.type !== 'success' || check.response.decision !== 'allow')
    throw new Error('cedar disagrees with the bench')
  compare({
    title: 'a decision on 10 rules against @cedar-policy/cedar-wasm, preparsed',
    ours: { name: 'cordon', run: ours },
    theirs: { name: 'cedar', run: ask },
    batch: 50,
  })
}

function rules(count: number): FsRule[] {
  const problems = new Problems()
  return Array.from({ length: count }, (_, i) => {
    const path = i % 2 === 0 ? `packages/p${i}/src` : `packages/p${i}`
    return parseFsRule({ path, read: true }, `fs[${i}]`, problems)!
  })
}

function scan(all: readonly FsRule[], target: string): FsRule | undefined {
  let winner: FsRule | undefined
  for (const rule of all) {
    if (target !== rule.path && !target.startsWith(`${rule.path}/`)) continue
    if (!winner || rule.path.split('/').length >= winner.path.split('/').length) winner = rule
  }
  return winner
}

run()
