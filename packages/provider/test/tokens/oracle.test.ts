import { Delegation as TheirDelegation } from 'iso-ucan/delegation'
import { Invocation as TheirInvocation } from 'iso-ucan/invocation'
import { EdDSASigner } from 'iso-signatures/signers/eddsa.js'
import { verify } from 'iso-signatures/verifiers/eddsa.js'
import { Resolver } from 'iso-signatures/verifiers/resolver.js'
import { base58btc } from 'multiformats/bases/base58'
import { expect, test } from 'vitest'
import { metaFor, policyFor } from '../../src/tokens/constraint.ts'
import { decodeContainer, encodeContainer } from '../../src/tokens/container.ts'
import { delegateOn, mintDelegation } from '../../src/tokens/delegation.ts'
import { openEnvelope } from '../../src/tokens/envelope.ts'
import { signInvocation } from '../../src/tokens/invocation.ts'
import { SigningKey } from '../../src/tokens/key.ts'
import { coversPath, parsePrefix } from '../../src/tokens/prefix.ts'
import { verifyInvocation } from '../../src/tokens/verify.ts'

/** Decision 0160: iso-ucan, which passes the specification's fixtures, reads and writes what we read and write. */
const resolver = new Resolver({ Ed25519: verify })
/** Theirs has no clock to be set. */
const now = Math.floor(Date.now() / 1000)
const [provider, app, agent] = [SigningKey.generate(), SigningKey.generate(), SigningKey.generate()]
const theirs = (key: SigningKey): Promise<EdDSASigner> =>
  EdDSASigner.generate(base58btc.decode(key.serialize()).subarray(2))

/** Their types have tags of their own on every text; what matters here is what happens. */
const theyDelegate = (options: object): Promise<TheirDelegation> => TheirDelegation.create(options as never)

const prefix = parsePrefix('/srv/ws/a*b c')
const narrow = parsePrefix('/srv/ws/a*b c/d')
const chain = (() => {
  const root = mintDelegation(provider, {
    audience: app.did,
    prefix,
    command: '/filesystem',
    expires: now + 3600,
  })
  const terms = {
    audience: agent.did,
    prefix: narrow,
    command: '/filesystem/file',
    expires: now + 3600,
    notBefore: 1,
  }
  return [root, delegateOn(app, [root], terms)]
})()

/** What iso-ucan says to a token of ours: undefined, or why not. */
async function askThem(token: string): Promise<string | undefined> {
  const parts = decodeContainer(token, 9)
  const [invocation] = parts.filter((bytes) => openEnvelope(bytes).kind === 'invocation')
  const proofs = await Promise.all(
    parts
      .filter((bytes) => bytes !== invocation)
      .map((bytes) => TheirDelegation.from({ bytes, verifierResolver: resolver })),
  )
  try {
    await TheirInvocation.from({
      bytes: invocation!,
      audience: (await theirs(provider)) as never,
      verifierResolver: resolver,
      resolveProof: async (cid) => proofs.find((proof) => proof.cid.toString() === cid.toString())!,
    })
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test('what we sign is accepted by iso-ucan, and both see one CID', async () => {
  for (const args of [
    { path: narrow },
    { path: `${narrow}/f` },
    { path: `${narrow}/f`, destination: `${narrow}/g` },
  ]) {
    const token = signInvocation({
      key: agent,
      chain,
      command: '/filesystem/file/copy',
      args,
      expires: now + 299,
    })
    expect(await askThem(token)).toBeUndefined()
    expect(verifyInvocation(token, { now, provider: [provider.did] })).toMatchObject({
      kind: 'verified',
      args,
    })
  }
  for (const { bytes, cid } of chain)
    expect((await TheirDelegation.from({ bytes, verifierResolver: resolver })).cid.toString()).toBe(cid)
})

test('the policy in a delegation says what the prefix says, to a verifier that knows only UCAN', async () => {
  const paths = [
    '/srv/ws',
    '/srv/ws/a*b cd',
    '/srv/ws/axb c/d',
    `${narrow}x`,
    `${narrow} `,
    `${narrow}"`,
    narrow,
    `${narrow}/x`,
  ]
  for (const path of paths)
    for (const destination of [undefined, ...paths]) {
      const args = { path, ...(destination === undefined ? {} : { destination }) }
      const token = signInvocation({
        key: agent,
        chain,
        command: '/filesystem/file/move',
        args,
        expires: now + 299,
      })
      const inside = [path, destination].every((each) => each === undefined || coversPath(narrow, each))
      expect((await askThem(token)) === undefined, JSON.stringify(args)).toBe(inside)
    }
})

test('what iso-ucan signs is accepted by us, byte for byte what we would have signed', async () => {
  const [root, app_, agent_] = [await theirs(provider), await theirs(app), await theirs(agent)]
  expect([root.did, app_.did, agent_.did]).toEqual([provider.did, app.did, agent.did])
  const nonce = new Uint8Array(12)
  const one = await theyDelegate({
    iss: root,
    aud: app.did,
    sub: provider.did,
    cmd: '/filesystem',
    pol: policyFor(prefix),
    meta: metaFor(prefix),
    exp: now + 3600,
    nonce,
  })
  const two = await theyDelegate({
    iss: app_,
    aud: agent.did,
    sub: provider.did,
    cmd: '/filesystem/file',
    pol: policyFor(narrow),
    meta: metaFor(narrow),
    exp: now + 3600,
    nonce,
  })
  const ours = mintDelegation(provider, {
    audience: app.did,
    prefix,
    command: '/filesystem',
    expires: now + 3600,
    nonce,
  })
  expect(Buffer.from(ours.bytes).toString('hex')).toBe(Buffer.from(one.bytes).toString('hex'))
  const use = await TheirInvocation.create({
    iss: agent_,
    aud: provider.did,
    sub: provider.did,
    cmd: '/filesystem/file/read',
    args: { path: `${narrow}/f` },
    prf: [one, two],
    exp: now + 299,
    verifierResolver: resolver,
  } as never)
  const token = encodeContainer([use.bytes, one.bytes, two.bytes])
  expect(verifyInvocation(token, { now, provider: [provider.did] })).toMatchObject({
    kind: 'verified',
    app: app.did,
    agent: agent.did,
    prefix: narrow,
    cid: use.cid.toString(),
  })
})

test('where iso-ucan is not careful enough: a command that only begins like the granted one', async () => {
  const only = mintDelegation(provider, {
    audience: agent.did,
    prefix,
    command: '/filesystem/dir/delete',
    expires: now + 3600,
  })
  const terms = { key: agent, chain: [only], args: { path: prefix }, expires: now + 299 }
  const token = signInvocation({ ...terms, command: '/filesystem/dir/delete_recursive' })
  expect(await askThem(token)).toBeUndefined()
  expect(verifyInvocation(token, { now, provider: [provider.did] })).toMatchObject({
    code: 'token_command_not_covered',
  })
})
