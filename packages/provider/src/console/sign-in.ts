import { Hono } from 'hono'
import { z } from 'zod'
import {
  askRegistration,
  askSignature,
  type Ceremony,
  verifyRegistration,
  verifySignature,
} from '../passkeys/ceremony.ts'
import { isLinkGood, useLink } from '../passkeys/links.ts'
import { listPasskeys, parsePasskeyName, PasskeyError } from '../passkeys/passkeys.ts'
import { hashSecret } from '../sessions/secret.ts'
import { endSession, startSession } from '../sessions/sessions.ts'
import { type ConsoleContext, recordEvent } from './context.ts'
import { ConsoleRefusal } from './errors.ts'
import { giveCookie, requireSession, sessionOf, takeCookie } from './guard.ts'
import { readBody, SIGNATURE } from './read-body.ts'

const LINK = z.strictObject({ link: z.string().max(100) })
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
  const ceremony = (): Ceremony => ({ database, site: context.site(), now: provider.clock() })

  app.get('/session', async (c) => {
    const session = await sessionOf(c, context.site(), database, provider.clock())
    if (session) return c.json({ name: session.name })
    const { rpId } = context.site()
    const usable = (await listPasskeys(database)).some((each) => each.rpId === rpId)
    return c.json({ name: null, has_passkeys: usable })
  })

  app.post('/register/options', async (c) => {
    const { link } = await readBody(c, LINK)
    await requireLink(context, link)
    return c.json(await askRegistration(ceremony(), hashSecret(link), 'operator of Cordon'))
  })

  app.post('/register', async (c) => {
    const { link, name: wanted, ceremony: id, response } = await readBody(c, REGISTRATION)
    const name = checkedName(wanted)
    await requireLink(context, link)
    const made = await verifyRegistration(ceremony(), hashSecret(link), id, response)
    if (!(await useLink(database, link, provider.clock()))) throw linkUsed()
    await recordEvent(context, 'passkey added', name, {
      passkey: made.id,
      rp_id: made.rp_id,
      public_key: made.public_key,
    })
    await database.queries
      .insertInto('passkeys')
      .values({ ...made, name })
      .execute()
    await database.flush()
    const { cookie, key } = await startSession(database, made.id, provider.clock())
    giveCookie(c, context.site(), cookie)
    return c.json({ name, key })
  })

  app.post('/sign-in/options', async (c) => c.json(await askSignature(ceremony(), 'sign in', '')))

  app.post('/sign-in', async (c) => {
    const { ceremony: id, response } = await readBody(c, SIGNATURE)
    const { passkey, name } = await verifySignature(ceremony(), 'sign in', '', id, response)
    await recordEvent(context, 'signed in', name, { passkey })
    const { cookie, key } = await startSession(database, passkey, provider.clock())
    giveCookie(c, context.site(), cookie)
    return c.json({ name, key })
  })

  app.post('/sign-out', async (c) => {
    const { hash, name } = await requireSession(c, context.site(), database, provider.clock())
    await endSession(database, hash)
    takeCookie(c, context.site())
    await recordEvent(context, 'signed out', name, {})
    return c.json({})
  })
  return app
}

function checkedName(text: string): string {
  try {
    return parsePasskeyName(text)
  } catch (error) {
    if (error instanceof PasskeyError) throw new ConsoleRefusal('bad_request', error.message)
    throw error
  }
}

async function requireLink({ provider }: ConsoleContext, link: string): Promise<void> {
  if (!(await isLinkGood(provider.database, link, provider.clock()))) throw linkUsed()
}

const linkUsed = (): ConsoleRefusal =>
  new ConsoleRefusal(
    'link_used',
    'this link was used already, or is older than ten minutes; `cordon provider passkey add` on the host prints a new one',
  )
