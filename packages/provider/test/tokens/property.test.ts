import fc from 'fast-check'
import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/commands.ts'
import { SigningKey } from '../../src/tokens/key.ts'
import { verifyInvocation } from '../../src/tokens/verify.ts'
import { forge, invoke, NOW, OPTIONS, provider } from './world.ts'

/** `CORDON_FUZZ=100000` for the long run. */
const MUTATIONS = Number(process.env['CORDON_FUZZ'] ?? 5000)
const keys = [provider, ...Array.from({ length: 3 }, () => SigningKey.generate())]

/** Few names, so that chains that narrow are as frequent as chains that do not. */
const prefix = fc
  .array(fc.constantFrom('a', 'a ', 'a"', 'ab', '*'), { minLength: 1, maxLength: 3 })
  .map((names) => `/${names.join('/')}`)
const scope = fc.constantFrom('/filesystem', '/filesystem/file', '/filesystem/dir', ...COMMANDS.slice(0, 3))
const link = fc.record({
  prefix,
  scope,
  by: fc.nat({ max: 3 }),
  to: fc.nat({ max: 3 }),
  nbf: fc.constantFrom(undefined, NOW - 1, NOW, NOW + 1),
  exp: fc.constantFrom(NOW - 1, NOW, NOW + 1),
})
type Link = typeof link extends fc.Arbitrary<infer T> ? T : never

/** Half of the links continue the one before them, or hardly any chain would be whole. */
const chains = fc
  .array(fc.record({ link, follow: fc.integer({ min: 0, max: 9 }) }), { minLength: 1, maxLength: 4 })
  .map((drawn) => {
    const links: Link[] = []
    for (const { link: each, follow } of drawn) {
      const above = links.at(-1)
      if (follow < 2) links.push(each)
      else if (!above) links.push({ ...each, by: 0, nbf: undefined, exp: NOW + 1 })
      else {
        const below = follow < 7 ? `${above.prefix}/a` : each.prefix
        links.push({
          ...each,
          by: above.to,
          prefix: below,
          scope: follow < 7 ? above.scope : each.scope,
          nbf: undefined,
          exp: NOW + 1,
        })
      }
    }
    return links
  })

/** The rule, as SPEC 7.3 says it; components compared one by one. */
function narrows(links: readonly Link[], by: number, command: string): boolean {
  const parts = (text: string): string[] => text.split('/').slice(1)
  const within = (wide: string, narrow: string): boolean =>
    parts(wide).every((name, i) => parts(narrow)[i] === name)
  return links.every(({ prefix: path, scope: granted, by: issuer, to, nbf = 0, exp }, i) => {
    const above = links[i - 1]
    const fits = above
      ? issuer === above.to && within(above.prefix, path) && within(above.scope, granted)
      : issuer === 0
    const last = i < links.length - 1 || (to === by && within(granted, command))
    return fits && last && nbf <= NOW && NOW <= exp
  })
}

test('a chain is accepted if and only if every link narrows', () => {
  let accepted = 0
  fc.assert(
    fc.property(
      chains,
      fc.nat({ max: 3 }),
      fc.constantFrom(...COMMANDS.slice(0, 4)),
      (links, other, command) => {
        const by = other === 0 ? 1 : (links.at(-1)?.to ?? 0)
        const tokens = links.map(({ prefix: path, scope: cmd, by: issuer, to, nbf, exp }, i) =>
          forge(
            keys[issuer]!,
            {
              aud: keys[to]!.did,
              cmd,
              exp,
              nonce: new Uint8Array(12).fill(i),
              ...(nbf === undefined ? {} : { nbf }),
            },
            path,
          ),
        )
        const result = verifyInvocation(invoke(keys[by]!, tokens, { cmd: command }), OPTIONS)
        if (result.kind === 'verified') accepted++
        expect(result.kind === 'verified').toBe(narrows(links, by, command))
        if (result.kind === 'verified') expect(result.prefix).toBe(links.at(-1)?.prefix)
      },
    ),
    { numRuns: 1500 },
  )
  expect(accepted).toBeGreaterThan(50)
})

test(
  'a token that was changed anywhere is refused, never accepted and never an exception',
  { timeout: 600_000 },
  () => {
    const [, app, agent] = keys as [SigningKey, SigningKey, SigningKey]
    const chain = [forge(provider, { aud: app.did }), forge(app, { aud: agent.did }, '/srv/ws/a')]
    const token = invoke(agent, chain, { args: { path: '/srv/ws/a/f', deep: [{ a: [1, null, true, 1.5] }] } })
    expect(verifyInvocation(token, OPTIONS).kind).toBe('verified')
    const bytes = Buffer.from(token.slice(1), 'base64url')
    const codes = new Set<string>()
    const check = (changed: Buffer): void => {
      if (changed.equals(bytes)) return
      const result = verifyInvocation(`C${changed.toString('base64url')}`, OPTIONS)
      if (result.kind === 'verified') throw new Error(`accepted: ${changed.toString('hex')}`)
      codes.add(result.code)
    }
    const random = fc.sample(
      fc.tuple(
        fc.constantFrom('set', 'flip', 'cut', 'insert', 'swap', 'text'),
        fc.nat(),
        fc.nat(),
        fc.uint8Array({ maxLength: 8 }),
      ),
      { numRuns: MUTATIONS, seed: 15 },
    )
    for (const [how, a, b, more] of random) {
      const at = a % bytes.length
      const changed = Buffer.from(bytes)
      if (how === 'set') changed[at] = b % 256
      else if (how === 'flip') changed[at]! ^= 1 << (b % 8)
      else if (how === 'swap')
        [changed[at], changed[b % bytes.length]] = [changed[b % bytes.length]!, changed[at]!]
      if (how === 'cut') check(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + (b % 4))]))
      else if (how === 'insert') check(Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]))
      else if (how === 'text') {
        const text = token.slice(0, at) + Buffer.from(more).toString('latin1') + token.slice(at + 1)
        if (text !== token && verifyInvocation(text, OPTIONS).kind === 'verified')
          throw new Error(`accepted: ${text}`)
      } else check(changed)
    }
    // Every part was reached: the container, the signatures, the envelopes.
    expect([...codes].sort()).toEqual(expect.arrayContaining(['token_broken_chain', 'token_malformed']))
  },
)

test('any text at all is an answer', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ maxLength: 300 }),
        fc.base64String({ maxLength: 300 }).map((text) => `C${text}`),
      ),
      (text) => {
        expect(verifyInvocation(text, OPTIONS).kind).toBe('refused')
      },
    ),
    { numRuns: 2000 },
  )
})
