import { accessSync, constants, statSync } from 'node:fs'
import { type Capability, show } from '@cordon/policy'

/** What is asked of a file or a directory; making and removing are asked of the directory around. */
const ASKED: Record<Capability, number> = {
  read: constants.R_OK,
  create: constants.W_OK | constants.X_OK,
  update: constants.W_OK,
  delete: constants.W_OK | constants.X_OK,
  execute: constants.X_OK,
}

/**
 * Why no grant of an existing path would help: the host's permissions count as ever, and this person has not got them.
 * Undefined: they have. Of `delete` the path is the directory around, and of `create` as well; a file that is there is written.
 */
export function whyNotPermitted(capability: Capability, path: string, name = path): string | undefined {
  try {
    const asked = capability === 'create' && !statSync(path).isDirectory() ? 'update' : capability
    accessSync(path, ASKED[asked])
    return undefined
  } catch {
    return `the permissions of ${show(name)} do not let you`
  }
}
