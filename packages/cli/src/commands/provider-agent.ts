import { accessSync, constants, readdirSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { shellWord, show, suggest } from '@cordon/policy'
import {
  type Command,
  delegateFrom,
  parseDid,
  parsePrefix,
  ProviderClient,
  ProviderRefusal,
  serveMcp,
  Wallet,
} from '@cordon/provider'
import { type Command as Parser, Option } from 'commander'
import type { Register } from '../command.ts'
import { formatWallet, walletJson } from '../format/provider.ts'
import { jsonOption } from '../options.ts'
import { dirOption, parseCommand, parseDuration, providerDir, type ProviderFlags } from '../provider.ts'
import { EXIT, UsageError, writeJson } from '../report.ts'
import type { World } from '../world.ts'

declare const CORDON_VERSION: string

interface AgentFlags extends ProviderFlags {
  readonly app?: string
  readonly wallet?: string
  readonly url: string
}

/** What an agent does: it holds a key and delegations, and signs. */
export const registerAgent: Register = (parser, world) => {
  asAgent(parser.command('call').description('ask the provider for something, as an agent'))
    .argument('<command>', 'file_read, dir_list, /filesystem/file/write …')
    .argument('<path>', 'absolute')
    .argument('[destination]', 'of move and copy')
    .option('--args <json>', 'further arguments, as in the OpenAPI document')
    .option('--content <text>', 'for write and create')
    .option('--file <file>', 'the same, from a file of any size')
    .action(async (name: string, path: string, destination: string | undefined, flags: CallFlags) => {
      const command = parseCommand(name)
      const args = { path, ...(destination === undefined ? {} : { destination }), ...parseArgs(flags.args) }
      try {
        await call(world, clientFor(world, flags), command, args, flags)
      } catch (error) {
        if (!(error instanceof ProviderRefusal)) throw error
        const fix = fixFor(error, path, world.cwd, flags)
        world.err.write(
          `${world.err.style('red', 'cordon:')} ${error.code}: ${error.message}\n${fix === undefined ? '' : `  fix: ${fix}\n`}`,
        )
        world.finish(EXIT.denied)
      }
    })

  asAgent(
    parser.command('mcp').description('offer the commands as MCP tools on standard input and output'),
  ).action((flags: AgentFlags) => serveMcp(clientFor(world, flags), CORDON_VERSION))

  const wallet = parser.command('wallet').description('an agent’s key and delegations')
  walletCommand(wallet, 'create', 'make a key; its DID is for `provider app create --did`').action(
    (flags: AgentFlags) => world.out.write(`${Wallet.create(walletDir(world, flags)).key.did}\n`),
  )
  walletCommand(wallet, 'add', 'put a delegation in')
    .argument('[token]', 'what `provider mint` printed; without it, standard input')
    .action(async (token: string | undefined, flags: AgentFlags) => {
      const text = (token ?? (await world.readInput())).trim()
      walletOf(world, flags).add(text)
    })
  walletCommand(
    wallet,
    'rm',
    'take a delegation out, with what stands on it; `provider revoke` ends it everywhere',
  )
    .argument('<cid>', 'as `wallet ls` shows it')
    .action((cid: string, flags: AgentFlags) => {
      const removed = walletOf(world, flags).remove(cid)
      if (removed === 0)
        throw new UsageError(`there is no delegation ${show(cid)} in it; \`wallet ls\` lists them`)
    })
  walletCommand(wallet, 'delegate', 'give a part of it to another agent, without asking the provider')
    .requiredOption('--to <did>', 'whose key')
    .requiredOption('--prefix <directory>', 'what: the directory that was delegated, or one below it')
    .option('--command <command>', 'which commands: those that were delegated, or fewer', '/filesystem')
    .option('--ttl <duration>', 'for how long: 90s, 15m, 12h, 30d', '1h')
    .action(({ to, prefix, command, ttl, ...flags }: DelegateFlags) => {
      const { key, delegations } = openWallet(world, flags)
      const now = Math.floor(Date.now() / 1000)
      const terms = {
        audience: parseDid(to),
        prefix: parsePrefix(prefix),
        command,
        expires: now + parseDuration(ttl),
      }
      world.out.write(`${delegateFrom(key, delegations, terms, now)}\n`)
    })
  walletCommand(wallet, 'ls', 'what is in it')
    .addOption(jsonOption())
    .action((flags: AgentFlags) => {
      const { key, delegations } = openWallet(world, flags)
      if (flags.json) writeJson(world, walletJson(key.did, delegations))
      else world.out.write(formatWallet(key.did, delegations))
    })
}

interface DelegateFlags extends AgentFlags {
  readonly to: string
  readonly prefix: string
  readonly command: string
  readonly ttl: string
}

interface CallFlags extends AgentFlags {
  readonly args?: string
  readonly content?: string
  readonly file?: string
}

const walletOptions = (parser: Parser): Parser =>
  parser
    .addOption(dirOption())
    .option('--app <name>', 'an agent of this host: its wallet')
    .addOption(
      new Option('--wallet <directory>', 'a wallet anywhere else')
        .env('CORDON_PROVIDER_WALLET')
        .conflicts('app'),
    )

const walletCommand = (parser: Parser, name: string, summary: string): Parser =>
  walletOptions(parser.command(name).description(summary))

const asAgent = (parser: Parser): Parser =>
  walletOptions(parser).addOption(
    new Option('--url <url>', 'the provider').env('CORDON_PROVIDER_URL').default('http://127.0.0.1:7420'),
  )

function walletDir(world: World, flags: AgentFlags): string {
  if (flags.wallet !== undefined) return resolve(world.cwd, flags.wallet)
  if (flags.app !== undefined && /^[\w-]+$/.test(flags.app))
    return join(providerDir(world, flags), 'agents', flags.app)
  throw new UsageError('whose wallet? give --app or --wallet')
}

function openWallet(
  world: World,
  flags: AgentFlags,
): { key: Wallet['key']; delegations: ReturnType<Wallet['delegations']> } {
  const wallet = walletOf(world, flags)
  return { key: wallet.key, delegations: wallet.delegations() }
}

/** An app of this host gets its wallet with the app. */
function walletOf(world: World, flags: AgentFlags): Wallet {
  const dir = walletDir(world, flags)
  if (flags.app === undefined) return Wallet.open(dir)
  const meant = Wallet.exists(dir) ? undefined : suggest(flags.app, namesIn(dirname(dir)))
  if (meant !== undefined)
    throw new UsageError(`no app ${flags.app} has a wallet here\n  fix: did you mean --app ${show(meant)}?`)
  return Wallet.open(dir, `cordon provider app create ${flags.app}`)
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir)
  } catch {
    return [] // nobody has a wallet yet
  }
}

/** What whoever sits here can do about it. */
function fixFor(
  { code, detail }: ProviderRefusal,
  path: string,
  cwd: string,
  { app, url }: AgentFlags,
): string | undefined {
  if (code === 'unreachable' && detail['untrusted'] === true)
    return "check that the certificate is the provider's, and trust it: NODE_EXTRA_CA_CERTS=FILE before the command"
  if (code === 'unreachable')
    return `start it (cordon provider serve), or say where it is (--url; now ${url})`
  if (code === 'app_disabled') return `on the provider's host: cordon provider app enable ${app ?? 'NAME'}`
  if (code === 'no_delegation' && !isAbsolute(path))
    return `write the whole path: ${shellWord(resolve(cwd, path))}`
  return undefined
}

/** The wallet is read once: a delegation that comes later is for the next start. */
function clientFor(world: World, flags: AgentFlags): ProviderClient {
  const { key, delegations } = openWallet(world, flags)
  return new ProviderClient({ url: flags.url, key, delegations: () => delegations })
}

function parseArgs(text: string | undefined): Record<string, unknown> {
  if (text === undefined) return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Said below, as for anything else that is not an object.
  }
  throw new UsageError('--args expects a JSON object')
}

/** It is read twice, for its hash and to be sent: a pipe cannot be. */
function requireReadable(file: string): void {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new UsageError(`cannot read ${show(file)}: ${(error as Error).message}`)
  }
  if (!statSync(file).isFile()) throw new UsageError(`cannot send ${show(file)}: it is not a regular file`)
}

async function call(
  world: World,
  client: ProviderClient,
  command: Command,
  args: { readonly path: string },
  { content, file }: CallFlags,
): Promise<void> {
  if (command === '/filesystem/file/read') {
    const { path, ...options } = args
    const { stream } = await client.read(path, options)
    return pipeline(stream, world.out.sink, { end: false })
  }
  if (command !== '/filesystem/file/write' && command !== '/filesystem/file/create')
    return writeJson(world, await client.call(command, args))
  if (file !== undefined) {
    requireReadable(file)
    return writeJson(world, await client.upload(command, args, file))
  }
  if (content === undefined) throw new UsageError('give --content or --file')
  return writeJson(world, await client.store(command, args, content))
}
