import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type ConsoleAssets,
  jsonLog,
  makePrivateDirectory,
  MOST_APPROVAL_MS,
  openAmbientDatabase,
  readAmbientAssets,
  serveProvider,
} from '@cordon/provider'
import { Option } from 'commander'
import type { Register } from '../command.ts'
import { formatServing } from '../format/provider.ts'
import {
  databaseChoice,
  parseDuration,
  type ProviderFlags,
  providerDir,
  readLocal,
  withProviderOptions,
} from '../provider.ts'
import { UsageError } from '../report.ts'
import { registerAgent } from './provider-agent.ts'
import { registerApprovals } from './provider-approvals.ts'
import { registerApps } from './provider-apps.ts'
import { registerConsole } from './provider-console.ts'
import { registerPolicies } from './provider-policies.ts'

declare const CORDON_VERSION: string

export const register: Register = (parser, world) => {
  registerServe(parser, world)
  registerApps(parser, world)
  registerPolicies(parser, world)
  registerApprovals(parser, world)
  registerConsole(parser, world)
  registerAgent(parser, world)
}

interface ServeFlags extends ProviderFlags {
  readonly host: string
  readonly port: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly plainHttp?: boolean
  readonly approvalTtl: string
  readonly origin?: string
}

const registerServe: Register = (parser, world) => {
  withProviderOptions(parser.command('serve').description('answer requests until it is told to stop'))
    .option('--host <address>', 'where to listen', '127.0.0.1')
    .option('--port <number>', 'where to listen; 0 takes a free one', '7420')
    .option('--tls-cert <file>', 'the certificate, with its chain, as PEM')
    .option('--tls-key <file>', 'its key, as PEM')
    .option('--approval-ttl <duration>', 'how long a request waits for a person, at most 5m', '60s')
    .addOption(
      new Option(
        '--origin <url>',
        'where browsers find it (default: localhost, at this port); anything else needs https',
      ).env('CORDON_PROVIDER_ORIGIN'),
    )
    .option('--plain-http', 'listen elsewhere than on loopback without TLS: a proxy in front does it')
    .addHelpText(
      'after',
      '\nLogs are JSON lines on standard error. SIGTERM and SIGINT stop it; what is under way is finished.',
    )
    .action(async (flags: ServeFlags) => {
      const { tlsCert, tlsKey } = flags
      if ((tlsCert === undefined) !== (tlsKey === undefined))
        throw new UsageError('--tls-cert and --tls-key go together')
      if (!/^\d{1,5}$/.test(flags.port) || Number(flags.port) > 65_535)
        throw new UsageError('--port expects a number up to 65535')
      const approvalMs = parseDuration(flags.approvalTtl) * 1000
      if (approvalMs === 0 || approvalMs > MOST_APPROVAL_MS)
        throw new UsageError('--approval-ttl is at least 1s and at most 5m')
      const dir = providerDir(world, flags)
      makePrivateDirectory(dir)
      const serving = await serveProvider({
        database: await openAmbientDatabase(databaseChoice(world, flags)),
        dir,
        host: flags.host,
        port: Number(flags.port),
        ...(tlsCert !== undefined && tlsKey !== undefined
          ? { tls: { cert: readLocal(tlsCert), key: readLocal(tlsKey) } }
          : {}),
        ...(flags.origin === undefined ? {} : { origin: flags.origin }),
        ...consoleAssets(),
        plain: flags.plainHttp === true,
        approvalMs,
        version: CORDON_VERSION,
        log: jsonLog((line) => world.err.write(line)),
      })
      world.out.write(formatServing(serving))
      await new Promise<void>((done) => {
        world.onInterrupt(() => void serving.stop().then(done, done))
      })
    })
}

/** Beside this program, where the build puts them. */
function consoleAssets(): { assets?: ConsoleAssets } {
  const dir = join(import.meta.dirname, 'console')
  return existsSync(dir) ? { assets: readAmbientAssets(dir) } : {}
}
