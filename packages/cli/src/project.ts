import { compileProject, openAmbientProject, openApprovals, type Policies, type Project } from '@cordon/host'
import { type World } from './world.ts'

/** The workspace around the current directory, with every layer of its configuration. */
export const openProject = (world: World, cfg: readonly string[]): Project =>
  openAmbientProject({ cwd: world.cwd, surroundings: world, cfg })

/** Compiled without asking anybody anything: what is not approved grants nothing. */
export const compileQuietly = (world: World, project: Project): Promise<Policies> =>
  compileProject(project, openApprovals(project, world))
