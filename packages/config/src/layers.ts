/** SPEC 2: where values come from, in the order in which they are laid over each other. */

import { quote } from '@cordon/policy'

export const LAYERS = [
  'built-in',
  'user',
  'workspace',
  'directory',
  'user-workspace',
  'environment',
  'conversation',
  'command-line',
  'flags',
] as const
export type LayerName = (typeof LAYERS)[number]

/** SPEC 2.1: whose word a layer is: a person's, or that of the files, which anybody may have written. */
export type Author = 'person' | 'files'

export function authorOf({
  layer,
  sealed,
  path,
}: Pick<Source, 'layer' | 'sealed'> & Pick<TextSource, 'path'>): Author {
  switch (layer) {
    case 'workspace':
    case 'directory':
      return 'files'
    case 'conversation':
      return sealed ? 'person' : 'files'
    case 'command-line':
      // A person named the file; what it holds by now may have been written by a command (docs/decisions/0128).
      return path === undefined ? 'person' : 'files'
    case 'built-in':
    case 'user':
    case 'user-workspace':
    case 'environment':
    case 'flags':
      return 'person'
  }
}

/** A path into the config: table keys, and indices into lists. */
export type Path = readonly (string | number)[]

/** One layer's text, or one value of it. `label` is what a person sees: `.cordon/config.toml`, `$CORDON_CFG_…`. */
export type Source = TextSource | ValueSource

export interface TextSource {
  readonly layer: LayerName
  readonly label: string
  /** TOML. */
  readonly text: string
  /** Of a file in the workspace: its path relative to the root, by which it is trusted (SPEC 2.1). */
  readonly path?: string
  /** Of a conversation: this user sealed it (SPEC 2.1). */
  readonly sealed?: true
}

export interface ValueSource {
  readonly layer: LayerName
  readonly label: string
  readonly key: readonly string[]
  readonly path?: never
  /** Already a value, as `parseValue` returns it; tables are merged, rule lists appended, as from a file. */
  readonly value: unknown
  /** Of a conversation: this user sealed it (SPEC 2.1). */
  readonly sealed?: true
}

/** Where a value was written. Line and column count from 1, and are absent when the source is no text. */
export interface ConfigOrigin {
  readonly layer: LayerName
  readonly label: string
  readonly line?: number
  readonly column?: number
}

/** A label for untrusted text: as it is when every character of it can be seen, quoted otherwise. */
export const labelFor = (text: string): string =>
  // Most are ASCII, and then the classes of Unicode need not be compiled: half a millisecond of every start.
  /^[ -~]*$/.test(text) ||
  !/[\p{C}\p{Zl}\p{Zp}\p{DI}\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]/u.test(text)
    ? text
    : quote(text)

/** As a person would name it, and as editors understand it: `.cordon/config.toml:12:3`. */
export const formatOrigin = ({ label, line, column }: ConfigOrigin): string =>
  line === undefined ? label : `${label}:${line}:${column ?? 1}`
