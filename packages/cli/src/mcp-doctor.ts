import {
  changeSetting,
  Checkup,
  type DoctorCall,
  importsHere,
  openAmbientProjectIn,
  type Project,
  sandboxOff,
  type Suggestion,
  NO_SERVERS,
} from '@cordon/host'
import { show } from '@cordon/policy'
import { formatExamination, formatSuggestions, noticedLines } from './format/mcp-doctor.ts'
import { choiceOf, type ConfigOptions } from './options.ts'
import { trustTerms } from './project.ts'
import { EXIT, UsageError, warn } from './report.ts'
import type { World } from './world.ts'

declare const CORDON_VERSION: string

export interface DoctorOptions extends ConfigOptions {
  readonly call?: string
  readonly args?: string
}

/** `cordon mcp doctor` */
export async function doctor(world: World, name: string | undefined, options: DoctorOptions): Promise<void> {
  const { person } = world
  const place = {
    cwd: world.cwd,
    surroundings: world,
    cfg: options.cfg,
    unmarked: 'allow',
    trust: trustTerms(world, person ? 'files' : 'nothing'),
  } as const
  const project = await openAmbientProjectIn(place, world, choiceOf(options, 'none'))
  warn(world, [...project.notices, ...sandboxOff(project.loaded, 'tools and servers run')])
  const call = callOf(name, options)
  let isWell = true
  for (const server of serversOf(project, name)) {
    const { command, arguments: words } = project.loaded.config.providers.mcp[server]!
    warn(world, importsHere([command, ...words]))
    const { works, accepted } = await examine(world, project, server, call)
    isWell &&= works
    if (accepted.length === 0) continue
    world.out.write(`\n${accepted.map(({ toml }) => toml).join('\n\n')}\n\n`)
    if (!(await person?.confirms('Write it into your own configuration of this workspace? [y/N] '))) continue
    let file = ''
    for (const { key, value } of accepted)
      ({ file } = await changeSetting(place, { layer: 'user-workspace', key, value }))
    world.out.write(`written: ${show(file)}\n`)
  }
  world.finish(isWell ? EXIT.ok : EXIT.denied)
}

function serversOf({ loaded, waiting }: Project, name: string | undefined): readonly string[] {
  const names = Object.keys(loaded.config.providers.mcp)
  if (name === undefined && names.length > 0) return names
  if (name !== undefined && names.includes(name)) return [name]
  const others = names.length === 0 ? NO_SERVERS : `there are: ${names.join(', ')}`
  const untrusted =
    waiting.length === 0 ? '' : '\n  files that are not trusted may have more: see `cordon trust`'
  throw new UsageError(
    `no MCP server${name === undefined ? '' : ` is named ${show(name)}`}; ${others}${untrusted}`,
  )
}

/** Tries, asks about the first line that is new, and tries again with it. */
async function examine(
  world: World,
  project: Project,
  server: string,
  call: DoctorCall | undefined,
): Promise<{ readonly works: boolean; readonly accepted: readonly Suggestion[] }> {
  const { pid, uid, home, session, person } = world
  const compiler = { pid, uid, home, session, person }
  const checkup = new Checkup({
    project,
    server,
    call,
    compiler,
    surroundings: world,
    version: CORDON_VERSION,
    person,
  })
  const accepted: Suggestion[] = []
  const declined = new Set<string>()
  for (;;) {
    const found = await checkup.examine()
    world.out.write(formatExamination(server, found, world.out, home))
    const open = found.suggestions.filter(
      ({ toml }) => !declined.has(toml) && !accepted.some((each) => each.toml === toml),
    )
    if (!person) world.out.write(formatSuggestions(open, world.out))
    const next = person ? open[0] : undefined
    if (!next) return { works: found.works, accepted: await needed(world, checkup, accepted, found.works) }
    world.out.write(formatSuggestions([next], world.out))
    if (await person?.confirms('Try again with it? [y/N] ')) {
      accepted.push(next)
      checkup.accept(next)
    } else declined.add(next.toml)
  }
}

/** A guess was led by what the server printed: it is kept only if the server works with it, and not without it. */
async function needed(
  world: World,
  checkup: Checkup,
  accepted: readonly Suggestion[],
  works: boolean,
): Promise<readonly Suggestion[]> {
  let kept = accepted
  for (const guess of accepted.filter(({ isExact }) => !isExact)) {
    const others = kept.filter((each) => each !== guess)
    if (works) {
      const without = await checkup.with(others).examine()
      world.out.write(
        noticedLines(without, world.out)
          .map((line) => `  ${line}\n`)
          .join(''),
      )
      if (!without.works) continue
    }
    kept = others
    world.out.write(`  not kept, because it did not help: ${show(guess.about)}\n`)
  }
  return kept
}

function callOf(server: string | undefined, { call, args }: DoctorOptions): DoctorCall | undefined {
  if (call === undefined && args !== undefined) throw new UsageError('--args is for --call')
  if (call === undefined) return undefined
  if (server === undefined) throw new UsageError('--call: name the server whose tool it is')
  try {
    const parsed: unknown = JSON.parse(args ?? '{}')
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed))
      return { tool: call, arguments: { ...parsed } }
  } catch {
    // Said below, as for anything else that is not an object.
  }
  throw new UsageError('--args expects a JSON object')
}
