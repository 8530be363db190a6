import { posix } from 'node:path'
import { type CedarValueJson, type EntityJson, type TypeAndId } from '@cedar-policy/cedar-wasm/nodejs'
import { type Command } from '../commands.ts'

/** What the provider itself found at a path; of something that is not there yet, size 0. */
export interface Resource {
  /** Absolute, normal, the one that will be touched. */
  readonly path: string
  readonly isDirectory: boolean
  readonly exists: boolean
  readonly size: number
  /** A link itself, and not what it leads to. No policy is told. */
  readonly isLink?: boolean
}

/** SPEC 7.4: everything here is built by the provider; nothing is copied from the agent's arguments unchecked. */
export interface PolicyRequest {
  /** How the policy calls the app: `App::"…"`. */
  readonly app: string
  /** The DID of whoever signed the invocation. */
  readonly agent: string
  readonly command: Command
  readonly resource: Resource
  /** Of move and copy, and of nothing else. */
  readonly destination?: Resource
  /** A person has signed for exactly this request. */
  readonly cosigned?: boolean
}

export interface CedarQuestion {
  readonly principal: TypeAndId
  readonly action: TypeAndId
  readonly resource: TypeAndId
  readonly context: Record<string, CedarValueJson>
  readonly entities: EntityJson[]
}

export function toCedar({
  app,
  agent,
  command,
  resource,
  destination,
  cosigned,
}: PolicyRequest): CedarQuestion {
  const principal = { type: 'Agent', id: agent }
  const entities = [
    { uid: principal, attrs: {}, parents: [{ type: 'App', id: app }] },
    entityOf(resource),
    // One entity may be given only once.
    ...(destination && destination.path !== resource.path ? [entityOf(destination)] : []),
  ]
  return {
    principal,
    action: { type: 'Action', id: command },
    resource: uidOf(resource),
    context: {
      ...(cosigned === true ? { cosigner: true } : {}),
      ...(destination ? { destination: { __entity: { type: 'File', id: destination.path } } } : {}),
    },
    entities,
  }
}

const uidOf = ({ path, isDirectory }: Resource): TypeAndId => ({
  type: isDirectory ? 'Directory' : 'File',
  id: path,
})

function entityOf(resource: Resource): EntityJson {
  const { path, isDirectory, exists, size } = resource
  const name = posix.basename(path)
  return {
    uid: uidOf(resource),
    attrs: { path, name, extension: extensionOf(name), size, is_dir: isDirectory, exists },
    parents: ancestorsOf(path).map((id) => ({ type: 'Directory', id })),
  }
}

/** SPEC 7.4: with its dot. A name that begins with its only dot is all extension: `.env` is one (decision 0570). */
export const extensionOf = (name: string): string => posix.extname(name) || (name.startsWith('.') ? name : '')

/** `/a/b/c`: `/a/b`, `/a`, `/`. */
function ancestorsOf(path: string): string[] {
  const above: string[] = []
  for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
    above.push(path.slice(0, at))
  return path === '/' ? above : [...above, '/']
}
