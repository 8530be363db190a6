import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type AccessPolicy, below, type Root, serializeAccessPolicy } from '@cordon/policy'

/** SPEC 5.3: under this key `initialize` carries the policy, in the words of docs/tool-protocol.md. */
const META_KEY = 'cordon/access'

export const policyMeta = (policy: AccessPolicy): Readonly<Record<string, unknown>> => ({
  [META_KEY]: serializeAccessPolicy(policy),
})

interface BoundaryRoot {
  readonly uri: string
  readonly name: string
}

/**
 * SPEC 5.3: where the server may do something with files, without what lies in another such place. A mount is where its
 * target is, under its own name, as well: that is what arguments and resolved links say. Advisory.
 */
export function rootsOf({ fs }: AccessPolicy, root: Root): BoundaryRoot[] {
  const last = new Map(fs.map((rule) => [rule.path, rule]))
  const granted = [...last.values()].filter(({ grants, guard }) => grants.size > 0 && guard === undefined)
  const paths =
    fs.length === 0
      ? [root.path]
      : granted.flatMap(({ path, approvedTarget }) => [
          join(root.path, path),
          ...(approvedTarget === undefined ? [] : [approvedTarget]),
        ])
  return paths
    .filter((path) => !paths.some((other) => other !== path && below(other, path) !== undefined))
    .map((path) => ({ uri: pathToFileURL(path).href, name: basename(path) }))
}
