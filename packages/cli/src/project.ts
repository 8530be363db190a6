import { dirname, join } from 'node:path'
import {
  compileProject,
  type Installation,
  openAmbientProjectIn,
  type Policies,
  type Project,
  type TrustTerms,
} from '@cordon/host'
import { choiceOf, type ConfigOptions } from './options.ts'
import { warn } from './report.ts'
import type { World } from './world.ts'

/** The workspace around the current directory, with every layer of its configuration that counts. */
export const openProject = (
  world: World,
  options: ConfigOptions,
  needs: TrustTerms['needs'] = 'files',
): Promise<Project> => open(world, options, needs, 'refuse')

/** The same where no directory is marked, too: as `run` and `mcp` find it, whose configuration is asked about. */
export const openProjectAnywhere = (
  world: World,
  options: ConfigOptions,
  needs: TrustTerms['needs'] = 'files',
): Promise<Project> => open(world, options, needs, 'allow')

async function open(
  world: World,
  options: ConfigOptions,
  needs: TrustTerms['needs'],
  unmarked: 'refuse' | 'allow',
): Promise<Project> {
  const trust = trustTerms(world, needs)
  const place = { cwd: world.cwd, surroundings: world, cfg: options.cfg, unmarked, trust }
  const project = await openAmbientProjectIn(place, world, choiceOf(options))
  warn(world, project.notices)
  return project
}

/** SPEC 2.1: how a command of this process meets files that nobody has trusted. */
export const trustTerms = (
  world: Pick<World, 'pid' | 'reviewer'>,
  needs: TrustTerms['needs'],
): TrustTerms => ({ needs, pid: world.pid, reviewer: () => world.reviewer })

/** Compiled without asking anybody anything: what is not approved grants nothing. */
export const compileQuietly = (world: World, project: Project): Promise<Policies> =>
  compileFor(world, project, undefined)

/** Compiled as it would be to run something: at a terminal, what is new is asked about. */
export const compileAsking = (world: World, project: Project): Promise<Policies> =>
  compileFor(world, project, world.person)

function compileFor(
  { pid, uid, home, session }: World,
  project: Project,
  person: World['person'],
): Promise<Policies> {
  return compileProject(project, { pid, uid, home, session, person })
}

/** Decision 0104: the bundle lies beside this one. */
export const installation = ({ node }: World): Installation => ({
  node,
  tools: join(dirname(import.meta.filename), 'tools.cjs'),
})
