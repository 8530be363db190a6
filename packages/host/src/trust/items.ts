import { type AmbientSources, authorOf, type ConfigProblem, type Source } from '@cordon/config'
import type { Approvals, ConfigTrust } from '@cordon/workspace'
import type { ConversationLayer } from '../conversation/layer.ts'

/** SPEC 2.1: one thing that the files say, and that counts whole or not at all. */
export interface TrustItem {
  /** Relative to the workspace's root: what it is trusted under. */
  readonly path: string
  /** The text that was read, once: its digest decides, and it is what is merged. */
  readonly text: string
  readonly sources: readonly Source[]
  /** Of a conversation: the person's own changes, when some are gone: their absence is trusted with the text. */
  readonly lost?: number
  /** A person named it by `--cfg`, so no command goes on without it. */
  readonly typed?: true
  /** SPEC 4.10: what is guarded here, beside what is by its name. Looked for when it is to be shown. */
  readonly guarded?: readonly string[]
}

/** What nobody trusts as it is now. */
export interface Waiting extends TrustItem {
  /** What was trusted before under this path; undefined: it is new. */
  readonly was: ConfigTrust | undefined
}

/** Everything the files say here: the config files from the root down, and what a conversation says without a seal. */
export function itemsOf(
  sources: readonly Source[],
  conversation: ConversationLayer | undefined,
): readonly TrustItem[] {
  const files = sources.flatMap((source): TrustItem[] =>
    authorOf(source) === 'files' && 'text' in source && source.path !== undefined
      ? [
          {
            path: source.path,
            text: source.text,
            sources: [source],
            ...(source.layer === 'command-line' ? { typed: true } : {}),
          },
        ]
      : [],
  )
  const foreign = conversation?.foreign
  if (!foreign) return files
  const { name, text, sources: said, lost } = foreign
  return [...files, { path: name, text, sources: said, lost }]
}

/** Pure. The files that are in the store as they are, and the ones that wait. */
export function sortItems(
  items: readonly TrustItem[],
  approvals: Pick<Approvals, 'trusts' | 'lastTrusted'>,
): { readonly trusted: readonly TrustItem[]; readonly waiting: readonly Waiting[] } {
  const trusted: TrustItem[] = []
  const waiting: Waiting[] = []
  for (const item of items)
    if (approvals.trusts(item.path, item.text)) trusted.push(item)
    else waiting.push({ ...item, was: approvals.lastTrusted(item.path) })
  return { trusted, waiting }
}

/** What a person said, and what is admitted of the files, in the order in which it was read. */
export const admittedSources = (
  { sources }: Pick<AmbientSources, 'sources'>,
  admitted: readonly TrustItem[],
): readonly Source[] => {
  const all = new Set(admitted.flatMap((item) => item.sources))
  // What came with the files counts only as an item that was admitted.
  return sources.filter((source) => authorOf(source) === 'person' || all.has(source))
}

/** A problem with one of the files, as opposed to one with what a person wrote. */
export const isOfFiles = ({ origin }: ConfigProblem): boolean => authorOf(origin) === 'files'
