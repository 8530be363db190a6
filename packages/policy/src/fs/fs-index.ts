import { type FsRule, type RelPath } from '../rules.ts'
import { fold } from './case-fold.ts'
import { type FoldCase, ROOT } from './rel-path.ts'

interface Node {
  rule: FsRule | undefined
  /** The same without the guard's rules (SPEC 4.10). */
  written: FsRule | undefined
  children: Map<string, Node> | undefined
}

/**
 * SPEC 1.2: rules in a trie on path components, so that a decision costs the components of the target,
 * however many rules there are.
 */
export class FsIndex {
  readonly rules: readonly FsRule[]
  readonly #root: Node = { rule: undefined, written: undefined, children: undefined }
  readonly #foldCase: boolean

  constructor(rules: readonly FsRule[], foldCase: FoldCase = 'exact') {
    this.rules = rules
    this.#foldCase = foldCase === 'folded'
    // SPEC 1.1: on equal specificity the last rule wins, so a later one takes the node.
    for (const rule of rules) {
      const node = this.#plant(rule.path)
      node.rule = rule
      if (rule.guard === undefined) node.written = rule
    }
  }

  /** The most specific rule that covers the path: the deepest one on the way from the root. */
  governing(path: RelPath): FsRule | undefined {
    return this.#deepest(path, 'rule')
  }

  /** The one that says where the path may lead: a guarded path lies in the workspace, or in the mount around it. */
  bounding(path: RelPath): FsRule | undefined {
    return this.#deepest(path, 'written')
  }

  #deepest(path: RelPath, which: 'rule' | 'written'): FsRule | undefined {
    const target = this.#foldCase ? fold(path) : path
    let node = this.#root
    let winner = node[which]
    if (target === ROOT) return winner
    for (let start = 0; node.children;) {
      const slash = target.indexOf('/', start)
      const next = node.children.get(slash < 0 ? target.slice(start) : target.slice(start, slash))
      if (next === undefined) break
      node = next
      if (node[which]) winner = node[which]
      if (slash < 0) break
      start = slash + 1
    }
    return winner
  }

  /** What a denial lists: every rule in effect that grants something. The guard only ever takes back. */
  get granting(): readonly FsRule[] {
    return this.rules.filter(
      (rule) => rule.grants.size > 0 && rule.guard === undefined && this.at(rule.path) === rule,
    )
  }

  /** The rule written for exactly this path, if there is one. */
  at(path: RelPath): FsRule | undefined {
    const rule = this.governing(path)
    return rule && this.#same(rule.path, path) ? rule : undefined
  }

  #same(a: string, b: string): boolean {
    return this.#foldCase ? fold(a) === fold(b) : a === b
  }

  #plant(path: RelPath): Node {
    let node = this.#root
    if (path === ROOT) return node
    for (const part of (this.#foldCase ? fold(path) : path).split('/')) {
      node.children ??= new Map()
      let next = node.children.get(part)
      if (next === undefined)
        node.children.set(part, (next = { rule: undefined, written: undefined, children: undefined }))
      node = next
    }
    return node
  }
}
