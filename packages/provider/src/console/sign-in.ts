import { showSigned } from '@cordon/policy'
import { type Context, Hono } from 'hono'
import { z } from 'zod'
import {
  askRegistration,
  askSignature,
  type Ceremony,
  verifyRegistration,
  verifySignature,
} from '../passkeys/ceremony.ts'
import { isLinkGood, useLink } from '../passkeys/links.ts'
import { listPasskeys, looksAlike, parsePasskeyName, PasskeyError } from '../passkeys/passkeys.ts'
import { hashSecret } from '../sessions/secret.ts'
import { endSession, startSession } from '../sessions/sessions.ts'
import type { Database } from '../storage/database.ts'
import type { SessionAnswer, SignedInAnswer } from './answers.ts'
import { type ConsoleContext, eventBy, recordEvent } from './context.ts'
import { ConsoleRefusal } from './errors.ts'
import { giveCookie, requireSession, sessionOf, signerOf, takeCookie } from './guard.ts'
import { readBody, SIGNATURE } from './read-body.ts'
import { RefusedAttempts } from './refused-attempts.ts'

/** Without a name: is the link good? */
const LINK = z.strictObject({ link: z.string().max(100), name: z.string().max(200).optional() })
const REGISTRATION = z.strictObject({
  link: z.string().max(100),
  ceremony: z.string().max(200),
  name: z.string().max(200),
  response: z.looseObject({}),
})

/** SPEC 7.7: a one-time link from the command line makes a passkey; from then on the passkey signs in. */
export function signInRoutes(context: ConsoleContext): Hono {
  const { provider } = context
  const { database } = provider
  const app = new Hono()
  const refused = new RefusedAttempts(provider, 'sign-in refused')
  const badLinks = new RefusedAttempts(provider, 'passkey link refused')
  const ceremony = (): Ceremony => ({ database, site: context.site(), now: provider.clock() })
  const begin = async (c: Context, who: { passkey: string; key: string }): Promise<void> =>
    giveCookie(c, context.site(), await startSession(database, who, provider.clock()))

  app.get('/session', async (c) => {
    const session = await sessionOf(c, context)
    if (session) return c.json({ name: session.name } satisfies SessionAnswer)
    const { rpId } = context.site()
    const usable = (await listPasskeys(database)).some((each) => each.rpId === rpId)
    return c.json({ name: null, has_passkeys: usable } satisfies SessionAnswer)
  })

  app.post('/register/options', async (c) => {
    await requireSigner(c, context)
    const { link, name } = await readBody(c, LINK)
    await requireLink(context, link, badLinks)
    // Before the device makes one that nobody could use.
    if (name !== undefined) await requireFree(database, { name: checkedName(name) })
    return c.json(await askRegistration(ceremony(), hashSecret(link), 'operator of Cordon'))
  })

  app.post('/register', async (c) => {
    const key = await requireSigner(c, context)
    const { link, name: wanted, ceremony: id, response } = await readBody(c, REGISTRATION)
    const name = checkedName(wanted)
    await requireLink(context, link, badLinks)
    const made = await verifyRegistration(ceremony(), hashSecret(link), id, response)
    const { id: passkey, rp_id, public_key } = made
    await provider.audit.appendWith(async (db) => {
      await database.lock(db, 'passkeys')
      await requireFree({ queries: db }, { name, id: passkey })
      if (!(await useLink({ queries: db }, link, provider.clock()))) throw linkUsed()
      await db
        .insertInto('passkeys')
        .values({ ...made, name })
        .execute()
      const event = eventBy('passkey added', { name, passkey }, { rp_id, public_key })
      return [undefined, event] as const
    })
    await begin(c, { passkey, key })
    return c.json({ name } satisfies SignedInAnswer)
  })

  // For the key of this page alone: whoever is between it and us has no use for what the passkey signs.
  app.post('/sign-in/options', async (c) =>
    c.json(await askSignature(ceremony(), 'sign in', await requireSigner(c, context))),
  )

  app.post('/sign-in', async (c) => {
    const key = await requireSigner(c, context)
    const { ceremony: id, response } = await readBody(c, SIGNATURE)
    const { passkey, name } = await verifySignature(ceremony(), 'sign in', key, id, response).catch(
      async (error: unknown) => {
        if (error instanceof ConsoleRefusal) await refused.note({ passkey: response.id.slice(0, 64) })
        throw error
      },
    )
    await recordEvent(context, 'signed in', { name, passkey })
    await begin(c, { passkey, key })
    return c.json({ name } satisfies SignedInAnswer)
  })

  app.post('/sign-out', async (c) => {
    const session = await requireSession(c, context)
    await endSession(database, session.hash)
    takeCookie(c, context.site())
    await recordEvent(context, 'signed out', session)
    return c.json({})
  })
  return app
}

/** A session is its holder's who has shown that he has the key, not who knows its public half. */
async function requireSigner(c: Context, context: ConsoleContext): Promise<string> {
  const key = await signerOf(c, context)
  if (key !== undefined) return key
  throw new ConsoleRefusal('bad_request', 'this request is not signed by the page')
}

function checkedName(text: string): string {
  try {
    return parsePasskeyName(text)
  } catch (error) {
    if (error instanceof PasskeyError) throw new ConsoleRefusal('bad_request', error.message)
    throw error
  }
}

/** Who did something is told by the name; and a passkey that is known already is no new one, so the link stays good. */
async function requireFree(
  database: Pick<Database, 'queries'>,
  wanted: { name: string; id?: string },
): Promise<void> {
  const all = await listPasskeys(database)
  if (all.some(({ id }) => id === wanted.id))
    throw new ConsoleRefusal('bad_request', 'this provider knows that passkey already: sign in with it')
  const same = all.find(({ name }) => looksAlike(name, wanted.name))
  if (same)
    throw new ConsoleRefusal(
      'bad_request',
      same.name === wanted.name
        ? 'another passkey has that name: choose another one'
        : `${showSigned(wanted.name, 'name')} looks like the name of another passkey, ${showSigned(same.name, 'name')}: choose another one`,
    )
}

/** A wrong one is recorded by its hash: whoever has the link that was meant can tell whether it was that one. */
async function requireLink(
  { provider }: ConsoleContext,
  link: string,
  refused: RefusedAttempts,
): Promise<void> {
  if (await isLinkGood(provider.database, link, provider.clock())) return
  await refused.note({ link_sha256: hashSecret(link) })
  throw linkUsed()
}

const linkUsed = (): ConsoleRefusal =>
  new ConsoleRefusal(
    'link_used',
    'this link was used already, or is older than ten minutes; `cordon provider passkey add` on the host prints a new one',
  )
