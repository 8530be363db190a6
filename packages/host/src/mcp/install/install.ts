import { suggest } from '@cordon/config'
import { installNpm, resolveNpm } from './npm.ts'
import {
  directoryOf,
  type InstalledPackage,
  type InstallWorld,
  type PackagePin,
  readInstalled,
} from './packages.ts'
import { installPython, type PythonPin, resolvePython } from './python.ts'
import type { Wanted } from './runner.ts'

export type ResolvedPin = PackagePin | PythonPin

/** Which package exactly would be installed. Asks the registry, and installs nothing. */
export const resolvePackage = (wanted: Wanted, world: InstallWorld): Promise<ResolvedPin> =>
  wanted.from === 'npm' ? resolveNpm(wanted, world) : resolvePython(wanted, world)

/** Installs it, unless exactly this one is there (decision 0238). */
export function installPackage(pin: ResolvedPin, world: InstallWorld): Promise<InstalledPackage> {
  const there = readInstalled(directoryOf(world.surroundings, pin, world.scripts))
  if (there) return Promise.resolve(there)
  return 'requirements' in pin ? installPython(pin, world) : installNpm(pin, world)
}

/** A name that is one or two letters from a well-known one, and is not it: typed wrong, or meant to be mistaken for it. */
export const lookAlike = ({ name }: Pick<Wanted, 'name'>): string | undefined =>
  WELL_KNOWN.includes(name) ? undefined : suggest(name, WELL_KNOWN, () => 2)

const WELL_KNOWN = [
  ...[
    'filesystem',
    'everything',
    'memory',
    'sequential-thinking',
    'github',
    'gitlab',
    'slack',
    'postgres',
    'puppeteer',
  ].map((name) => `@modelcontextprotocol/server-${name}`),
  '@playwright/mcp',
  '@upstash/context7-mcp',
  '@notionhq/notion-mcp-server',
  '@supabase/mcp-server-supabase',
  '@sentry/mcp-server',
  '@stripe/mcp',
  '@azure/mcp',
  'chrome-devtools-mcp',
  'firecrawl-mcp',
  'mcp-remote',
  'mcp-server-fetch',
  'mcp-server-git',
  'mcp-server-time',
  'mcp-server-sqlite',
]
