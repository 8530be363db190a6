import { type AppLimits, loadPolicies, PolicyRefused } from '@cordon/provider'
import { show } from '@cordon/policy'
import type { Register } from '../command.ts'
import { appJson, delegationJson, formatApp, formatApps, formatKeys, keyJson } from '../format/provider.ts'
import { isoTime } from '../format/text.ts'
import { repeatable } from '../options.ts'
import {
  asAdmin,
  asFirstAdmin,
  parseCommand,
  parseDuration,
  providerCommand,
  type ProviderFlags,
} from '../provider.ts'
import { UsageError, writeJson } from '../report.ts'
import { parseStarter, starterText } from '../starters.ts'

export const registerApps: Register = (parser, world) => {
  const app = parser.command('app').description('the agents that were let in')

  providerCommand(app, 'create', 'let an agent in; it can do nothing without a policy and a delegation')
    .argument('<name>')
    .option('--did <did>', 'the agent’s own key; without it, one is made here, in its wallet')
    .addOption(repeatable('--policy <starter>', 'a starter policy: filesystem:subdir-read,prefix=/srv/ws'))
    .option('--requests-per-minute <number>', 'its share of each provider process (default: 6000)')
    .option('--concurrent <number>', 'operations at once (default: 64)')
    .option('--bytes-per-minute <number>', 'read and written together (default: 4 GiB)')
    .action(async (name: string, flags: CreateFlags) => {
      const starters = flags.policy.map(parseStarter)
      const text = starters.length > 0 ? loadableText(starters) : undefined // refused before there is an app
      const limits = limitsOf(flags)
      await asFirstAdmin(world, flags, async (admin) => {
        const made = await admin.createApp({
          id: name,
          limits,
          ...(flags.did === undefined ? {} : { did: flags.did }),
        })
        if (text !== undefined) await admin.setPolicy({ scope: name, name: 'main', text })
        if (flags.json) return writeJson(world, appJson(made))
        world.out.write(`created ${made.id}, ${made.did}\n`)
      })
    })

  providerCommand(app, 'ls', 'list them').action(async (flags: ProviderFlags) => {
    const apps = await asAdmin(world, flags, (admin) => admin.apps())
    if (flags.json) return writeJson(world, apps.map(appJson))
    if (apps.length === 0) return world.err.write('no apps yet\n')
    world.out.write(formatApps(apps))
  })

  providerCommand(app, 'show', 'one of them, with its delegations')
    .argument('<name>')
    .action(async (name: string, flags: ProviderFlags) => {
      const [found, issued] = await asAdmin(world, flags, async (admin) => [
        await admin.app(name),
        await admin.delegations(name),
      ])
      if (flags.json) return writeJson(world, { ...appJson(found), delegations: issued.map(delegationJson) })
      world.out.write(formatApp(found, issued))
    })

  for (const [name, summary] of [
    ['enable', 'let it in again'],
    ['disable', 'refuse all its requests, from the next one on'],
  ] as const)
    providerCommand(app, name, summary)
      .argument('<name>')
      .action(async (id: string, flags: ProviderFlags) => {
        await asAdmin(world, flags, (admin) => admin.setEnabled(id, name === 'enable'))
        if (flags.json) writeJson(world, { id, enabled: name === 'enable' })
        else world.out.write(`${name}d ${id}\n`)
      })

  providerCommand(app, 'rm', 'forget it; its delegations are revoked')
    .argument('<name>')
    .action(async (id: string, flags: ProviderFlags) => {
      await asAdmin(world, flags, (admin) => admin.removeApp(id))
      if (flags.json) writeJson(world, { id, removed: true })
      else world.out.write(`removed ${id}\n`)
    })

  registerMint(parser, world)
  registerKeys(parser, world)
  registerClock(parser, world)
}

function loadableText(starters: Parameters<typeof starterText>[0]): string {
  const text = starterText(starters)
  const loaded = loadPolicies(text)
  if (loaded.kind === 'refused') throw new PolicyRefused('main', loaded)
  return text
}

interface CreateFlags extends ProviderFlags {
  readonly did?: string
  readonly policy: readonly string[]
  readonly requestsPerMinute?: string
  readonly concurrent?: string
  readonly bytesPerMinute?: string
}

function limitsOf({ requestsPerMinute, concurrent, bytesPerMinute }: CreateFlags): Partial<AppLimits> {
  const given = Object.entries({ requestsPerMinute, concurrent, bytesPerMinute })
  return Object.fromEntries(
    given.flatMap(([name, text]) => {
      if (text === undefined) return []
      if (/^[1-9]\d{0,14}$/.test(text)) return [[name, Number(text)]]
      throw new UsageError(`${show(text)} is not a limit: expected a whole number above 0`)
    }),
  )
}

interface MintFlags extends ProviderFlags {
  readonly app: string
  readonly prefix: string
  readonly command?: string
  readonly ttl?: string
}

const registerMint: Register = (parser, world) => {
  providerCommand(parser, 'mint', 'delegate a directory to an app, signed by the provider')
    .requiredOption('--app <name>', 'to whom')
    .requiredOption('--prefix <directory>', 'what: an absolute path without links')
    .option('--command <command>', 'which commands: file_read, /filesystem/dir, /filesystem …')
    .option('--ttl <duration>', 'for how long: 90s, 15m, 12h, 30d (default: 30d)')
    .action(async ({ app, prefix, command, ttl, ...flags }: MintFlags) => {
      const terms = {
        prefix,
        // A scope such as /filesystem/dir is no command, but grants some.
        ...(command === undefined
          ? {}
          : { command: command.startsWith('/') ? command : parseCommand(command) }),
        ...(ttl === undefined ? {} : { ttlSeconds: parseDuration(ttl) }),
      }
      const { delegation, token } = await asAdmin(world, flags, (admin) => admin.mint(app, terms))
      const { cid, expires } = delegation
      if (flags.json) return writeJson(world, { cid, token, expires_at: isoTime(expires * 1000) })
      world.err.write(`minted ${cid} for ${app}, until ${isoTime(expires * 1000)}\n`)
      world.out.write(`${token}\n`)
    })

  providerCommand(parser, 'revoke', 'take a delegation back, and everything that was delegated on from it')
    .argument('<cid>')
    .action(async (cid: string, flags: ProviderFlags) => {
      await asAdmin(world, flags, (admin) => admin.revoke(cid))
      if (flags.json) writeJson(world, { cid, revoked: true })
      else world.out.write(`revoked ${cid}\n`)
    })
}

const registerKeys: Register = (parser, world) => {
  const key = parser.command('key').description('the key that signs delegations and checkpoints')

  providerCommand(key, 'show', 'the public part of it, and of earlier ones').action(
    async (flags: ProviderFlags) => {
      const { current, known } = await asAdmin(world, flags, (admin) => admin.keys())
      if (flags.json) return writeJson(world, { current, known: known.map(keyJson) })
      world.out.write(formatKeys(known, current))
    },
  )

  providerCommand(
    key,
    'rotate',
    'sign with a new one; what the old one signed counts until it is retired',
  ).action(async (flags: ProviderFlags) => {
    const did = await asAdmin(world, flags, (admin) => admin.rotateKey())
    if (flags.json) writeJson(world, { did })
    else world.out.write(`signing with ${did}\n`)
  })

  providerCommand(key, 'retire', 'nothing that it signed counts any more')
    .argument('<did>')
    .action(async (did: string, flags: ProviderFlags) => {
      const retired = await asAdmin(world, flags, async (admin) => {
        if ((await admin.keys()).current === did)
          throw new UsageError('this key is the one that signs; `cordon provider key rotate` first')
        return admin.retireKey(did)
      })
      if (!retired)
        throw new UsageError(`there is no key ${show(did)} in use; \`cordon provider key show\` lists them`)
      if (flags.json) writeJson(world, { did, retired })
      else world.out.write(`retired ${did}\n`)
    })
}

const registerClock: Register = (parser, world) => {
  const clock = parser.command('clock').description('the time below which nothing is believed any more')
  const told = (ms: number): string =>
    ms === 0 ? 'agents and people are let in\n' : `nobody is let in for another ${Math.ceil(ms / 1000)} s\n`

  providerCommand(clock, 'show', 'how far this host’s clock is behind it').action(
    async (flags: ProviderFlags) => {
      const behind = await asAdmin(world, flags, (admin) => admin.clockBehind())
      if (flags.json) return writeJson(world, { behind_seconds: Math.ceil(behind / 1000) })
      world.out.write(told(behind))
    },
  )

  providerCommand(
    clock,
    'accept',
    'this host’s clock is right now, and was ahead before; who is signed in is signed out',
  ).action(async (flags: ProviderFlags) => {
    const behind = await asAdmin(world, flags, (admin) => admin.acceptClock())
    if (flags.json) return writeJson(world, { behind_seconds: Math.ceil(behind / 1000) })
    world.out.write(told(behind))
  })
}
