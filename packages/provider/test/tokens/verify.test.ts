import { encode } from '@ipld/dag-cbor'
import { CID } from 'multiformats/cid'
import { expect, test } from 'vitest'
import { metaFor, policyFor } from '../../src/tokens/constraint.ts'
import { decodeContainer, encodeContainer } from '../../src/tokens/container.ts'
import { delegateOn, mintDelegation, readDelegation, type Delegation } from '../../src/tokens/delegation.ts'
import { cidOf } from '../../src/tokens/envelope.ts'
import { chooseChain, signInvocation } from '../../src/tokens/invocation.ts'
import { SigningKey } from '../../src/tokens/key.ts'
import { parsePrefix } from '../../src/tokens/prefix.ts'
import { boundedCache, verifyInvocation, verifyInvocationInPool } from '../../src/tokens/verify.ts'
import {
  agent,
  app,
  forge,
  helper,
  invoke,
  NOW,
  OPTIONS,
  outcome,
  provider,
  rootTo,
  stranger,
  terms,
} from './world.ts'

const root = rootTo(app)
const chain = [root, delegateOn(app, [root], terms(agent.did, '/srv/ws/a', { command: '/filesystem/file' }))]
/** What is in a container. */
const tokensIn = (token: string): Uint8Array[] => decodeContainer(token, 100)
const bytes = (links: readonly Delegation[]): Uint8Array[] => links.map((each) => each.bytes)

test('a chain of two: who, what, where, and every CID', () => {
  const nonce = Uint8Array.from({ length: 12 }, (_, i) => i)
  const args = { path: '/srv/ws/a/f', range: [0, 10] }
  const token = signInvocation({
    key: agent,
    chain,
    command: '/filesystem/file/read',
    args,
    expires: NOW + 9,
    nonce,
  })
  expect(verifyInvocation(token, OPTIONS)).toEqual({
    kind: 'verified',
    app: app.did,
    agent: agent.did,
    command: '/filesystem/file/read',
    args,
    prefix: '/srv/ws/a',
    cids: chain.map(({ cid }) => cid),
    cid: expect.stringMatching(/^bafyrei[a-z2-7]{52}$/),
    nonce,
    expires: NOW + 9,
  })
})

test('the wire format stays what it is', () => {
  const to = SigningKey.load('z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq')
  const minted = mintDelegation(provider, { ...terms(to.did, '/srv/ws'), nonce: new Uint8Array(12) })
  expect([minted.cid, minted.bytes.length]).toEqual([
    'bafyreifbxqihdufddq2w2kpxcscorciw2ahglwst2beqdaifmtl7jaqzcm',
    532,
  ])
})

test('keys are read back, and nothing else is a key', () => {
  const made = SigningKey.generate()
  expect(SigningKey.load(`${made.serialize()}\n`).did).toBe(made.did)
  for (const text of ['', 'z', made.did, made.serialize().slice(1), `${made.serialize()}1`, 'z'.repeat(1e6)])
    expect(() => SigningKey.load(text)).toThrow('this is not a signing key of Ed25519')
})

/** Each attack, and the answer: code and reason. */
const ATTACKS: Record<string, () => [token: string, answer: string]> = {
  'an agent with no delegation at all': () => [
    invoke(stranger, []),
    'token_broken_chain: the invocation has no delegation',
  ],
  "the provider's own key without a delegation": () => [
    invoke(provider, []),
    'token_broken_chain: the invocation has no delegation',
  ],
  'a chain made up by a stranger': () => [
    invoke(stranger, [forge(stranger, { aud: stranger.did })]),
    'token_broken_chain: the first delegation is not by the provider that the invocation is for',
  ],
  "the provider's name on a stranger's signature": () => [
    invoke(stranger, [forge(stranger, { iss: provider.did, aud: stranger.did })]),
    "token_signature: the signature of a delegation is not its issuer's",
  ],
  "the agent's name on a stranger's signature": () => [
    invoke(stranger, bytes(chain), { iss: agent.did }),
    "token_signature: the signature of the invocation is not its issuer's",
  ],
  'a stolen chain': () => [
    invoke(stranger, bytes(chain)),
    'token_broken_chain: the invocation is not by the audience of the last delegation',
  ],
  'a chain in another order': () => [
    invoke(agent, bytes(chain.toReversed())),
    'token_broken_chain: the first delegation is not by the provider that the invocation is for',
  ],
  'the middle of a chain left out': () => {
    const last = delegateOn(agent, chain, terms(helper.did, '/srv/ws/a', { command: '/filesystem/file' }))
    return [
      invoke(helper, [root.bytes, last.bytes]),
      'token_broken_chain: a delegation is not by the audience of the one before it',
    ]
  },
  'a link about another provider': () => [
    invoke(agent, [root.bytes, forge(app, { aud: agent.did, sub: stranger.did })]),
    'token_broken_chain: a delegation is about another subject than the one before it',
  ],
  'a link about anybody (powerline)': () => [
    invoke(agent, [root.bytes, forge(app, { aud: agent.did, sub: null })]),
    'token_broken_chain: a delegation names no subject',
  ],
  'another provider': () => [
    invoke(agent, bytes(chain), { sub: stranger.did, aud: stranger.did }),
    'token_wrong_audience: the invocation is for another provider',
  ],
  'another audience': () => [
    invoke(agent, bytes(chain), { aud: stranger.did }),
    'token_wrong_audience: the invocation is for another provider',
  ],
  'an expired invocation': () => [
    invoke(agent, bytes(chain), { exp: NOW - 1 }),
    'token_expired: the invocation has expired',
  ],
  'an invocation of tomorrow': () => [
    invoke(agent, bytes(chain), { nbf: NOW + 1 }),
    'token_not_yet_valid: the invocation is not valid yet',
  ],
  'an invocation that lasts': () => [
    invoke(agent, bytes(chain), { exp: NOW + 301 }),
    'token_lifetime: the invocation is valid for longer than 300 seconds',
  ],
  'an invocation for ever': () => [
    invoke(agent, bytes(chain), { exp: null }),
    'token_malformed: it has a time that is not in seconds since 1970',
  ],
  'an expired root': () => [
    invoke(agent, [forge(provider, { aud: agent.did, exp: NOW - 1 })]),
    'token_expired: a delegation has expired',
  ],
  'an expired link': () => [
    invoke(agent, [root.bytes, forge(app, { aud: agent.did, exp: NOW - 1 })]),
    'token_expired: a delegation has expired',
  ],
  'a link of tomorrow': () => [
    invoke(agent, [root.bytes, forge(app, { aud: agent.did, nbf: NOW + 1 })]),
    'token_not_yet_valid: a delegation is not valid yet',
  ],
  'a delegation for ever': () => [
    invoke(agent, [root.bytes, forge(app, { aud: agent.did, exp: null })]),
    'token_malformed: it has a time that is not in seconds since 1970',
  ],
  'a command that is not granted': () => [
    invoke(agent, bytes(chain), { cmd: '/filesystem/dir/list' }),
    'token_command_not_covered: the last delegation grants /filesystem/file, not /filesystem/dir/list',
  ],
  'a command that only begins like the granted one': () => {
    const only = rootTo(agent, '/srv/ws', { command: '/filesystem/dir/delete' })
    return [
      invoke(agent, [only.bytes], { cmd: '/filesystem/dir/delete_recursive' }),
      'token_command_not_covered: the last delegation grants /filesystem/dir/delete, not /filesystem/dir/delete_recursive',
    ]
  },
  'a command that nobody has': () => [
    invoke(agent, bytes(chain), { cmd: '/filesystem/file/reed' }),
    'token_command_not_covered: the invocation is for a command that this provider has not',
  ],
  'a delegation of a command that nobody has': () => [
    invoke(agent, [root.bytes, forge(app, { aud: agent.did, cmd: '/crud' })]),
    'token_command_not_covered: a delegation is for a command that this provider has not',
  ],
  'a wider command': () => [
    invoke(helper, [...bytes(chain), forge(agent, { aud: helper.did, cmd: '/filesystem' }, '/srv/ws/a')]),
    'token_widened: a delegation has a command that the one before it does not grant',
  ],
  'every command': () => [
    invoke(helper, [...bytes(chain), forge(agent, { aud: helper.did, cmd: '/' }, '/srv/ws/a')]),
    'token_widened: a delegation has a command that the one before it does not grant',
  ],
  'a constraint only in meta': () => [
    invoke(agent, [forge(provider, { aud: agent.did, pol: [] })]),
    'token_constraint: the policy of a delegation does not agree with its resource_constraint',
  ],
  'a constraint only in the policy': () => [
    invoke(agent, [forge(provider, { aud: agent.did, meta: {} })]),
    'token_constraint: a delegation has no resource_constraint {provider: "filesystem", path_prefix}',
  ],
  'no meta': () => [
    invoke(agent, [forge(provider, { aud: agent.did, meta: null })]),
    'token_constraint: a delegation has no resource_constraint {provider: "filesystem", path_prefix}',
  ],
  'two constraints that do not agree': () => [
    invoke(agent, [forge(provider, { aud: agent.did, pol: policyFor(parsePrefix('/srv')) })]),
    'token_constraint: the policy of a delegation does not agree with its resource_constraint',
  ],
  "another provider's constraint": () => [
    invoke(agent, [
      forge(provider, {
        aud: agent.did,
        meta: { resource_constraint: { provider: 'github', path_prefix: '/srv/ws' } },
      }),
    ]),
    'token_constraint: a delegation has no resource_constraint {provider: "filesystem", path_prefix}',
  ],
  'a constraint with something nobody holds': () => [
    invoke(agent, [
      forge(provider, { aud: agent.did, meta: { ...metaFor(parsePrefix('/srv/ws')), only_on: 'mondays' } }),
    ]),
    'token_constraint: a delegation has no resource_constraint {provider: "filesystem", path_prefix}',
  ],
  'a prefix that climbs': () => [
    invoke(agent, [
      forge(provider, {
        aud: agent.did,
        meta: { resource_constraint: { provider: 'filesystem', path_prefix: '/srv/ws/../..' } },
        pol: policyFor('/srv/ws/../..' as never),
      }),
    ]),
    'token_constraint: a delegation has no resource_constraint {provider: "filesystem", path_prefix}',
  ],
  'nine links': () => {
    let links = [rootTo(agent)]
    for (let i = 0; i < 7; i++) links = [...links, delegateOn(agent, links, terms(agent.did, '/srv/ws'))]
    expect(outcome(invoke(agent, bytes(links)))).toBe('verified')
    const ninth = forge(agent, { aud: agent.did, nonce: new Uint8Array(13) })
    return [invoke(agent, [...bytes(links), ninth]), 'token_too_deep: it holds 10 tokens; the most is 9']
  },
  'a proof that is not there': () => [
    invoke(agent, bytes(chain), {}, [root.bytes]),
    'token_broken_chain: it does not hold exactly the delegations that the invocation names',
  ],
  'a proof that nobody named': () => [
    invoke(agent, bytes(chain), {}, [...bytes(chain), rootTo(stranger).bytes]),
    'token_broken_chain: it does not hold exactly the delegations that the invocation names',
  ],
  'a proof named twice': () => [
    invoke(agent, [...bytes(chain), chain[1]!.bytes], {}, bytes(chain)),
    'token_broken_chain: it does not hold exactly the delegations that the invocation names',
  ],
  'two invocations': () => {
    const [a, b] = [invoke(agent, [root.bytes]), invoke(agent, [root.bytes], { nonce: new Uint8Array(13) })]
    const parts = [a, b].flatMap((token) => tokensIn(token))
    return [encodeContainer(parts), 'token_malformed: it does not hold exactly one invocation']
  },
  'an invocation as a proof': () => [
    invoke(agent, tokensIn(invoke(agent, []))),
    'token_malformed: it does not hold exactly one invocation',
  ],
  'a field that may restrict, and that nobody here knows': () => [
    invoke(agent, [forge(provider, { aud: agent.did, only_on: 'mondays' })]),
    'token_malformed: it has a field that UCAN 1.0 has not',
  ],
  'a short nonce': () => [
    invoke(agent, bytes(chain), { nonce: new Uint8Array(4) }),
    'token_malformed: its nonce is not 8 to 64 bytes',
  ],
  'arguments that are a list': () => [
    invoke(agent, bytes(chain), { args: ['/etc/passwd'] }),
    'token_malformed: the arguments are not a map',
  ],
  'a DID that is spelt in another way': () => [
    invoke(agent, [forge(provider, { aud: `${agent.did}#key` })]),
    'token_malformed: it names a party by something else than a did:key of Ed25519',
  ],
  'a proof named by text': () => [
    invoke(agent, [root.bytes], { prf: [root.cid] }),
    'token_malformed: a proof is named by something else than a CID',
  ],
  'too long': () => ['C'.repeat(64 * 1024 + 1), 'token_too_large: it is longer than 65536 characters'],
  'nested a thousand times': () => [
    `C${Buffer.concat([Buffer.alloc(1000, 0x81), Buffer.from([0])]).toString('base64url')}`,
    'token_malformed: it is not a UCAN container of version 1',
  ],
  'nested twenty times in an argument': () => [
    invoke(agent, bytes(chain), { args: JSON.parse(`{"path":${'['.repeat(20)}${']'.repeat(20)}}`) }),
    'token_malformed: it is nested too deeply',
  ],
  'nested a thousand times inside': () => [
    encodeContainer([Buffer.concat([Buffer.alloc(1000, 0x81), Buffer.from([0])])]),
    'token_malformed: it does not hold exactly one invocation',
  ],
  'a map of a billion': () => [
    `C${Buffer.from('ba3b9aca00', 'hex').toString('base64url')}`,
    'token_malformed: it is not a UCAN container of version 1',
  ],
  'an empty text': () => ['', 'token_malformed: it is not a UCAN container in base64url'],
  'a JWT': () => ['eyJhbGciOiJub25lIn0.e30.', 'token_malformed: it is not a UCAN container in base64url'],
}

for (const [name, attack] of Object.entries(ATTACKS))
  test(`SPEC 7.3 refused: ${name}`, async () => {
    const [token, answer] = attack()
    expect(outcome(token)).toBe(answer)
    expect(await verifyInvocationInPool(token, OPTIONS)).toEqual(verifyInvocation(token, OPTIONS)) // as the provider does
  })

test.each([
  ['/srv/agent-4', '/srv/agent-42'],
  ['/foo', '/foobar'],
  ['/ws', '/ws"'],
  ['/ws', '/ws '],
  ['/ws', '/WS'],
  ['/ws/a', '/ws'],
  ['/ws*', '/wsx'],
  ['/e\u0301', '/\u00e9'],
])('SPEC 7.3 a delegation for %j is not one for %j, in words or by signature', (has, wants) => {
  const parent = rootTo(app, has)
  const answer = 'token_widened: a delegation has a path_prefix outside that of the one before it'
  expect(outcome(invoke(agent, [parent.bytes, forge(app, { aud: agent.did }, wants)]))).toBe(answer)
  expect(() => delegateOn(app, [parent], terms(agent.did, wants))).toThrow(
    answer.slice('token_widened: '.length),
  )
})

test('a revoked delegation, also when it is written in another way', () => {
  const isRevoked = (cid: string): boolean => cid === root.cid
  const revoked = 'token_revoked: a delegation of the chain was revoked'
  expect(outcome(invoke(agent, bytes(chain)), { isRevoked })).toBe(revoked)
  // The same value and signature, and another hash: the map of the envelope in another order, and the array
  // with its length in a byte of its own.
  const other = 'token_malformed: it is not encoded in the canonical way'
  const [start, h, rest] = [root.bytes.subarray(0, 68), root.bytes.subarray(68, 79), root.bytes.subarray(79)]
  expect(Buffer.from(h).toString('hex')).toBe('6168483401ed01ed011371')
  const reordered = Buffer.concat([start, rest, h])
  expect(outcome(invoke(app, [reordered]), { isRevoked })).toBe(other)
  const longer = Buffer.concat([Buffer.from([0x98, 0x02]), root.bytes.subarray(1)])
  expect(outcome(invoke(app, [longer]), { isRevoked })).toBe(other)
})

test('one token has one spelling', () => {
  const tokens = [0, 1, 2].map((more) => invoke(app, [root.bytes], { nonce: new Uint8Array(12 + more) }))
  const loose = tokens.filter((token) => (token.length - 1) % 4 !== 0)
  expect(loose.length).toBeGreaterThan(0)
  for (const token of loose) {
    expect(outcome(token)).toBe('verified')
    const last = ALPHABET.indexOf(token.at(-1) ?? '')
    const respelt = token.slice(0, -1) + ALPHABET[last + 1]
    expect(Buffer.from(respelt.slice(1), 'base64url')).toEqual(Buffer.from(token.slice(1), 'base64url'))
    expect(outcome(respelt)).toBe('token_malformed: it is not a UCAN container in base64url')
  }
})

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

test('a remembered delegation is not verified again, but its times and its place in the chain are', () => {
  const delegations = boundedCache(10)
  const token = invoke(agent, bytes(chain))
  expect(outcome(token, { delegations })).toBe('verified')
  expect(chain.map(({ cid }) => delegations.get(cid)?.cid)).toEqual(chain.map(({ cid }) => cid))
  expect(outcome(token, { delegations })).toBe('verified')
  const later = invoke(agent, bytes(chain), { exp: NOW + 7200 })
  expect(outcome(later, { delegations, now: NOW + 7100 })).toBe('token_expired: a delegation has expired')
  expect(outcome(invoke(stranger, bytes(chain)), { delegations })).toMatch(/^token_broken_chain/)
  expect(outcome(token, { delegations, isRevoked: () => true })).toMatch(/^token_revoked/)
  const invocation = tokensIn(token).map((each) => cidOf(each).toString())
  expect(invocation.filter((cid) => delegations.get(cid))).toHaveLength(2)
})

test('a forged delegation is not remembered', () => {
  const delegations = boundedCache(10)
  const forged = forge(stranger, { iss: provider.did, aud: stranger.did })
  for (let i = 0; i < 2; i++)
    expect(outcome(invoke(stranger, [forged]), { delegations })).toMatch(/^token_signature/)
  expect(delegations.get(cidOf(forged).toString())).toBeUndefined()
})

test('the cache forgets what was not used for longest', () => {
  const cache = boundedCache(2)
  const [a, b, c] = [rootTo(app), rootTo(app), rootTo(app)] as const
  for (const each of [a, b]) cache.set(each.cid, each)
  cache.get(a.cid)
  cache.set(c.cid, c)
  expect([a, b, c].map(({ cid }) => cache.get(cid) !== undefined)).toEqual([true, false, true])
})

test('after a rotation the delegations of the earlier key count as long as it is named', () => {
  const next = SigningKey.generate()
  const token = invoke(agent, bytes(chain))
  expect(outcome(token, { provider: [next.did, provider.did] })).toBe('verified')
  expect(outcome(token, { provider: [next.did] })).toMatch(/^token_wrong_audience/)
})

test('a CID of something else finds nothing', () => {
  const other = CID.parse('bafyreidapluan542dz2hnwyfy7uxrcoskpd65qflcrrxovuimqqxh2wafu')
  expect(outcome(invoke(agent, bytes(chain), { prf: [other] }))).toMatch(/^token_broken_chain/)
})

test('from what an agent holds, the chain for this use is chosen', () => {
  const use = {
    agent: agent.did,
    command: '/filesystem/file/read',
    paths: ['/srv/ws/a/f'],
    now: NOW,
  } as const
  const unrelated = [
    rootTo(stranger),
    rootTo(agent, '/srv/other'),
    rootTo(agent, '/srv/ws', { expires: NOW - 1 }),
  ]
  expect(chooseChain([...unrelated, ...chain.toReversed()], use)).toEqual(chain)
  expect(chooseChain([...chain, ...unrelated], { ...use, command: '/filesystem/dir/list' })).toBeUndefined()
  expect(chooseChain(chain, { ...use, paths: ['/srv/ws/a/f', '/srv/ws/b'] })).toBeUndefined()
  expect(chooseChain(chain, { ...use, agent: stranger.did })).toBeUndefined()
  const [before, after] = [rootTo(agent), rootTo(agent, '/srv/ws', { expires: NOW + 1 })]
  expect(chooseChain([before, after], use)).toEqual([after]) // the one before may be revoked by now
})

test('a delegation by who has none, or after eight', () => {
  expect(() => delegateOn(agent, [root], terms(helper.did, '/srv/ws'))).toThrow('is not to this key')
  const links = Array.from({ length: 8 }, () => rootTo(agent))
  expect(() => delegateOn(agent, links, terms(helper.did, '/srv/ws'))).toThrow('more than 8 delegations')
  expect(() => readDelegation(encode({ a: 1 }))).toThrow('it is not an envelope of UCAN 1.0')
})
