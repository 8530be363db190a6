import { workspaceUri } from '@cordon/workspace'
import type { Attachment } from './blocks.ts'

/** By the whole URI, else by its end: `report.pdf`, `src/a.md`. `sum` is the beginning of a checksum. Pure. */
export function findAttachments(
  attachments: readonly Attachment[],
  asked: string,
  sum: string | undefined,
): Attachment[] {
  const wanted = attachments.filter(({ checksum }) => checksum.startsWith(sum ?? ''))
  const exact = wanted.filter(({ uri }) => uri === asked)
  if (exact.length > 0 || asked === '') return exact
  const ends = [`/${asked}`, workspaceUri(asked).slice('file://'.length)]
  return wanted.filter(({ uri }) => ends.some((end) => uri.endsWith(end)))
}
