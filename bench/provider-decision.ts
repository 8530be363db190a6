/** What one request of the provider costs before anything is touched (SPEC 7.3): the token, and the policies. */
import {
  boundedCache,
  decide,
  type LoadedPolicies,
  loadPolicies,
  mintDelegation,
  parsePrefix,
  signInvocation,
  SigningKey,
  verifyInvocation,
} from '@cordon/provider'
import { compare } from './measure.ts'

/** Statements about one directory each; the request is for the first. */
function policies(count: number): LoadedPolicies {
  const one = (i: number): string =>
    `permit(principal, action == Action::"/filesystem/file/read", resource in Directory::"/srv/ws${i}");`
  const loaded = loadPolicies(Array.from({ length: count }, (_, i) => one(i)).join('\n'))
  if (loaded.kind === 'refused') throw new Error(JSON.stringify(loaded.problems))
  return loaded
}

/** Another size each time, so that no decision is a remembered one. */
let size = 0
const ask = (loaded: LoadedPolicies, bytes: () => number) => (): void => {
  const resource = { path: '/srv/ws0/src/a.ts', isDirectory: false, exists: true, size: bytes() }
  const { decision } = decide(loaded, {
    app: 'app',
    agent: 'agent',
    command: '/filesystem/file/read',
    resource,
  })
  if (decision !== 'allow') throw new Error('the bench is refused')
}

function run(): void {
  const [few, some, many] = [policies(3), policies(30), policies(300)]
  const fresh = (): number => size++
  const three = { name: '3', run: ask(few, fresh) }
  compare({
    title: '30 statements against 3',
    ours: { name: '30', run: ask(some, fresh) },
    theirs: three,
    batch: 20,
  })
  compare({
    title: '300 statements against 3',
    ours: { name: '300', run: ask(many, fresh) },
    theirs: three,
    batch: 20,
  })
  compare({
    title: 'the same question again against a new one, 3 statements',
    ours: { name: 'again', run: ask(few, () => 4096) },
    theirs: three,
    batch: 20,
  })
  tokens()
}

function tokens(): void {
  const [provider, agent] = [SigningKey.generate(), SigningKey.generate()]
  const terms = { prefix: parsePrefix('/srv/ws'), command: '/filesystem', expires: 2000 }
  const root = mintDelegation(provider, { ...terms, audience: agent.did })
  const args = { path: '/srv/ws/a' }
  const token = signInvocation({
    key: agent,
    chain: [root],
    command: '/filesystem/file/read',
    args,
    expires: 1100,
  })
  const options = { now: 1000, provider: [provider.did] }
  const delegations = boundedCache(16)
  compare({
    title: 'an invocation with a remembered delegation against one with a new one',
    ours: { name: 'remembered', run: () => verifyInvocation(token, { ...options, delegations }) },
    theirs: { name: 'new', run: () => verifyInvocation(token, options) },
    batch: 20,
  })
}

run()
