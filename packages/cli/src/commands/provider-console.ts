import { connect } from 'node:net'
import { show } from '@cordon/policy'
import { parseSite } from '@cordon/provider'
import type { Register } from '../command.ts'
import { formatPasskeys, passkeyJson } from '../format/provider.ts'
import { asAdmin, asFirstAdmin, originOption, providerCommand, type ProviderFlags } from '../provider.ts'
import { writeJson } from '../report.ts'

interface ConsoleFlags extends ProviderFlags {
  readonly origin: string
}

/** SPEC 7.7: who has the host's terminal lets a browser in. */
export const registerConsole: Register = (parser, world) => {
  const passkey = parser.command('passkey').description('who may sign in a browser')

  providerCommand(passkey, 'add', 'print a link that makes one passkey, once, within ten minutes')
    .addOption(originOption())
    .action(async (flags: ConsoleFlags) => {
      const link = await asFirstAdmin(world, flags, (admin) => admin.addPasskey(flags.origin))
      if (flags.json) return writeJson(world, { link })
      if (!(await isAnswered(flags.origin)))
        world.err.write(
          `${world.err.style('yellow', 'warning:')} nobody answers at ${show(flags.origin)} now: start \`cordon provider serve\` before you open the link, or somebody else may get it\n`,
        )
      world.err.write('open this in your browser; whoever opens it first gets the passkey:\n')
      world.out.write(`${link}\n`)
    })

  providerCommand(passkey, 'ls', 'list them: id, name, host name they are for, last use').action(
    async (flags: ProviderFlags) => {
      const all = await asAdmin(world, flags, (admin) => admin.passkeys())
      if (flags.json) return writeJson(world, all.map(passkeyJson))
      if (all.length === 0)
        return world.err.write(
          'nobody can sign in yet; `cordon provider passkey add` prints a link that makes the first passkey\n',
        )
      world.out.write(formatPasskeys(all))
    },
  )

  providerCommand(passkey, 'rm', 'take one away; whoever is signed in with it is signed out')
    .argument('<id or name>')
    .action(async (which: string, flags: ProviderFlags) => {
      const removed = await asAdmin(world, flags, (admin) => admin.removePasskey(which))
      if (flags.json) return writeJson(world, passkeyJson(removed))
      world.out.write(`removed ${show(removed.name)}\n`)
    })

  providerCommand(
    parser,
    'console',
    'print where the console is; without a passkey yet, a link that makes one',
  )
    .addOption(originOption())
    .action(async (flags: ConsoleFlags) => {
      const link = await asAdmin(world, flags, async (admin) => {
        const site = parseSite(flags.origin)
        const isKnown = (await admin.passkeys()).some(({ rpId }) => rpId === site.rpId)
        return isKnown ? `${site.origin}/console/` : admin.addPasskey(flags.origin)
      })
      if (flags.json) return writeJson(world, { link })
      world.out.write(`${link}\n`)
    })
}

/** Where there is no TLS, it is this machine. Of another one nothing is known from here. */
async function isAnswered(origin: string): Promise<boolean> {
  const { hostname, port, protocol } = new URL(origin)
  if (protocol === 'https:') return true
  const socket = connect({ host: hostname, port: Number(port || 80) })
  try {
    return await new Promise((done) => {
      socket.setTimeout(1000, () => done(false))
      socket.once('connect', () => done(true)).once('error', () => done(false))
    })
  } finally {
    socket.destroy()
  }
}
