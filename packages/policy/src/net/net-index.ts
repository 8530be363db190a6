import { type NetRule } from '../rules.ts'
import { pathSegments } from './path.ts'
import { DEFAULT_PORTS, type NetTarget } from './target.ts'

export type NetDecision =
  | { readonly kind: 'allowed'; readonly rule: NetRule }
  | { readonly kind: 'refused'; readonly rule: NetRule }
  | { readonly kind: 'unmatched' }

interface Entry {
  readonly rule: NetRule
  readonly order: number
}

interface Node {
  entry: Entry | undefined
  children: Map<string, Node> | undefined
}

/** SPEC 1.5 as a lookup: host, then at most four (scheme, port) pairs, then a trie on path segments. */
export class NetIndex {
  readonly rules: readonly NetRule[]
  readonly #places = new Map<string, Node>()

  constructor(rules: readonly NetRule[]) {
    this.rules = rules
    for (const [order, rule] of rules.entries()) this.#plant(rule).entry = { rule, order }
  }

  evaluate(target: NetTarget): NetDecision {
    let winner: Entry | undefined
    let best = -1
    for (const scheme of [undefined, target.scheme]) {
      for (const port of portsThatMatch(target)) {
        const found = deepest(this.#places.get(placeKey(target.host, scheme, port)), target.segments)
        if (!found) continue
        // SPEC 1.5: has scheme + has port + number of path segments; SPEC 1.1: the last wins a tie.
        const specificity = Number(scheme !== undefined) + Number(port !== undefined) + found.depth
        if (specificity < best || (specificity === best && found.entry.order < winner!.order)) continue
        winner = found.entry
        best = specificity
      }
    }
    if (!winner) return { kind: 'unmatched' }
    return { kind: winner.rule.allow ? 'allowed' : 'refused', rule: winner.rule }
  }

  #plant(rule: NetRule): Node {
    const key = placeKey(rule.host, rule.scheme, rule.port)
    let node = this.#places.get(key)
    if (!node) this.#places.set(key, (node = { entry: undefined, children: undefined }))
    for (const segment of pathSegments(rule.pathPrefix ?? '') ?? []) {
      node.children ??= new Map()
      let next = node.children.get(segment)
      if (!next) node.children.set(segment, (next = { entry: undefined, children: undefined }))
      node = next
    }
    return node
  }
}

/** A rule without a port stands for the target scheme's default port; without a default, for no port at all. */
function portsThatMatch({ scheme, port }: NetTarget): (number | undefined)[] {
  return port === DEFAULT_PORTS[scheme] ? [undefined, port] : [port]
}

/** A space cannot occur in a host, a scheme or a port, so the key is unambiguous. */
const placeKey = (host: string, scheme: string | undefined, port: number | undefined): string =>
  `${host} ${scheme ?? ''} ${port ?? ''}`

function deepest(
  root: Node | undefined,
  segments: readonly string[],
): { entry: Entry; depth: number } | undefined {
  if (!root) return undefined
  let node = root
  let found = node.entry && { entry: node.entry, depth: 0 }
  for (const [i, segment] of segments.entries()) {
    const next = node.children?.get(segment)
    if (!next) break
    node = next
    if (node.entry) found = { entry: node.entry, depth: i + 1 }
  }
  return found
}
