import { CordonError, show } from '@cordon/policy'

/** A `.cordon` that must not be used as it is: a link, another user's, a broken id. */
export class WorkspaceError extends CordonError {
  readonly code = 'WORKSPACE'
  readonly path: string
  constructor(path: string, problem: string) {
    super(`cannot use the workspace at ${show(path)}: ${problem}`)
    this.path = path
  }
}
