import { compileProject, openAmbientProject, type Policies, type Project } from '@cordon/host'
import { type World } from './world.ts'

/** The workspace around the current directory, with every layer of its configuration. */
export const openProject = (world: World, cfg: readonly string[]): Project =>
  openAmbientProject({ cwd: world.cwd, surroundings: world, cfg })

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
