import { compileProject, openAmbientProjectIn, type Policies, type Project } from '@cordon/host'
import { choiceOf, type ConfigOptions } from './options.ts'
import type { World } from './world.ts'

/** The workspace around the current directory, with every layer of its configuration. */
export const openProject = (world: World, options: ConfigOptions): Promise<Project> =>
  openAmbientProjectIn({ cwd: world.cwd, surroundings: world, cfg: options.cfg }, world, choiceOf(options))

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
