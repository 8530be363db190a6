import { type AccessPolicy, FsIndex, type Origin, parseRelPath, type Root } from '@cordon/policy'

/**
 * Where the rule stands that a self-checking tool names (SPEC 1.4). Origins do not cross the wire, so the host adds
 * it: the first line of an explanation is `access denied: read on private/key.txt`. A tool can at worst make us name
 * a rule of its own policy.
 */
export function originOfDenial(
  message: string,
  { fs }: AccessPolicy,
  { foldCase }: Root,
): Origin | undefined {
  const target = /^access denied: (?:read|create|update|delete|execute) on (.{1,4096})$/m.exec(message)?.[1]
  if (target === undefined || target.startsWith('"') || fs.length === 0) return undefined
  try {
    return new FsIndex(fs, foldCase).governing(parseRelPath(target))?.origin
  } catch {
    return undefined // not a path, so not one of ours
  }
}

/** The tool said exactly what was refused: nothing is left to guess. */
export const isExplained = (message: string): boolean => message.startsWith('access denied: ')
